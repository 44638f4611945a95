package impact

import (
	"strings"
	"testing"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/controlplane/provision"
)

const titledClusters = `
namespace: fleet
name: edge
executor: claudie
clusterTypes: {one: large, two: large}
templates: {hetzner-1: repo@abc}
spec:
  providers: [{name: hetzner-1, providerType: hetzner, secretRef: {name: hetzner, namespace: fleet}}]
  nodePools:
    dynamic:
      - {name: control, providerSpec: {name: hetzner-1, region: hel1}, count: 3, serverType: cpx22, image: ubuntu}
      - {name: workers, providerSpec: {name: hetzner-1, region: hel1}, count: 2, serverType: cpx22, image: ubuntu}
      - {name: lb, providerSpec: {name: hetzner-1, region: hel1}, count: 1, serverType: cpx11, image: ubuntu}
  kubernetes:
    clusters:
      - {name: one, version: 1.35.0, network: 192.168.2.0/24, pools: {control: [control], compute: [workers]}}
      - {name: two, version: 1.35.0, network: 192.168.3.0/24, pools: {control: [control], compute: [workers]}}
  loadBalancers:
    roles: [{name: web, protocol: tcp, port: 443, targetPort: 30443, targetPools: [workers]}]
    clusters: [{name: ingress, roles: [web], dns: {dnsZone: example.com, provider: hetzner-1}, targetedK8s: one, pools: [lb]}]
`

// withoutLine returns a text without the first line that has a part.
func withoutLine(text, part string) string {
	before, after, _ := strings.Cut(text, part)
	return before[:strings.LastIndexByte(before, '\n')] + after[strings.IndexByte(after, '\n'):]
}

// TestClusterTitle: a title says what becomes of clusters, what is destroyed first, and what users notice.
func TestClusterTitle(t *testing.T) {
	replace := func(pairs ...string) string { return strings.NewReplacer(pairs...).Replace(titledClusters) }
	withoutOne := replace("clusterTypes: {one: large, two: large}", "clusterTypes: {two: large}", "    clusters: [{name: ingress", "    other: [{name: ingress")
	withoutOne = withoutLine(withoutOne, "- {name: one,")
	byTofu := func(text string) string { return strings.Replace(text, "executor: claudie", "executor: tofu", 1) }
	byCAPI := func(text string) string { return strings.Replace(text, "executor: claudie", "executor: capi", 1) }
	for name, test := range map[string]struct{ old, new, want string }{
		"pool replaced":      {titledClusters, replace("{name: workers,", "{name: workers-v2,", "[workers]", "[workers-v2]"), "replace pool workers with workers-v2 of clusters one and two (rolling); retarget web of cluster one"},
		"nodes added":        {titledClusters, replace("count: 2", "count: 4"), "add nodes to pool workers of clusters one and two"},
		"nodes removed":      {titledClusters, replace("count: 2", "count: 1"), "remove nodes of pool workers of clusters one and two (rolling)"},
		"cluster added":      {withoutOne, titledClusters, "create cluster one"},
		"cluster removed":    {titledClusters, withoutOne, "DESTROY cluster one"},
		"pool removed":       {titledClusters, replace("192.168.3.0/24, pools: {control: [control], compute: [workers]}", "192.168.3.0/24, pools: {control: [control], compute: []}"), "REMOVE pool workers of cluster two (rolling)"},
		"upgrade":            {titledClusters, replace("1.35.0", "1.36.0"), "upgrade Kubernetes of clusters one and two (rolling)"},
		"downgrade":          {titledClusters, replace("1.35.0", "1.34.9"), "downgrade Kubernetes of clusters one and two (rolling)"},
		"another type":       {titledClusters, replace("{one: large,", "{one: small,"), "REPLACE cluster type large with small of cluster one"},
		"detached":           {titledClusters, replace("{one: large,", "{"), "DETACH cluster type large from cluster one"},
		"attached":           {replace("{one: large,", "{"), titledClusters, "attach cluster type large to cluster one"},
		"other templates":    {titledClusters, replace("repo@abc", "repo@def"), "move the API endpoint of clusters one and two (outage); replace the nodes of pool workers of clusters one and two (rolling); replace the nodes of pool control of clusters one and two (rolling); replace the nodes of pool lb of cluster one (rolling)"},
		"the API moves":      {titledClusters, replace("roles: [{name: web,", "roles: [{name: api, protocol: tcp, port: 6443, targetPort: 6443, targetPools: [control]}, {name: web,", "roles: [web]", "roles: [api, web]"), "move the API endpoint of cluster one (outage); add role api to cluster one; close port 6443 of cluster one"},
		"destroyed, upgrade": {titledClusters, strings.ReplaceAll(withoutOne, "1.35.0", "1.36.0"), "DESTROY cluster one; upgrade Kubernetes of cluster two (rolling)"},
		"a role goes":        {titledClusters, replace("roles: [web]", "roles: []"), "DELETE role web of cluster one"},
		"by tofu":            {byTofu(titledClusters), byTofu(replace("{name: workers,", "{name: workers-v2,", "[workers]", "[workers-v2]", "repo@abc", "repo@def")), "replace pool workers with workers-v2 of clusters one and two (outage); retarget web of cluster one"},
		"removed by tofu":    {byTofu(titledClusters), byTofu(replace("count: 2", "count: 1")), "remove nodes of pool workers of clusters one and two (outage)"},
		"by Cluster API":     {byCAPI(titledClusters), byCAPI(replace("{name: control,", "{name: control-v2,", "[control]", "[control-v2]")), "replace the nodes of pool control-v2 of clusters one and two (rolling)"},
		"lower maximum":      {replace("count: 2", "autoscaler: {min: 1, max: 5}"), replace("count: 2", "autoscaler: {min: 1, max: 2}"), "change the autoscaling of pool workers of clusters one and two (rolling)"},
		"nothing":            {titledClusters, titledClusters, ""},
	} {
		t.Run(name, func(t *testing.T) {
			changes := CompareStates([]provision.State{parseState(t, test.old)}, []provision.State{parseState(t, test.new)})
			r := Report{phrases: phraseClusters(changes), Groups: []Group{{}}}
			for limit := 1; limit < 200; limit++ {
				if title := r.Title(limit); utf8.RuneCountInString(title) > limit {
					t.Errorf("with a limit of %d, the title is %q", limit, title)
				}
			}
			if len(r.phrases) == 0 {
				if test.want != "" {
					t.Errorf("there is no title, want %q", test.want)
				}
				return
			}
			if title := r.Title(300); title != test.want {
				t.Errorf("the title is %q, want %q", title, test.want)
			}
		})
	}
}

