package provision_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/provision"
	"github.com/google/go-cmp/cmp"
)

// guarded is the manifest that the cases of TestCheckEdit change.
const guarded = `apiVersion: claudie.io/v1beta1
kind: InputManifest
metadata:
  name: m
  namespace: fleet
  annotations: {}
spec:
  providers:
    - {name: aws-1, providerType: aws, secretRef: {name: aws, namespace: s}}
    - {name: cf-1, providerType: cloudflare, secretRef: {name: cf, namespace: s}}
    - {name: idle-1, providerType: gcp, secretRef: {name: gcp, namespace: s}}
  nodePools:
    dynamic:
      - name: ctrl
        providerSpec: {name: aws-1, region: eu, zone: a}
        count: 3
        serverType: t3.medium
        image: ami-1
      - name: workers
        providerSpec: {name: aws-1, region: eu}
        count: 2
        serverType: t3.large
        image: ami-1
        spot: true
    static:
      - name: own
        nodes:
          - {endpoint: 192.0.2.1, secretRef: {name: k, namespace: s}}
          - {endpoint: 192.0.2.2, secretRef: {name: k, namespace: s}}
      - name: other
        nodes:
          - {endpoint: 192.0.2.9, secretRef: {name: k, namespace: s}}
  kubernetes:
    clusters:
      - name: one
        version: 1.34.2
        network: 192.168.2.0/24
        pools: {control: [ctrl], compute: [workers, own]}
      - name: two
        version: 1.35.0
        network: 192.168.3.0/24
        pools: {control: [ctrl], compute: [other]}
  loadBalancers:
    roles:
      - {name: web, protocol: tcp, port: 443, targetPort: 30443, targetPools: [workers]}
    clusters:
      - {name: lb, roles: [web], dns: {dnsZone: z, provider: cf-1, hostname: www}, targetedK8s: one, pools: [workers]}
`

