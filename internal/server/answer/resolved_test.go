package answer

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// TestResolvedProblems: what one cycle has resolved with one commit in several environments is one problem, which the
// filters of the list select, and which is not counted as wrong.
func TestResolvedProblems(t *testing.T) {
	noon := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	var store status.Store
	cycle := func(at time.Time, base string, found map[string]problem.List) {
		store.StartCycle(at)
		for _, name := range []string{"dev", "prod"} {
			in := status.Input{Layer: "base", Repo: "https://github.com/acme/fleet", Commit: base, About: status.Commit{ID: base, Subject: "change", Author: "alice", When: at}}
			store.SetEnvironment(status.Environment{Name: name, Problems: found[name], Inputs: []status.Input{in}, Checked: at})
		}
		store.SetCycle(status.Cycle{Started: at})
	}
	old, mended := strings.Repeat("a", 40), strings.Repeat("b", 40)
	wrong := problem.Problem{Pos: problem.Pos{Layer: "base", File: "a.yaml", Line: 3}, Summary: "it is wrong", Hint: "write it"}
	odd := problem.Problem{Pos: problem.Pos{Layer: "prod", File: "b.yaml"}, Summary: "it is odd", Warning: true}
	cycle(noon, old, map[string]problem.List{"dev": {wrong}, "prod": {wrong, odd}})
	cycle(noon.Add(time.Minute), mended, map[string]problem.List{"prod": {odd}})
	s := Source{Snapshot: store.Snapshot()}
	all := s.Problems(ProblemFilter{}).Resolved
	if len(all.Items) != 1 || all.Total != 1 || all.Found != 1 || !all.KeptSince.Equal(noon) || s.CountUrgent() != 0 {
		t.Fatalf("resolved are %+v, and %d are urgent", all, s.CountUrgent())
	}
	one := all.Items[0]
	want := Problem{Kind: Mistake, Environments: []string{"dev", "prod"}, Place: "base/a.yaml:3", URL: "https://github.com/acme/fleet/blob/" + old + "/a.yaml#L3", Summary: "it is wrong", Since: noon, Commit: one.Commit}
	if diff := cmp.Diff(want, one.Problem, cmpopts.IgnoreUnexported(Problem{})); diff != "" || one.Layer != "base" || one.Listed || one.Commit.URL != "https://github.com/acme/fleet/commit/"+mended {
		t.Errorf("it is %+v (-want +got):\n%s", one, diff)
	}
	if c := one.Commit; c.ID != mended || c.Subject == "" || c.Author == "" || c.When.IsZero() || !one.Until.Equal(noon.Add(time.Minute)) {
		t.Errorf("it was there from %s until %s, and went with %+v", one.Since, one.Until, c)
	}
	for f, want := range map[ProblemFilter]int{{Environment: "dev"}: 1, {Kind: Mistake}: 1, {Kind: Warning}: 0, {Text: "WRONG"}: 1, {Text: "odd"}: 0} {
		if got := s.Problems(f).Resolved; got.Found != want || len(got.Items) != want || got.Total != 1 {
			t.Errorf("%+v selects %+v", f, got)
		}
	}
	many := problem.List{}
	for i := range 70 {
		many.Warnf(problem.Pos{}, "", "", "warning %d", i)
	}
	cycle(noon.Add(2*time.Minute), mended, map[string]problem.List{"dev": many})
	cycle(noon.Add(25*time.Hour), mended, nil)
	s.Snapshot = store.Snapshot()
	if got := s.Problems(ProblemFilter{}).Resolved; got.Found != 70 || len(got.Items) != ListRows || got.Items[0].Commit != nil || !got.KeptSince.IsZero() {
		t.Errorf("a day later %d are resolved, kept since %s, of which are shown %d, the first %+v", got.Found, got.KeptSince, len(got.Items), got.Items[0])
	}
}