// TestRisksOfNodes: the risk of a change says how nodes go, by what carries the change out.
func TestRisksOfNodes(t *testing.T) {
	for name, test := range map[string]struct{ executor, old, new, want string }{
		"drained":       {"claudie", "count: 2", "count: 1", "removes nodes of 2 pools"},
		"destroyed":     {"tofu", "count: 2", "count: 1", "**destroys machines of 2 pools**, whose nodes are not drained"},
		"lower maximum": {"claudie", "autoscaler: {min: 2, max: 4}", "autoscaler: {min: 2, max: 2}", "may remove nodes that the autoscaler has made, of 2 pools"},
	} {
		stateWith := func(size string) provision.State {
			return parseState(t, strings.NewReplacer("executor: claudie", "executor: "+test.executor, "count: 2", size).Replace(titledClusters))
		}
		r := Report{ClusterChanges: CompareStates([]provision.State{stateWith(test.old)}, []provision.State{stateWith(test.new)})}
		if risks := strings.Join(r.clusterRisks(), "; "); risks != test.want {
			t.Errorf("%s: the risk is %q, want %q", name, risks, test.want)
		}
	}
}

func parseState(t *testing.T, text string) (s provision.State) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(text), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestOrderOfPhrases: what is destroyed comes first, whether clusters or workloads have it.
func TestOrderOfPhrases(t *testing.T) {
	clusters := []phrase{{verb: "DESTROY", deletes: true}, {verb: "replace"}}
	others := []phrase{{verb: "REMOVE", deletes: true}, {verb: "add"}, {verb: "update", form: filesChange, objects: []*object{{class: ClusterFiles}}}}
	var order []string
	for _, p := range addPhrases(clusters, others) {
		order = append(order, p.verb)
	}
	if got := strings.Join(order, " "); got != "DESTROY REMOVE replace add" {
		t.Errorf("the order is %s", got)
	}
}
