package loop_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/testkit/githubfake"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// TestPreviewOfDeletedStack: the preview of a pull request that deletes the file of a stack says what the
// daemon does after the merge: it destroys the components, in a change that the preview has named.
func TestPreviewOfDeletedStack(t *testing.T) {
	t.Parallel()
	fake, d := onGitHub(t, "dev")
	people := fake.Git.Work(t, githubCP)
	people.Pull("dev")
	people.Write("stacks/settings.yaml", stackSettingsText)
	people.Write("stacks/checkout.yaml", stackFileText)
	people.Commit("a stack")
	people.Push("HEAD:dev")
	d.cycle()
	fake.Merge(githubOut, d.state("dev").Pull.Number, false)
	d.cycle()

	gittest.Git(t, people.Dir, "rm", "-q", "stacks/checkout.yaml")
	commit := people.Commit("it is not needed any more")
	people.Push("HEAD:closing")
	number := fake.Propose(githubCP, githubfake.Proposed{Head: "closing", Base: "dev", Title: "closing"})
	gittest.Git(t, fake.Git.Dir(githubCP), "update-ref", fmt.Sprintf("refs/pull/%d/head", number), commit)
	d.cycle()
	text := strings.Join(fake.Comments(githubCP, number), "\n")
	const what = "**What:** DESTROY infrastructure of `eks` and `network` in `checkout/dev`"
	if !strings.Contains(text, what) || strings.Contains(text, "REMOVE") || !strings.Contains(text, "the file of the stack checkout/dev was deleted: its components are destroyed") {
		t.Errorf("the preview says:\n%s", text)
	}
	named := regexp.MustCompile("fairlead.io/removals: ([0-9a-f]{40})`").FindStringSubmatch(text)
	if named == nil {
		t.Fatalf("the change is not named:\n%s", text)
	}
	fake.Merge(githubCP, number, false)
	d.cycle()
	e := d.state("dev")
	if e.Pull == nil || len(e.Withheld) != 1 || e.Withheld[0].Acknowledge != named[1] {
		t.Fatalf("it is withheld for %+v, and was named %s", e.Withheld, named[1])
	}
	if !strings.HasPrefix(e.Pull.Title, "dev: DESTROY infrastructure of 2 components in checkout/") {
		t.Errorf("the title of the pull request is %s", e.Pull.Title)
	}
}
