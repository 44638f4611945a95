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

// TestPreviewOfTemplates: the check of a pull request names a commit of Claudie's templates that is not in its
// repository, as the daemon would after the merge.
func TestPreviewOfTemplates(t *testing.T) {
	t.Parallel()
	fake, d := onGitHub(t, "dev")
	fake.Create("acme/templates")
	templates := fake.Git.Work(t, "acme/templates")
	templates.Switch("main")
	templates.Write("a.tpl", "a\n")
	templates.Commit("templates")
	templates.Push("main")
	people := fake.Git.Work(t, githubCP)
	people.Pull("dev")
	inline := "namespace: fleet}, templates: {repository: '" + fake.Git.URL("acme/templates") + "', path: a, tag: v0.9.16}}"
	people.Write("clusters.yaml", strings.NewReplacer("namespace: fleet}}", inline, "version: 1.36.0", "version: 1.35.0").Replace(inputManifestText))
	commit := people.Commit("clusters")
	people.Push("HEAD:more")
	number := fake.Propose(githubCP, githubfake.Proposed{Head: "more", Base: "dev", Title: "clusters"})
	gittest.Git(t, fake.Git.Dir(githubCP), "update-ref", fmt.Sprintf("refs/pull/%d/head", number), commit)
	d.cycle()
	if text := strings.Join(fake.Comments(githubCP, number), "\n"); !strings.Contains(text, "v0.9.16 is not in the repository") {
		t.Errorf("pull request %d: the preview says:\n%s", number, text)
	}
	people.Push("HEAD:dev")
	d.cycle()
	d.wantProblem("dev", "v0.9.16 is not in the repository")
}
