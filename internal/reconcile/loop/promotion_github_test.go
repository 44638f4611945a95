package loop_test

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/testkit/githubfake"
)

// hub is a world on GitHub.
type hub struct {
	*world
	*daemon
	fake *githubfake.Server
}

// githubStart is some hours before the clock of the fake begins: what it says of a
// commit is never older than the commit.
var githubStart = time.Date(2026, 1, 1, 6, 0, 0, 0, time.UTC)

// newHub makes a fleet on GitHub, and a daemon that promotes.
func newHub(t *testing.T, chain string, environments ...string) *hub {
	t.Helper()
	t.Parallel()
	fake := githubfake.Serve(t)
	fake.Create(githubCP)
	fake.Create(githubOut)
	w := worldOn(t, fake.Git, githubCP, githubOut, scaffold.Branches, environments)
	w.now = githubStart
	w.kind = "kind: github, api: \"" + fake.API() + "\""
	w.secret = map[string]string{"TOKEN": fake.Token}
	w.more = "write: true\nremotes: [{url: \"" + strings.TrimSuffix(fake.Git.URL(""), "/.git") + "/\", token: {env: TOKEN}}]\n"
	w.commitNow("main", "chain", map[string]string{
		promotionFile:                  chainOf(chain),
		".github/workflows/smoke.yaml": "on:\n  workflow_dispatch:\n    inputs:\n      environment: {}\n      promoted_commit_id: {}\n      commit_id: {}\n",
	})
	return &hub{w, w.begin(w.data), fake}
}

// looks runs cycles, each some time after the last, and gives the calls that each made.
func (h *hub) looks(times int, after time.Duration) []int {
	h.world.Helper()
	var calls []int
	for range times {
		before := len(h.fake.Requests())
		h.pass(after)
		calls = append(calls, len(h.fake.Requests())-before)
	}
	return calls
}

// wantLine is that of the world, which the daemon has too.
func (h *hub) wantLine(names map[string]string, want string) {
	h.world.Helper()
	h.world.wantLine(names, want)
}

// said gives what was said of a commit of the base in Kalypso's contexts, oldest first.
func (h *hub) said(commit string) string {
	h.world.Helper()
	var lines []string
	for _, s := range h.fake.Statuses(githubCP, commit) {
		if strings.HasSuffix(s.Context, " environment") {
			lines = append(lines, fmt.Sprintf("%s: %s %s", s.Context, s.State, s.Description))
		}
	}
	return strings.Join(lines, "\n")
}

// run gives the latest run of a workflow that is written on a commit of the base.
func (h *hub) run(commit string) int {
	h.world.Helper()
	for _, s := range slices.Backward(h.fake.Statuses(githubCP, commit)) {
		if _, id, ok := strings.Cut(s.URL, "/runs/"); ok {
			n, err := strconv.Atoi(id)
			if err != nil {
				h.world.Fatal(err)
			}
			return n
		}
	}
	h.world.Fatalf("no run is written on %s: %+v; the log:\n%s", commit, h.fake.Statuses(githubCP, commit), h.logs.String())
	return 0
}

// flux has Flux say on the commit of an output how it fares.
func (h *hub) flux(branch, state, text string) {
	h.fake.Say(githubOut, "flux", h.head(githubOut, branch), githubfake.Status{Context: "kustomization/" + branch + "/1111", State: state, Description: text})
}

