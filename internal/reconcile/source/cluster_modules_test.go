package source_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// clusterModulesText is a manifest that modules in the repository {vpc} carry out. REF stands for their
// version.
const clusterModulesText = `apiVersion: fairlead.io/v1alpha1
kind: ClusterModules
metadata: {name: infra}
spec:
  repo: '{vpc}'
  ref: REF
  providers: {hetzner: {network: {path: network}, pool: {path: pool}}}
  bootstrap: {path: k3s}
---
apiVersion: claudie.io/v1beta1
kind: InputManifest
metadata: {name: edge, namespace: fleet, annotations: {fairlead.io/executor: tofu, fairlead.io/existing-secrets: fleet/hetzner}}
spec:
  providers:
    - {name: hetzner-1, providerType: hetzner, secretRef: {name: hetzner, namespace: fleet}}
  nodePools:
    dynamic:
      - {name: control, providerSpec: {name: hetzner-1, region: hel1}, count: 3, serverType: cpx22, image: ubuntu-24.04}
  kubernetes:
    clusters:
      - {name: one, version: 1.36.0, network: 192.168.2.0/24, pools: {control: [control], compute: []}}
`

// moduleText is a module with variables and outputs.
func moduleText(variables, outputs string) string {
	var b strings.Builder
	for _, name := range strings.Fields(variables) {
		b.WriteString("variable \"" + name + "\" {}\n")
	}
	for _, name := range strings.Fields(outputs) {
		b.WriteString("output \"" + name + "\" { value = 1 }\n")
	}
	return b.String()
}

// TestClusterModules: modules of clusters are read with Git, and pinned to the commit of their branch or
// tag, which is recorded: the next commit is another output, also where a tag moves, and what was recorded
// is rendered again as it was.
func TestClusterModules(t *testing.T) {
	w := newStackWorld(t, "", strings.ReplaceAll(clusterModulesText, "REF", "release"))
	modules := map[string]string{
		"network/main.tf": moduleText("cluster name role region cidr open_ports credentials", "network"),
		"pool/main.tf":    moduleText("cluster pool role nodes region server_type image network credentials", "nodes"),
		"k3s/main.tf":     moduleText("cluster kubernetes_version cidr nodes", "kubeconfig join"),
	}
	render := func() source.Rendered {
		t.Helper()
		if err := w.source.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		return w.render(source.Revisions{})
	}
	wantSources := func(r source.Rendered, ref string) {
		t.Helper()
		calls := 0
		for file, data := range r.Tree.Sub("clusters/tofu/fleet-edge/modules").All() {
			calls++
			if !strings.Contains(string(data), "?ref="+ref+"\"") {
				t.Errorf("%s does not call its module at %s:\n%s", file, ref, data)
			}
		}
		if calls != 3 || r.Problems.Stops() {
			t.Errorf("%d root modules, and %v", calls, r.Problems)
		}
	}
	first := w.push("vpc", "release", modules)
	one := render()
	wantSources(one, first)
	if recorded := slices.Collect(maps.Values(recordedOf(one).Workloads)); !slices.Equal(recorded, []string{first}) {
		t.Errorf("the recorded commits are %v, want %s", recorded, first)
	}
	second := w.push("vpc", "release", map[string]string{"pool/more.tf": "# a comment\n"})
	two := render()
	wantSources(two, second)
	if again := w.render(recordedOf(one)); again.Tree.Sub("clusters").ID() != one.Tree.Sub("clusters").ID() {
		t.Errorf("at the recorded commits it is another output: %v", again.Problems)
	}

	gittest.Git(t, w.Dir("vpc"), "tag", "v1.4.0", first)
	w.push("cp", "dev", map[string]string{"stacks.yaml": w.expand(strings.ReplaceAll(clusterModulesText, "REF", "v1.4.0"))})
	tagged := render()
	wantSources(tagged, first)
	gittest.Git(t, w.Dir("vpc"), "tag", "--force", "--annotate", "--message", "moved", "v1.4.0", second)
	wantSources(render(), second)
	if again := w.render(recordedOf(tagged)); again.Tree.Sub("clusters").ID() != tagged.Tree.Sub("clusters").ID() {
		t.Errorf("at the recorded commits the tag leads to another output: %v", again.Problems)
	}
	third := w.push("vpc", "release", map[string]string{"pool/more.tf": "variable \"subnet\" {}\n"})
	gittest.Git(t, w.Dir("vpc"), "tag", "--force", "v1.4.0", third)
	moved := render()
	if p, _ := moved.Problems.FirstStopping(); !strings.Contains(p.Summary, "needs the variable subnet, which has no default") {
		t.Errorf("a tag that moved to a module which does not fit: %v", moved.Problems)
	}
}
