package web

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// Commits of the base, newest first.
const (
	c4 = "c4d4e4f4a4b4c4d4e4f4a4b4c4d4e4f4a4b4c4d4"
	c3 = "c3d3e3f3a3b3c3d3e3f3a3b3c3d3e3f3a3b3c3d3"
	c2 = "c2d2e2f2a2b2c2d2e2f2a2b2c2d2e2f2a2b2c2d2"
	e1 = "e1d1e1f1a1b1c1d1e1f1a1b1c1d1e1f1a1b1c1d1"
	c1 = "c1d1e1f1a1b1c1d1e1f1a1b1c1d1e1f1a1b1c1d1"
)

func says(s gate.Status, name, reason string, parts ...gate.Verdict) gate.Verdict {
	v := gate.Verdict{Gate: name, Status: s, Reason: reason, Parts: parts}
	if kind := strings.Fields(name)[0]; slices.Contains([]string{"after", "approval", "freeze", "merged", "rollout", "soak", "window"}, kind) {
		v.Kind = gate.Kind(kind)
	}
	return v
}

func until(v gate.Verdict, at time.Time) gate.Verdict {
	v.ValidUntil = at
	return v
}

// chain is one with every state, verdicts of every kind, and all fields but External.
func chain() status.Chain {
	proven := says(gate.Pass, "proof", "all gates passed", says(gate.Pass, "merged", "it is merged"), says(gate.Pass, "rollout", "3 of 3 clusters are ready"))
	soak := until(says(gate.Wait, "soak", "it soaks for 30m"), noon.Add(20*time.Minute))
	unproven := until(says(gate.Wait, "proof", "it soaks for 30m", says(gate.Pass, "merged", "it is merged"), soak), soak.ValidUntil)
	broken := says(gate.Fail, "proof", `west says that <b>apps</b> is broken`, says(gate.Fail, "rollout", `west says that <b>apps</b> is broken`))
	window := until(says(gate.Wait, "window", "it opens on Monday at 09:00"), noon.Add(45*time.Hour))
	window.NamesTime = true
	approval := says(gate.Wait, "approval", "2 approvals are missing", says(gate.Pass, "alice", "alice has approved it"))
	c := status.Chain{
		Inferred: "the order of the files in .environments", Head: c4, Unconnected: true, Checked: noon.Add(-8 * time.Second),
		Stages: []status.Stage{
			{Environment: "dev", Commit: c4, Since: noon.Add(-10 * time.Minute), Merged: true, Proof: unproven,
				Next: promote.Decision{Environment: "dev", State: promote.Current, Current: c4, Verdict: says(gate.Pass, "dev", "up to date")}},
			{Environment: "test", After: []string{"dev"}, Commit: c3, Since: noon.Add(-3 * time.Hour), Behind: 1, Merged: true, Deployed: noon.Add(-2 * time.Hour), Proof: proven,
				Next: promote.Decision{Environment: "test", State: promote.Waiting, Current: c3, Candidate: c4, Verdict: until(says(gate.Wait, "test", "c4d4e4f is not verified in dev yet: it soaks for 30m",
					until(says(gate.Wait, "after dev", "c4d4e4f is not verified in dev yet: it soaks for 30m", unproven.Parts...), soak.ValidUntil)), soak.ValidUntil)}},
			{Environment: "stage", After: []string{"test"}, Commit: c1, Since: noon.Add(-50 * time.Hour), Behind: 3, Merged: true, Deployed: noon.Add(-49 * time.Hour), Proof: proven,
				Edits: []status.Commit{{ID: e1, Subject: "Drain <large>", Author: "bob <b>", When: noon.Add(-90 * time.Minute)}},
				Next: promote.Decision{Environment: "stage", State: promote.Promotes, Current: c1, Candidate: c3, Skipped: []string{c2}, Verdict: says(gate.Pass, "stage", "stage may have c3d3e3f",
					says(gate.Pass, "after", "c3d3e3f was verified in test", proven), says(gate.Pass, "queue", "the newest commit goes first"))}},
			{Environment: "east", After: []string{"stage", "test"}, Commit: c1, Since: noon.Add(-30 * time.Hour), Behind: 3, Proof: says(gate.Wait, "proof", "it is not merged"),
				Hold: "incident <7>", Withheld: []status.Withheld{{Cause: "hold", Reason: "it is held: incident <7>"}}, Next: promote.Decision{Environment: "east", State: promote.Held, Current: c1, Candidate: c3, Verdict: until(says(gate.Wait, "east", "it is held: incident <7>",
					says(gate.Wait, "hold", "it is held: incident <7>"), window, approval), window.ValidUntil)}},
			{Environment: "west", After: []string{"stage", "test"}, Commit: c2, Since: noon.Add(-20 * time.Hour), Behind: 2, Merged: true, Proof: broken, Frozen: "freeze <q4>: a sale, until 2026-12-05 18:00 UTC",
				Next: promote.Decision{Environment: "west", State: promote.Waiting, Error: "read the approvals: 502", Current: c2, Candidate: c3, Verdict: says(gate.Wait, "west", "2 approvals are missing", approval)}},
			{Environment: "prod", After: []string{"east", "west"}, Commit: strings.Repeat("0f", 20), Since: noon.Add(-time.Hour),
				Proof: says(gate.Wait, "proof", "nothing has been reported yet"),
				Next:  promote.Decision{Environment: "prod", State: promote.Stopped, Current: strings.Repeat("0f", 20), Verdict: says(gate.Fail, "prod", "commit 0f0f0f0 is not on the base's branch")}},
			{Environment: "edge", After: []string{"prod"}, Proof: says(gate.Wait, "proof", "it has no commit"),
				Next: promote.Decision{Environment: "edge", State: promote.Current, Verdict: says(gate.Pass, "edge", "prod is stopped")}},
		},
	}
	for i, id := range []string{c4, c3, c2, c1} {
		c.Commits = append(c.Commits, status.Commit{ID: id, Subject: fmt.Sprintf("Change <%d>", 4-i), Author: "alice <i>", When: noon.Add(-time.Duration(i) * 13 * time.Hour), Paths: []string{"configs/fleet.yaml", fmt.Sprintf("templates/<%d>.yaml", 4-i)}, MorePaths: i})
	}
	c.Problems.Warnf(problem.Pos{Layer: "base", File: ".environments"}, "", "write an object of kind Promotion (fairlead schema Promotion)", "nobody has said that <edge> comes last")
	return c
}