// TestGitHubPromotion takes a commit through all that GitHub has: the label of its
// output, statuses of Flux, a workflow that tests what runs, a check of the base, a
// review of the record.
func TestGitHubPromotion(t *testing.T) {
	h := newHub(t, `
    - {name: dev, proof: [rollout, dispatch: {workflow: smoke.yaml}]}
    - name: stage
      after: [dev]
      record: pull-request
      merge: direct
      proof: []
      gates:
        - status: {contexts: [ci/test]}
        - approval: {by: ["team:acme/sre"], distinct: true}
`, "dev", "stage")
	h.fake.Team("acme/sre", "alice", "bob")
	h.fake.Account("alice", person)
	first := h.changeNow(1)
	names := map[string]string{first: "1"}
	h.looks(3, time.Minute)
	h.wantLine(names, "dev=1 stage=-")
	pull := h.state("dev").Pull
	if got := h.fake.Labels(githubOut, pull.Number); !slices.Equal(got, []string{"promoted"}) {
		t.Errorf("the labels of the output's pull request are %q", got)
	}
	h.fake.Merge(githubOut, pull.Number, false)
	h.looks(2, time.Minute)
	h.flux("dev", "success", "reconciled")
	h.looks(2, 20*time.Minute)
	run := h.run(first)
	if got, want := h.fake.Inputs(githubCP, run), map[string]string{"environment": "dev", "promoted_commit_id": first, "commit_id": h.head(githubOut, "dev")}; !gocmp.Equal(want, got) {
		t.Errorf("the inputs of the workflow are %v, want %v", got, want)
	}
	h.wantNext("stage", promote.Waiting, "smoke.yaml is running")
	h.fake.Finish(githubCP, run, "success")
	h.looks(2, 20*time.Minute)
	h.wantLine(names, "dev=1 stage=-")
	h.wantNext("stage", promote.Waiting, "ci/test is not reported", "1 approval missing")
	if want := "dev environment: pending Promoted\ndev environment: pending Deploying\ndev environment: success Deployed"; h.said(first) != want {
		t.Errorf("of the commit is said\n%s\nwant\n%s", h.said(first), want)
	}

	h.fake.Check(githubCP, "ci", first, "ci/test", "success")
	h.looks(1, 20*time.Minute)
	record := h.records(t)
	if len(record) != 1 {
		t.Fatalf("the pull requests of records are %v; the log:\n%s", record, h.logs.String())
	}
	h.fake.Review(githubCP, "alice", record[0], "APPROVED")
	h.looks(1, 20*time.Minute)
	h.wantNext("stage", promote.Waiting, "alice is an author")
	h.fake.Review(githubCP, "mallory", record[0], "APPROVED")
	h.looks(1, 20*time.Minute)
	h.wantNext("stage", promote.Waiting, "mallory may not approve")
	h.fake.Review(githubCP, "bob", record[0], "APPROVED")
	h.looks(3, 20*time.Minute)
	if next := h.stage("stage").Next; next.State != promote.Current {
		t.Errorf("stage is %s: %s; the last calls were %q", next.State, reasons(next), h.last(8))
	}
	h.wantLine(names, "dev=1 stage=1")
	if text := h.said(first); !strings.HasSuffix(text, "stage environment: success Deployed") {
		t.Errorf("of the commit is said\n%s", text)
	}

	// All is proven, and nothing waits.
	h.looks(2, time.Minute)
	if calls := h.looks(3, time.Hour); !slices.Equal(calls, []int{0, 0, 0}) {
		t.Errorf("at rest it makes %v calls", calls)
	}
	h.quiet(githubCP, githubOut)

	// What fails its test goes no further.
	second := h.changeNow(2)
	h.looks(2, time.Minute)
	h.fake.Merge(githubOut, h.state("dev").Pull.Number, false)
	h.looks(1, time.Minute)
	h.flux("dev", "success", "reconciled")
	h.looks(2, 20*time.Minute)
	h.fake.Finish(githubCP, h.run(second), "failure")
	h.looks(2, 20*time.Minute)
	h.wantLine(map[string]string{first: "1", second: "2"}, "dev=2 stage=1")
	h.wantNext("stage", promote.Waiting, "smoke.yaml failed")
	if text := h.said(second); !strings.Contains(text, "dev environment: failure Failed to deploy: smoke.yaml failed: failure") {
		t.Errorf("of the second commit is said\n%s", text)
	}
}

