package loop_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/testkit/githubfake"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// TestPreviewOfClusters: the check of a pull request of the control plane fails for what would destroy a
// cluster, before it is merged.
func TestPreviewOfClusters(t *testing.T) {
	t.Parallel()
	fake, d := onGitHub(t, "dev")
	people := fake.Git.Work(t, githubCP)
	people.Pull("dev")
	people.Write("clusters.yaml", inputManifestText)
	people.Commit("clusters")
	people.Push("HEAD:dev")
	people.Write("clusters.yaml", strings.Replace(inputManifestText, "cpx22", "cpx32", 1))
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
