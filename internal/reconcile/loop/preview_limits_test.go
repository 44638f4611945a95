package loop_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/testkit/githubfake"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// TestPreviewNamesRemovals: the preview of a change that removes too much names the change,
// so that the change itself can acknowledge it; after the merge it has that name.
func TestPreviewNamesRemovals(t *testing.T) {
	for _, annotated := range []bool{false, true} {
		t.Run(fmt.Sprintf("annotated %t", annotated), func(t *testing.T) {
			t.Parallel()
			fake, d := onGitHub(t, "dev")
			fake.Merge(githubOut, d.state("dev").Pull.Number, false)
			d.cycle()
			people := fake.Git.Work(t, githubCP)
			people.Pull("dev")
			number := 0
			said := func(file, old, new string) string {
				t.Helper()
				text := gittest.Show(t, people.Dir, "HEAD", file)
				if !strings.Contains(text, old) {
					t.Fatalf("%s does not have %q:\n%s", file, old, text)
				}
				people.Write(file, strings.Replace(text, old, new, 1))
				commit := people.Commit("change")
				people.Push("HEAD:shrink")
				if number == 0 {
					number = fake.Propose(githubCP, githubfake.Proposed{Head: "shrink", Base: "dev", Title: "shrink"})
				}
				gittest.Git(t, fake.Git.Dir(githubCP), "update-ref", fmt.Sprintf("refs/pull/%d/head", number), commit)
				d.cycle()
				return strings.Join(fake.Comments(githubCP, number), "\n")
			}
			text := said(policy, "app: hello", "app: helo")
			named := regexp.MustCompile("fairlead.io/removals: ([0-9a-f]{40})`, or run `fairlead approve dev ([0-9a-f]{40}) --removals --ahead`").FindStringSubmatch(text)
			if named == nil || named[1] != named[2] || !strings.Contains(text, "it removes ") {
				t.Fatalf("the change is not named:\n%s\n%s", text, d.logs.String())
			}
			if annotated {
				text = said("gitops-repo.yaml", "kind: GitOpsRepo\nmetadata:\n", "kind: GitOpsRepo\nmetadata:\n  annotations: {fairlead.io/removals: "+named[1]+"}\n")
				if strings.Contains(text, "wait for a person") {
					t.Errorf("it is acknowledged, and the preview says:\n%s", text)
				}
			}
			fake.Merge(githubCP, number, false)
			d.cycle()
			e := d.state("dev")
			switch {
			case e.State != status.Proposed:
				t.Errorf("dev is %s: %s", e.State, e.Reason)
			case annotated && len(e.Withheld) > 0:
				t.Errorf("it was acknowledged, and is withheld: %+v", e.Withheld)
			case !annotated && (len(e.Withheld) != 1 || e.Withheld[0].Acknowledge != named[1]):
				t.Errorf("it is withheld for %+v, and was named %s", e.Withheld, named[1])
			}
		})
	}
}

// TestPreviewWithoutOutput: where the GitOps repository cannot be read, the preview is there,
// and says what is not known.
func TestPreviewWithoutOutput(t *testing.T) {
	t.Parallel()
	fake, d := onGitHub(t, "dev")
	people := fake.Git.Work(t, githubCP)
	people.Pull("dev")
	people.Write("gitops-repo.yaml", strings.Replace(gittest.Show(t, people.Dir, "HEAD", "gitops-repo.yaml"), githubOut, "acme/none", 1))
	people.Commit("mistake")
	people.Push("HEAD:dev")
	people.Write(policy, strings.Replace(gittest.Show(t, people.Dir, "HEAD", policy), "app: hello", "app: helo", 1))
	commit := people.Commit("change")
	people.Push("HEAD:shrink")
	number := fake.Propose(githubCP, githubfake.Proposed{Head: "shrink", Base: "dev", Title: "shrink"})
	gittest.Git(t, fake.Git.Dir(githubCP), "update-ref", fmt.Sprintf("refs/pull/%d/head", number), commit)
	d.cycle()
	text := strings.Join(fake.Comments(githubCP, number), "\n")
	if !strings.Contains(text, "is not known: the GitOps repository cannot be read") || !strings.Contains(text, "What merging this means") {
		t.Errorf("the preview says:\n%s", text)
	}
}
