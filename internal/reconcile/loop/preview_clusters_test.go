package loop_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/testkit/githubfake"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

const clustersFileText = `apiVersion: claudie.io/v1beta1
kind: InputManifest
metadata:
  name: edge
  namespace: fleet
  annotations: {fairlead.io/existing-secrets: fleet/hetzner}
spec:
  providers:
    - {name: hetzner-1, providerType: hetzner, secretRef: {name: hetzner, namespace: fleet}}
  nodePools:
    dynamic:
      - {name: control, providerSpec: {name: hetzner-1, region: hel1}, count: 3, serverType: cpx22, image: ubuntu-24.04}
  kubernetes:
    clusters:
      - {name: edge, version: 1.36.0, network: 192.168.2.0/24, pools: {control: [control], compute: []}}
`

// TestPreviewOfClusters: the check of a pull request of the control plane fails for what would destroy a
// cluster, before it is merged.
func TestPreviewOfClusters(t *testing.T) {
	t.Parallel()
	fake, d := onGitHub(t, "dev")
	people := fake.Git.Work(t, githubCP)
	people.Pull("dev")
	people.Write("clusters.yaml", clustersFileText)
	people.Commit("clusters")
	people.Push("HEAD:dev")
	people.Write("clusters.yaml", strings.Replace(clustersFileText, "cpx22", "cpx32", 1))
	commit := people.Commit("larger machines")
	people.Push("HEAD:larger")
	number := fake.Propose(githubCP, githubfake.Proposed{Head: "larger", Base: "dev", Title: "larger"})
	gittest.Git(t, fake.Git.Dir(githubCP), "update-ref", fmt.Sprintf("refs/pull/%d/head", number), commit)
	d.cycle()
	text := strings.Join(fake.Comments(githubCP, number), "\n")
	if !strings.Contains(text, "pool control: the server type cannot change") || !strings.Contains(text, "write it as control-v2") {
		t.Errorf("pull request %d: the preview says:\n%s", number, text)
	}
}
