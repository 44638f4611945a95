package loop_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/testkit/githubfake"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// metalText is a manifest with a machine that there is once.
const metalText = `apiVersion: claudie.io/v1beta1
kind: InputManifest
metadata:
  name: NAME
  namespace: fleet
  annotations: {fairlead.io/existing-secrets: fleet/key}
spec:
  nodePools:
    static:
      - {name: metal, nodes: [{endpoint: 192.0.2.1, secretRef: {name: key, namespace: fleet}}]}
  kubernetes:
    clusters:
      - {name: NAME, version: 1.36.0, network: 192.168.2.0/24, pools: {control: [metal], compute: []}}
`

// TestClaimedMachine: the environment whose output has a machine goes on, also if it is the later one in
// the order of promotion, and also over a restart; the one that asks for it too is stopped. So it is with the
// name of a cluster that reports.
func TestClaimedMachine(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev", "stage")
	d := w.begin(w.data)
	w.commitNow("stage", "a cluster", map[string]string{"clusters/edge.yaml": strings.ReplaceAll(metalText, "NAME", "first")})
	d.cycle()
	w.merge("stage")
	d.cycle()
	w.commitNow("dev", "another one", map[string]string{"clusters/edge.yaml": strings.ReplaceAll(metalText, "NAME", "second")})
	for range 2 {
		d.cycle()
		d.wantProblem("dev", "pool metal: the machine 192.0.2.1 is in InputManifest/first of environment stage too")
		if all := d.state("stage").Problems; strings.Contains(fmt.Sprint(all), "192.0.2.1") {
			t.Errorf("stage has the problems %v", all)
		}
		d = w.begin(t.TempDir()) // it remembers nothing
	}
	w.edit("dev", "clusters/edge.yaml", "192.0.2.1", "192.0.2.2")
	d.cycle()
	if all := d.state("dev").Problems; strings.Contains(fmt.Sprint(all), "192.0.2.") {
		t.Errorf("dev has the problems %v", all)
	}
	binding := strings.ReplaceAll(fleetBindingText, "name: edge}", "name: first}")
	binding = binding[:strings.Index(binding, "    - {name: two")]
	w.commitNow("stage", "its type", map[string]string{"clusters/binding.yaml": strings.ReplaceAll(binding, "one", "first")})
	d.cycle()
	w.merge("stage")
	w.edit("dev", "clusters/edge.yaml", "- {name: second,", "- {name: first,")
	w.commitNow("dev", "its type", map[string]string{"clusters/binding.yaml": strings.NewReplacer("one", "first", "name: first}", "name: second}").Replace(binding)})
	d.cycle()
	d.wantProblem("dev", "ClusterBinding/second: cluster first of environment stage is bound too, at stage/clusters/binding.yaml:7, and clusters report by their names")
	if all := d.state("stage").Problems; all.Stops() {
		t.Errorf("stage has the problems %v", all)
	}
}

// TestPreviewOfClaimedMachine: the check of a pull request fails for a machine that another environment
// has.
func TestPreviewOfClaimedMachine(t *testing.T) {
	t.Parallel()
	fake, d := onGitHub(t, "dev", "stage")
	people := fake.Git.Work(t, githubCP)
	people.Pull("stage")
	people.Write("clusters.yaml", strings.ReplaceAll(metalText, "NAME", "first"))
	people.Commit("a cluster")
	people.Push("HEAD:stage")
	people.Pull("dev")
	people.Write("clusters.yaml", strings.ReplaceAll(metalText, "NAME", "second"))
	commit := people.Commit("another one")
	people.Push("HEAD:second")
	number := fake.Propose(githubCP, githubfake.Proposed{Head: "second", Base: "dev", Title: "second"})
	gittest.Git(t, fake.Git.Dir(githubCP), "update-ref", fmt.Sprintf("refs/pull/%d/head", number), commit)
	d.cycle()
	text := strings.Join(fake.Comments(githubCP, number), "\n")
	if !strings.Contains(text, "the machine 192.0.2.1 is in InputManifest/first of environment stage too") {
		t.Errorf("pull request %d: the preview says:\n%s", number, text)
	}
}