// TestGitHubApprovalOfAnother: who has approved a commit has not approved the one that
// takes its place.
func TestGitHubApprovalOfAnother(t *testing.T) {
	h := newHub(t, `
    - {name: dev, merge: direct, proof: []}
    - name: stage
      after: [dev]
      record: pull-request
      proof: []
      gates: [window: {allow: [{cron: 0 8 * * *, duration: 1h}]}, approval: {}]
`, "dev", "stage")
	first := h.changeNow(1)
	names := map[string]string{first: "1"}
	h.looks(3, time.Minute)
	if open := h.records(t); len(open) != 0 {
		t.Fatalf("it is proposed while the window is closed: %v", open)
	}
	h.looks(1, 2*time.Hour)
	open := h.records(t)
	if len(open) != 1 {
		t.Fatalf("the pull requests of records are %v; %s", open, reasons(h.stage("stage").Next))
	}
	h.looks(1, 2*time.Hour) // it is closed again
	h.fake.Review(githubCP, "bob", open[0], "APPROVED")
	second := h.changeNow(2)
	names[second] = "2"
	h.looks(3, time.Minute)
	h.wantLine(names, "dev=2 stage=-")
	h.looks(4, 6*time.Hour)
	h.looks(1, time.Duration(24+8-h.now.Hour())*time.Hour)
	h.looks(2, time.Minute)
	h.wantNext("stage", promote.Waiting, "1 approval missing")
	h.wantLine(names, "dev=2 stage=-")
	h.fake.Review(githubCP, "bob", open[0], "APPROVED")
	h.looks(2, 10*time.Minute)
	h.wantLine(names, "dev=2 stage=2")
}

// records gives the open pull requests of records.
func (h *hub) records(t *testing.T) []int {
	t.Helper()
	f, err := h.forge(githubCP)
	if err != nil {
		t.Fatal(err)
	}
	pulls, err := f.Pulls(t.Context(), "fairlead/promotion/stage", "stage")
	if err != nil {
		t.Fatal(err)
	}
	var open []int
	for _, p := range pulls {
		if p.State == forge.Open {
			open = append(open, p.Number)
		}
	}
	return open
}

// forge gives the forge of a repository that the daemon has.
func (h *hub) forge(repo string) (found forge.Forge, err error) {
	err = h.Wrap(h.server.URL(repo), func(f forge.Forge) forge.Forge { found = f; return f })
	return found, err
}

// TestGitHubWaits: while something waits outside of Git, a look makes few calls, and after
// an hour in which nothing has changed looks get rarer.
func TestGitHubWaits(t *testing.T) {
	for name, test := range map[string]struct {
		chain string
		most  int
	}{
		"rollout":  {"    - {name: dev, merge: direct}\n", 4},
		"approval": {"    - {name: dev, merge: direct, record: pull-request, gates: [approval: {distinct: true}]}\n", 5},
		"check":    {"    - {name: dev, merge: direct, proof: [], gates: [status: {contexts: [ci/test]}]}\n", 2},
		"review":   {"    - {name: dev, merge: direct, record: pull-request}\n", 1},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHub(t, test.chain, "dev")
			h.changeNow(1)
			h.looks(4, time.Minute)
			if name == "rollout" { // also with an output before it, of which something is said
				h.flux("dev", "success", "ready")
				h.looks(6, time.Minute)
				h.changeNow(2)
				h.looks(6, time.Minute)
			}
			calls := h.looks(120, time.Minute)
			if most := slices.Max(calls); most > test.most {
				t.Errorf("a look makes %d calls, want at most %d: %v; the last are %v", most, test.most, calls, h.last(8))
			}
			// While a record is proposed, each poll lists the open pull requests with one call.
			polls := strings.Count(test.chain, "pull-request")
			soon, late := countAbove(calls[:60], polls), countAbove(calls[62:], polls)
			if test.most > polls && (soon < 60 || late == 0) || late > 10 {
				t.Errorf("%d of 60 cycles looked, and %d of the 58 after them: %v", soon, late, calls)
			}
		})
	}
}

// countAbove returns how many of some numbers are larger than another.
func countAbove(numbers []int, limit int) (n int) {
	for _, one := range numbers {
		if one > limit {
			n++
		}
	}
	return n
}

// last gives the last calls.
func (h *hub) last(n int) []string {
	var all []string
	requests := h.fake.Requests()
	for _, r := range requests[max(0, len(requests)-n):] {
		all = append(all, cmp.Or(r.Method, "GET")+" "+r.Path)
	}
	return all
}
