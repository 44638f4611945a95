package page

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/reconcile/fleetview"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/answer"
)

// TestFoldedLanes: of more environments than are shown those that need attention are, in their order, and it is said how
// many there are besides. A long cause is said once.
func TestFoldedLanes(t *testing.T) {
	const cause = "couldn't find the remote reference mastre of https://git.example.com/hello, which two manifests name"
	var all []answer.Environment
	var needs []answer.Need
	for i := range maxRows + 20 {
		e := answer.Environment{Name: fmt.Sprintf("prod-%02d", i), State: answer.State{Tone: answer.Good, Word: "verified"}}
		if i >= maxRows {
			e.State, e.Reason = answer.State{Tone: answer.Bad, Word: "failed"}, "fix: "+cause
			needs = append(needs, answer.Need{State: e.State, Environment: e.Name, Reason: e.Reason})
		}
		all = append(all, e)
	}
	needs = append(needs, answer.Need{Reason: "the ledger"})
	v, others := newChainView(answer.Timeline{}, all, needs, Frame{})
	if len(v.Rows) != maxRows || v.Hidden != 20 || len(others) != 1 {
		t.Fatalf("%d rows, %d hidden, others %v", len(v.Rows), v.Hidden, others)
	}
	for i, row := range v.Rows {
		if want := i >= 20; row.IsNeed != want || (row.Own != nil) != want {
			t.Errorf("row %d is %s, which needs attention: %v", i, row.Name, row.IsNeed)
		}
	}
	if first, last := v.Rows[20].Reason, v.Rows[39].Reason; first != "fix: "+cause || last != "fix: see prod-40" {
		t.Errorf("the first reason is %q, the last %q", first, last)
	}
}

// TestLabels: of the bars of a commit the widest has its name, if there is room for it.
func TestLabels(t *testing.T) {
	from := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	at := func(hours int) time.Time { return from.Add(time.Duration(hours) * time.Hour) }
	commit := func(id string) answer.Commit { return answer.Commit{Commit: status.Commit{ID: id}} }
	line := answer.Timeline{From: from, Now: at(100), To: at(100), Lanes: []answer.TimelineLane{{Environment: "prod", Bars: []answer.TimelineBar{
		{Commit: commit("a"), Commits: 1, From: at(0), To: at(20)}, {Commit: commit("a"), Commits: 1, From: at(20), To: at(60)}, {Commit: commit("b"), Commits: 1, From: at(60), To: at(65)}, {Commit: commit("c"), Commits: 9, From: at(65)},
	}}}}
	v, _ := newChainView(line, []answer.Environment{{Name: "prod"}}, nil, Frame{})
	var got []string
	for _, b := range v.Rows[0].Bars {
		got = append(got, b.X+" "+b.Width+" "+b.Label)
	}
	want := []string{"0% 20% ", "20% 40% a", "60% 5% ", "65% 35% 9 commits"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestClusterState: a cluster that is ready is not called so beside objects of it that failed.
func TestClusterState(t *testing.T) {
	for want, phases := range map[answer.State][]string{
		{Tone: answer.Good, Word: "ready"}: {"ready", "progressing"}, {Tone: answer.Bad, Word: "1 object failed"}: {"failed", "ready", "waits for approval", "drifted"}, {Tone: answer.Bad, Word: "drifted"}: {"drifted", "ready"}, {Tone: answer.Bad, Word: "2 objects failed"}: {"failed", "failed"},
	} {
		v := clusterView{answer.Cluster{Standings: []answer.ClusterStanding{{State: answer.State{Tone: answer.Good, Word: "ready"}}}}}
		for _, phase := range phases {
			v.Objects = append(v.Objects, fleetview.ClusterObject{Phase: phase})
		}
		if got := v.State(); got != want {
			t.Errorf("with objects that are %v it is %v, want %v", phases, got, want)
		}
	}
}

// TestNeedCommands: who has no buttons is shown the command that ends a need; a need of a stack has its page.
func TestNeedCommands(t *testing.T) {
	for _, test := range []struct {
		need answer.Need
		may  []LeverLink
		want []string
	}{
		{answer.Need{Environment: "prod", Levers: []string{"release"}}, nil, []string{"fairlead release prod --reason TEXT"}},
		{answer.Need{Environment: "prod", Levers: []string{"merge"}, Pull: &status.Pull{Number: 7}}, nil, []string{"fairlead pr merge 7"}},
		{answer.Need{Environment: "prod", Levers: []string{"merge"}, Pull: &status.Pull{Number: 7, URL: "https://github.com/acme/gitops/pull/7"}}, nil, nil},
		{answer.Need{Environment: "prod", Levers: []string{"approve-removals", "rollback", "hold"}}, nil, []string{"fairlead rollback prod --reason TEXT"}},
		{answer.Need{Environment: "prod", Stack: "shop/dev", Levers: []string{"approve-plan"}}, nil, nil},
		{answer.Need{Environment: "prod"}, nil, nil},
	} {
		if got := newNeedActions(test.need, test.may).Commands(); !slices.Equal(got, test.want) {
			t.Errorf("%+v: got %q, want %q", test.need, got, test.want)
		}
	}
	may := []LeverLink{{Lever: "release", Allowed: true}, {Lever: "hold"}}
	if got := newNeedActions(answer.Need{Environment: "prod", Levers: []string{"hold", "release"}}, may).Levers; len(got) != 1 || got[0].Lever != "release" {
		t.Errorf("the buttons are %v", got)
	}
}