// TestCheckEdit: what must not be merged, where it is written, and what to do instead.
func TestCheckEdit(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"nothing", "", "", ""},
		{"a count", "count: 2", "count: 5", ""},
		{"a label", "count: 2", "count: 2\n        labels: {a: b}", ""},
		{"a new version", "1.34.2", "1.35.1", ""},
		{"a newer patch", "1.34.2", "1.34.9", ""},
		{"a control node fewer", "count: 3", "count: 2", ""},
		{"a machine added", "          - {endpoint: 192.0.2.9", "          - {endpoint: 192.0.2.10}\n          - {endpoint: 192.0.2.9", ""},
		{"a machine removed", "          - {endpoint: 192.0.2.2, secretRef: {name: k, namespace: s}}\n", "", ""},
		{"a provider that nothing uses", "    - {name: idle-1, providerType: gcp, secretRef: {name: gcp, namespace: s}}\n", "", ""},
		{"a pool replaced", "workers", "workers-v2", ""},

		{"network", "192.168.2.0/24", "192.168.4.0/24", "37: cluster one: the network cannot change (192.168.2.0/24 → 192.168.4.0/24) (keep it; for another network, add a cluster with another name, and move what runs on this one)"},
		{"image", "        image: ami-1\n        spot", "        image: ami-2\n        spot", "23: pool workers: the image cannot change (ami-1 → ami-2) (rename the pool: write it as workers-v2 with the new value, name that in place of workers, and remove workers, in one commit: nodes are added before others are removed)"},
		{"server type", "t3.large", "t3.small", "22: pool workers: the server type cannot change (t3.large → t3.small) "},
		{"zone", "region: eu, zone: a", "region: eu", "15: pool ctrl: the zone cannot change (a → none) "},
		{"region", "region: eu}", "region: us}", "20: pool workers: the region cannot change (eu → us) "},
		{"provider of a pool", "{name: aws-1, region: eu}", "{name: idle-1, region: eu}", "20: pool workers: the provider cannot change (aws-1 → idle-1) "},
		{"spot", "        spot: true\n", "", "19: pool workers: spot cannot change (true → false) "},
		{"disk", "spot: true", "spot: true\n        storageDiskSize: 60", "25: pool workers: the size of the disk cannot change (50 → 60) "},
		{"disk written as its default", "spot: true", "spot: true\n        storageDiskSize: 50", ""},
		{"machine", "spot: true", "spot: true\n        machineSpec: {cpuCount: 2, memory: 4}", "25: pool workers: the memory cannot change (0 → 4) |25: pool workers: the number of CPUs cannot change (0 → 2) "},
		{"GPUs", "spot: true", "spot: true\n        machineSpec: {nvidiaGpuCount: 1, nvidiaGpuType: t4}", "25: pool workers: the number of GPUs cannot change (0 → 1) |25: pool workers: the type of the GPUs cannot change (none → t4) "},
		{"the type of a pool", "      - name: workers\n        providerSpec: {name: aws-1, region: eu}\n        count: 2\n        serverType: t3.large\n        image: ami-1\n        spot: true\n    static:\n", "    static:\n      - name: workers\n        nodes: [{endpoint: 192.0.2.99}]\n", "20: pool workers cannot become static "},

		{"a downgrade", "1.35.0", "1.34.0", "40: cluster two: Kubernetes cannot be downgraded (1.35.0 → 1.34.0) (keep 1.35.0; a cluster of an older version is a new one)"},
		{"an older patch", "1.34.2", "1.34.1", "36: cluster one: Kubernetes cannot be downgraded (1.34.2 → 1.34.1) "},
		{"a version left out", "1.34.2", "v1.36.0", "36: cluster one: Kubernetes is upgraded one minor version at a time (1.34.2 → v1.36.0) (two commits: 1.35 first, and the next one after it is done)"},

		{"half of the control plane", "count: 3", "count: 1", "38: cluster one loses 2 of 3 control nodes: etcd may lose its quorum (annotate the manifest with fairlead.io/accept: shrink-control-plane/one)|42: cluster two loses 2 of 3 control nodes: etcd may lose its quorum "},
		{"half of the control plane, accepted for one", "annotations: {}#count: 3", "annotations: {fairlead.io/accept: \"shrink-control-plane/two, x\"}#count: 1", "38: cluster one loses 2 of 3 control nodes: etcd may lose its quorum "},
		{"the last control pool", "control: [ctrl], compute: [workers, own]", "control: [], compute: [workers, own]", "38: cluster one loses its last control node (keep one, or add another one in the same commit)"},

		{"a cluster removed", "      - name: two\n        version: 1.35.0\n        network: 192.168.3.0/24\n        pools: {control: [ctrl], compute: [other]}\n", "", "34: cluster two is removed, and would be destroyed (annotate the manifest with fairlead.io/decommission: \"true\" if it is to go)"},
		{"a cluster decommissioned", "annotations: {}#      - name: two\n        version: 1.35.0\n        network: 192.168.3.0/24\n        pools: {control: [ctrl], compute: [other]}\n", "annotations: {fairlead.io/decommission: \"true\"}#", ""},
		{"a cluster renamed", "name: two", "name: three", "32: machine 192.0.2.9 moves from compute pool other of cluster two to compute pool other of cluster three |34: cluster two is removed, and would be destroyed (a cluster cannot be renamed: three would be a new one; keep the name, or add three, move what runs on two, and then annotate the manifest with fairlead.io/decommission: \"true\" if it is to go)"},
		{"an annotation that is left", "annotations: {}", "annotations: {fairlead.io/decommission: \"true\"}", "1: warning: fairlead.io/decommission is set, and no cluster is removed "},

		{"a provider removed with its pools", "    - {name: cf-1, providerType: cloudflare, secretRef: {name: cf, namespace: s}}\n#    clusters:\n      - {name: lb, roles: [web], dns: {dnsZone: z, provider: cf-1, hostname: www}, targetedK8s: one, pools: [workers]}\n", "#", "8: provider cf-1 is removed while the DNS name of load balancer lb is made with it: its credentials are needed to remove that (two commits: keep cf-1 until the change that removes what it made is done, then remove it with its Secret)"},
		{"a provider of another type", "name: aws-1, providerType: aws", "name: aws-1, providerType: gcp", "9: provider aws-1 changes from aws to gcp while pool ctrl of cluster one is made with it (add a provider with another name, and pools that use it)"},

		{"other templates", "providerType: aws, secretRef", "providerType: aws, templatesRef: {name: mine, namespace: s}, secretRef", "9: warning: the templates of provider aws-1 change: every node that is made with it is replaced "},
		{"other templates of a provider that nothing uses", "providerType: gcp, secretRef", "providerType: gcp, templatesRef: {name: mine, namespace: s}, secretRef", ""},

		{"a machine in another role", "control: [ctrl], compute: [workers, own]", "control: [ctrl, own], compute: [workers]", "28: machine 192.0.2.1 moves from compute pool own of cluster one to control pool own of cluster one (two commits: remove the machine from where it is, and add it after that is done)|29: machine 192.0.2.2 moves "},
		{"a machine in another pool", "{endpoint: 192.0.2.2,#192.0.2.9", "{endpoint: 192.0.2.3,#192.0.2.2", "32: machine 192.0.2.2 moves from compute pool own of cluster one to compute pool other of cluster two "},

		{"a load balancer renamed, with its DNS name", "name: lb, roles", "name: lb-two, roles", "47: the DNS name www.z moves from load balancer lb of cluster one to load balancer lb-two of cluster one (another name; or two commits: remove the name from where it is, and add it after that is done)"},
		{"a load balancer of another cluster", "targetedK8s: one", "targetedK8s: two", "47: the DNS name www.z moves from load balancer lb of cluster one to load balancer lb of cluster two "},
		{"a load balancer renamed, with another DNS name", "name: lb, roles#hostname: www", "name: lb-two, roles#hostname: web", ""},
		{"another DNS name", "hostname: www", "hostname: web", ""},

		{"a role of the API server", "port: 443, targetPort: 30443, targetPools: [workers]", "port: 6443, targetPort: 6443, targetPools: [ctrl]", "45: role web cannot begin to forward to the API server (write a role with another name, and name that in place of web: it is added before the other one is deleted)"},
		{"executor", "annotations: {}", "annotations: {fairlead.io/executor: tofu}", "1: the executor changes from claudie to tofu, which cannot destroy what claudie made (keep fairlead.io/executor: claudie until its clusters are decommissioned and gone; or write the new clusters in a manifest of another name)"},
		{"executor, accepted", "annotations: {}", "annotations: {fairlead.io/executor: tofu, fairlead.io/accept: executor/tofu, fairlead.io/decommission: \"true\"}", "1: the executor changes from claudie to tofu, which cannot destroy what claudie made |1: warning: fairlead.io/decommission is set, and no cluster is removed "},
	} {
		t.Run(c.name, func(t *testing.T) {
			edited := guarded
			olds, news := strings.Split(c.old, "#"), strings.Split(c.new, "#")
			for i := range olds {
				if !strings.Contains(edited, olds[i]) {
					t.Fatalf("%q is not in the manifest", olds[i])
				}
				edited = strings.ReplaceAll(edited, olds[i], news[i])
			}
			edit := readEdit(t, guarded, edited)
			compareProblems(t, c.want, provision.CheckEdit(edit))
			if _, err := provision.NewPlan(edit.Current, edit.Desired); err != nil && (c.want == "" || strings.Contains(err.Error(), "mistake")) {
				t.Errorf("the plan: %v", err)
			}
		})
	}
}