// external is a store whose chain others move.
func external() *status.Store {
	s := &status.Store{}
	s.SetPromotions(status.Chain{External: true, Head: c4, Checked: noon})
	return s
}

// hosted is a store whose base is at a forge, and which has a failure of each kind. West was rolled back, and the
// newest commit changes nothing that is rendered.
func hosted() *status.Store {
	s, c := fleet(), chain()
	prod, _ := s.Snapshot().FindEnvironment("prod")
	prod.StalePull = &status.Pull{Number: 9, Title: "prod: <old>", URL: "https://git.example.com/org/gitops/pull/9", Head: c1}
	s.SetEnvironment(prod)
	c.Stages[4].Turns = []status.Turn{
		{Commit: c2, RolledBack: true, When: noon.Add(-20 * time.Hour), Who: "bob <b>", Reason: "it <fails>"}, {Commit: c4, When: noon.Add(-21 * time.Hour), Who: "Fairlead"},
		{Commit: c2, When: noon.Add(-22 * time.Hour), Who: "Fairlead"},
	}
	c.Stages[3].Since = noon.Add(-2 * time.Hour)
	c.Stages[3].Turns = []status.Turn{{Commit: c.Stages[3].Commit, When: c.Stages[3].Since, Who: "carol <c>", Forced: "fix of the <outage>"}}
	s.SetEnvironment(status.Environment{Name: "east", State: status.Proposed, Assignments: 1, Pull: &status.Pull{Number: 14, URL: "https://git.example.com/org/gitops/pull/14"}})
	c.Stages[6] = status.Stage{Environment: "edge", After: []string{"east"}, Commit: c1, Since: noon.Add(-30 * time.Hour), Behind: 3, Merged: true, Proof: says(gate.Pass, "proof", "all gates passed"),
		Next: promote.Decision{Environment: "edge", State: promote.Current, Current: c1, Verdict: gate.Verdict{Gate: "edge", Status: gate.Pass, Reason: "waiting for east to move first", WaitsFor: "east to move first"}}}
	c.Head = strings.Repeat("c5", 20)
	c.Commits = append(c.Commits, status.Commit{ID: c.Head, Subject: "Ask for approvals", Author: "alice", When: noon, Unrendered: true, Beside: &status.Position{}})
	c.Problems.Addf(problem.Pos{Layer: "base", File: "promotion.yaml", Line: 9}, "Promotion/fleet", "leave one of them out", "dev comes after prod, and prod after dev")
	s.SetPromotions(c)
	s.SetEnvironment(status.Environment{Name: "dev", State: status.InSync, Checked: noon, Inputs: []status.Input{{Layer: "base", Repo: "https://github.com/acme/fleet", Commit: c4}}})
	return s
}

// stuck is a store whose chain cannot be followed.
func stuck() *status.Store {
	s := &status.Store{}
	c := status.Chain{Head: c4, Checked: noon}
	c.Problems.Addf(problem.Pos{Layer: "base", File: "promotion.yaml", Line: 9}, "Promotion/fleet", "leave one of them out", "dev comes after prod, and prod after dev")
	s.SetPromotions(c)
	return s
}

// TestUnconnected: that no cluster has reported is said once, above the environments, and with the remedy.
func TestUnconnected(t *testing.T) {
	for _, unconnected := range []bool{true, false} {
		s, c := &status.Store{}, chain()
		c.Unconnected = unconnected
		s.SetPromotions(c)
		want := map[bool]int{true: 1}[unconnected]
		page := ask(open(s), "GET", "/").Body.String()
		if got := strings.Count(page, "No cluster has reported yet"); got != want || strings.Contains(page, "docs/how-to/bootstrap-a-cluster.md") != unconnected {
			t.Errorf("it is on the page %d times, want %d:\n%s", got, want, page)
		}
	}
}

// TestChainWords holds the words of promote and gate and those of openapi.json
// together.
func TestChainWords(t *testing.T) {
	schemas, _ := checker{doc: document(t)}.at("components", "schemas")
	enum := func(schema, property string) any {
		return schemas[schema].(object)["properties"].(object)[property].(object)["enum"]
	}
	words := func(all ...any) (texts []any) {
		for _, w := range all {
			texts = append(texts, fmt.Sprint(w))
		}
		return texts
	}
	if diff := cmp.Diff(words(promote.Current, promote.Waiting, promote.Promotes, promote.Held, promote.Stopped), enum("Decision", "state")); diff != "" {
		t.Errorf("states (-promote +described):\n%s", diff)
	}
	if diff := cmp.Diff(words(gate.Pass, gate.Wait, gate.Fail), enum("Verdict", "status")); diff != "" {
		t.Errorf("statuses (-gate +described):\n%s", diff)
	}
}
