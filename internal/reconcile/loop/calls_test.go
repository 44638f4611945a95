package loop_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/testkit/githubfake"
	"github.com/fairlead-io/fairlead/internal/testkit/gitlabfake"
)

// callCounter is a fleet on a forge whose API counts its calls.
type callCounter struct {
	*world
	calls  func() []string // all calls so far
	merge  func(number int)
	report func(commit string) // has Flux report that a cluster runs an output
}

// gitlabStart is some hours before the clock of the GitLab fake begins, as [githubStart] is for GitHub.
var gitlabStart = time.Date(2025, 12, 31, 18, 0, 0, 0, time.UTC)

// callCounters are the forges whose calls docs/reference/forges.md has figures for, in the order
// of the columns there.
var callCounters = []struct {
	forge string
	start func(t *testing.T) callCounter
}{
	{"GitHub", func(t *testing.T) callCounter {
		fake := githubfake.Serve(t)
		fake.Create(githubCP)
		fake.Create(githubOut)
		w := worldOn(t, fake.Git, githubCP, githubOut, scaffold.Branches, []string{"dev", "stage"})
		w.now, w.more = githubStart, "write: true\n"
		w.useToken("github", fake.API(), fake.Token)
		return callCounter{
			world: w, merge: func(number int) { fake.Merge(githubOut, number, false) },
			report: func(commit string) {
				fake.Say(githubOut, "flux", commit, githubfake.Status{Context: "kustomization/fleet/1111", State: "success", Description: "ready"})
			},
			calls: func() (all []string) {
				for _, r := range fake.Requests() {
					all = append(all, fmt.Sprintf("%d %s %s?%s", r.Status, r.Method, r.Path, r.Query.Encode()))
				}
				return all
			},
		}
	}},
	{"GitLab", func(t *testing.T) callCounter {
		fake := gitlabfake.Serve(t)
		fake.Create(githubCP)
		fake.Create(githubOut)
		w := worldOn(t, fake.Git, githubCP, githubOut, scaffold.Branches, []string{"dev", "stage"})
		w.now, w.more = gitlabStart, "write: true\n"
		w.useToken("gitlab", fake.API(), fake.Token)
		return callCounter{
			world: w, merge: func(number int) { fake.Merge(githubOut, number, gitlabfake.Merging{}) },
			report: func(commit string) {
				fake.SayStatus(githubOut, commit, gitlabfake.Status{Name: "kustomization/fleet/1111", State: "success", Description: "ready"})
			},
			calls: func() (all []string) {
				for _, r := range fake.Requests() {
					all = append(all, fmt.Sprintf("%d %s %s?%s", r.Status, r.Method, r.Path, r.Query.Encode()))
				}
				return all
			},
		}
	}},
}

// callFigures are the columns of a row of the page: for each forge all calls, and those that the
// forge answered with 304.
type callFigures []int

// TestCalls counts the calls to the API of a forge, and holds the figures of
// docs/reference/forges.md to the counts.
func TestCalls(t *testing.T) {
	t.Parallel()
	counts := map[string]callFigures{} // by the first cell of the row
	for _, one := range callCounters {
		one.start(t).countCalls(func(event string, all []string) {
			unchanged := 0
			for _, call := range all {
				if strings.HasPrefix(call, "304 ") {
					unchanged++
				}
			}
			t.Logf("%s, %s:\n%s", one.forge, event, strings.Join(all, "\n"))
			counts[event] = append(counts[event], len(all), unchanged)
		})
	}
	page, err := os.ReadFile("../../../docs/reference/forges.md")
	if err != nil {
		t.Fatal(err)
	}
	for event, figures := range counts {
		row := "| " + event + " |"
		for _, n := range figures {
			row += fmt.Sprintf(" %d |", n)
		}
		if !strings.Contains(string(page), "\n"+row+" ") { // TestGiteaCalls of the daemon looks after the last cell
			t.Errorf("docs/reference/forges.md lacks the row\n%s", row)
		}
	}
}

// countCalls takes a commit from main to the second environment, and calls count with the calls
// that each event costs.
func (c callCounter) countCalls(count func(event string, calls []string)) {
	c.Helper()
	c.commitNow("main", "chain", map[string]string{promotionFile: chainOf("    - {name: dev}\n    - {name: stage, after: [dev]}\n")})
	d := c.begin(c.data)
	// A cycle that has left something to do is followed by another one at once.
	cycles := func(n int) {
		for range n {
			d.pass(time.Minute)
		}
	}
	counted := func(event string, n int) {
		c.Helper()
		before := len(c.calls())
		cycles(n)
		count(event, c.calls()[before:])
	}
	for _, environment := range []string{"dev", "stage"} {
		cycles(2)
		c.merge(d.state(environment).Pull.Number)
		cycles(2)
		c.report(c.head(githubOut, environment))
		cycles(2)
	}
	counted("a cycle in which nothing waits", 1)
	c.changeNow(1)
	counted("a commit on `main` is promoted to `dev`, and its output proposed", 2)
	d.want(map[string]status.State{"dev": status.Proposed, "stage": status.InSync})
	cycles(1)
	counted("a cycle while the pull request is open", 1)
	c.merge(d.state("dev").Pull.Number)
	counted("the pull request is merged", 1)
	cycles(1)
	counted("a cycle while the clusters of `dev` roll out", 1)
	c.report(c.head(githubOut, "dev"))
	counted("they report, and the commit is promoted to `stage`, and its output proposed", 2)
	d.want(map[string]status.State{"dev": status.InSync, "stage": status.Proposed})
}