// TestRemovedManifest: a manifest that is removed with its clusters destroys them; an empty one may go.
func TestRemovedManifest(t *testing.T) {
	compareProblems(t, "the manifest is removed, and cluster one would be destroyed (bring the manifest back without its clusters and with the annotation fairlead.io/decommission: \"true\", and remove it after they are gone; in another environment they are made anew)|"+
		"the manifest is removed, and cluster two would be destroyed ", provision.CheckEdit(readEdit(t, guarded, "")))
	compareProblems(t, "", provision.CheckEdit(readEdit(t, "apiVersion: claudie.io/v1beta1\nkind: InputManifest\nmetadata: {name: m}\nspec: {}\n", "")))
	compareProblems(t, "", provision.CheckEdit(readEdit(t, "", guarded)))
}

// TestExecutorOfEmptyManifest: the executor of a manifest may change when it has no clusters, and none that is
// being destroyed.
func TestExecutorOfEmptyManifest(t *testing.T) {
	const empty = "apiVersion: claudie.io/v1beta1\nkind: InputManifest\nmetadata: {name: m, annotations: {fairlead.io/executor: claudie}}\nspec: {}\n"
	edit := readEdit(t, empty, strings.Replace(empty, "executor: claudie", "executor: capi", 1))
	compareProblems(t, "", provision.CheckEdit(edit))
	edit.Current.Rollout = &provision.Rollout{Phase: provision.Contract, Leaving: []string{"one"}}
	compareProblems(t, "1: the executor changes from claudie to capi, which cannot destroy what claudie made ", provision.CheckEdit(edit))
}

// readEdit reads the change from one manifest to another one; "" is one that is not there.
func readEdit(t *testing.T, current, desired string) provision.Edit {
	t.Helper()
	edits := provision.NewEdits(provision.NewStates(readModel(t, current)), readModel(t, desired))
	if len(edits) == 0 {
		return provision.Edit{Current: &provision.State{}, Desired: &provision.State{}}
	}
	return edits[0]
}

// compareProblems compares problems, sorted, with wanted ones: "line: sentence (hint)", separated by "|".
// A wanted one that ends with a space is only the beginning.
func compareProblems(t *testing.T, want string, got problem.List) {
	t.Helper()
	var all []string
	for _, p := range got.Sorted() {
		line := ""
		if pos := p.Pos.Line; pos > 0 {
			line = fmt.Sprintf("%d: ", pos)
		}
		if p.Warning {
			line += "warning: "
		}
		all = append(all, line+p.Summary+" ("+p.Hint+")")
	}
	var wanted []string
	if want != "" {
		wanted = strings.Split(want, "|")
	}
	for i := range min(len(all), len(wanted)) {
		if strings.HasSuffix(wanted[i], " ") && strings.HasPrefix(all[i], wanted[i]) {
			wanted[i] = all[i]
		}
	}
	if diff := cmp.Diff(wanted, all); diff != "" {
		t.Errorf("problems differ (-want +got):\n%s", diff)
	}
}

// TestProxyAddress: Claudie does not look at the address of the proxy alone.
func TestProxyAddress(t *testing.T) {
	before := strings.Replace(guarded, "network: 192.168.2.0/24", "network: 192.168.2.0/24\n        installationProxy: {mode: \"on\", endpoint: \"http://a\"}", 1)
	for _, c := range []struct{ old, new, want string }{
		{"http://a", "http://b", "38: warning: cluster one: Claudie ignores another address of the installation proxy while nothing else of the proxy changes ()"},
		{"endpoint: \"http://a\"", "endpoint: \"http://b\", noProxy: x", ""},
		{"mode: \"on\", endpoint: \"http://a\"", "mode: \"off\", endpoint: \"http://b\"", ""},
	} {
		compareProblems(t, c.want, provision.CheckEdit(readEdit(t, before, strings.Replace(before, c.old, c.new, 1))))
	}
}

// TestProxyAddressOfDefault: a proxy that is used without being written has an address too.
func TestProxyAddressOfDefault(t *testing.T) {
	before := strings.Replace(guarded, "providerType: aws", "providerType: hetzner", 1)
	const network = "network: 192.168.2.0/24"
	for address, want := range map[string]string{
		"http://x":                     "38: warning: cluster one: Claudie ignores another address of the installation proxy ",
		"http://proxy.claudie.io:8880": "",
	} {
		after := strings.Replace(before, network, network+"\n        installationProxy: {mode: \"on\", endpoint: \""+address+"\"}", 1)
		compareProblems(t, want, provision.CheckEdit(readEdit(t, before, after)))
		compareProblems(t, strings.Replace(want, "38", "35", 1), provision.CheckEdit(readEdit(t, after, before)))
	}
}

// TestUnusedProvider: a provider of the base that an environment uses no more is not one that somebody
// removed.
func TestUnusedProvider(t *testing.T) {
	const base = `apiVersion: claudie.io/v1beta1
kind: InputManifest
metadata: {name: m, namespace: fleet}
spec:
  providers:
    - {name: aws-1, providerType: aws, secretRef: {name: aws, namespace: s}}
    - {name: gcp-1, providerType: gcp, secretRef: {name: gcp, namespace: s}}
  nodePools:
    dynamic:
      - {name: ctrl, providerSpec: {name: aws-1, region: eu}, count: 3, serverType: t, image: i}
      - {name: workers, providerSpec: {name: gcp-1, region: eu}, count: 3, serverType: t, image: i}
`
	read := func(compute string) *model.Model {
		env := "apiVersion: claudie.io/v1beta1\nkind: InputManifest\nmetadata: {name: m, namespace: fleet}\nspec:\n  kubernetes:\n    clusters:\n" +
			"      - {name: c, version: 1.35.0, network: 192.168.2.0/24, pools: {control: [ctrl], compute: [" + compute + "]}}\n"
		return readLayers(t, base, env)
	}
	now, want := read("workers"), read("")
	if providers := want.Clusters.Manifests[0].Spec.Providers; len(providers) != 1 {
		t.Fatalf("it has the providers %v", providers)
	}
	compareProblems(t, "", provision.CheckModel(provision.NewStates(now), want))
}

// TestQuorum: what counts of an autoscaled control pool is the worst that it may have, and that Claudie may
// take away; and a hint is only given where it can be followed.
func TestQuorum(t *testing.T) {
	const accept = "annotate the manifest with fairlead.io/accept: shrink-control-plane/c"
	const several = "several commits, each of which removes fewer than half; or " + accept
	manifest := func(pools ...string) string {
		text := "apiVersion: claudie.io/v1beta1\nkind: InputManifest\nmetadata: {name: m}\nspec:\n  nodePools:\n    dynamic:\n"
		var names []string
		for _, p := range pools {
			name, size, _ := strings.Cut(p, " ")
			names = append(names, name)
			text += "      - {name: " + name + ", providerSpec: {name: a, region: r}, serverType: t, image: i, " + size + "}\n"
		}
		return text + "  kubernetes:\n    clusters:\n      - {name: c, version: 1.35.0, network: 192.168.2.0/24, pools: {control: [" + strings.Join(names, ", ") + "]}}\n"
	}
	const scaled = "auto autoscaler: {min: 1, max: 5}"
	for _, c := range []struct {
		before, after []string
		want          string
	}{
		{[]string{"p count: 5"}, []string{"p count: 3"}, ""},
		{[]string{"p count: 5"}, []string{"p count: 2"}, "cluster c loses 3 of 5 control nodes: etcd may lose its quorum (" + several + ")"},
		{[]string{"p count: 3"}, []string{"p count: 2"}, ""},
		{[]string{"p count: 2"}, []string{"p count: 1"}, "cluster c loses 1 of 2 control nodes: etcd may lose its quorum (" + accept + ")"},
		{[]string{"p count: 3"}, []string{"q count: 3"}, ""},
		{[]string{scaled}, []string{scaled}, ""},
		{[]string{scaled}, []string{"auto autoscaler: {min: 3, max: 7}"}, ""},
		{[]string{scaled}, []string{"auto autoscaler: {min: 1, max: 3}"}, ""},
		{[]string{scaled}, []string{"auto autoscaler: {min: 1, max: 1}"}, "cluster c may lose 4 of 5 control nodes: etcd may lose its quorum (" + accept + ")"},
		{[]string{scaled}, []string{"auto autoscaler: {min: 1, max: 2}"}, "cluster c may lose 3 of 5 control nodes: etcd may lose its quorum (" + several + ")"},
		{[]string{scaled}, []string{"auto count: 1"}, "cluster c may lose 4 of 5 control nodes: etcd may lose its quorum (" + accept + ")"},
		{[]string{scaled}, []string{"new count: 1"}, "cluster c may lose 4 of 5 control nodes: etcd may lose its quorum (" + accept + ")"},
		{[]string{scaled}, []string{"new count: 5"}, ""},
		{[]string{"auto autoscaler: {min: 0, max: 3}"}, []string{"new count: 1"}, "cluster c may lose 2 of 3 control nodes: etcd may lose its quorum (" + accept + ")"},
		{[]string{scaled, "p count: 1"}, []string{scaled}, "cluster c may lose 1 of 2 control nodes: etcd may lose its quorum (" + accept + ")"},
	} {
		t.Run(strings.Join(c.before, " and ")+" to "+strings.Join(c.after, " and "), func(t *testing.T) {
			got := provision.CheckEdit(readEdit(t, manifest(c.before...), manifest(c.after...)))
			for i := range got {
				got[i].Pos.Line = 0
			}
			compareProblems(t, c.want, got)
		})
	}
}
