package schedule_test

import (
	"errors"
	"testing"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/schedule"
)

// TestRebalance: 300 units that stayed when a cluster type was added move as they would have been chosen, as many as are
// allowed, and what they are then stays.
func TestRebalance(t *testing.T) {
	ten, eleven := manyUnits(10), manyUnits(11)
	before := schedule.NewPlan(ten, nil)
	m := withDecisions(eleven, before)
	count := func(c schedule.Comparison) (moves int) {
		for _, change := range c.Changes {
			moves += len(change.Moves)
		}
		return moves
	}
	all, err := schedule.Rebalance(m, nil, schedule.NoLimit)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := describeDecisions(all.After), describeDecisions(schedule.NewPlan(eleven, nil)); got != want {
		t.Errorf("these are chosen:\n%s\nwant those that are chosen from nothing:\n%s", got, want)
	}
	for _, atMost := range []int{0, 1, 7, 10_000} {
		c, err := schedule.Rebalance(m, []string{"all"}, atMost)
		if err != nil {
			t.Fatal(err)
		}
		if want := min(atMost, count(all)); count(c) != want {
			t.Errorf("%d moves are made of at most %d, want %d", count(c), atMost, want)
		}
		if again := schedule.NewPlan(withDecisions(eleven, c.After), nil); describeDecisions(again) != describeDecisions(c.After) {
			t.Errorf("at most %d: what was chosen does not stay", atMost)
		}
	}
	var unknown *schedule.UnknownError
	if _, err := schedule.Rebalance(m, []string{"other"}, 1); !errors.As(err, &unknown) || unknown.Name != "other" {
		t.Errorf("an unknown policy gives %v", err)
	}
	m.Policies[0].Choice.Decider.Name = "acme"
	var foreign *schedule.NotOwnError
	if _, err := schedule.Rebalance(m, []string{"all"}, 1); !errors.As(err, &foreign) || foreign.By != "acme" {
		t.Errorf("a policy that a scheduler decides gives %v", err)
	}
	if _, err := schedule.Simulate(m, schedule.Overlay{Pick: map[string]int{"all": 1}}); !errors.As(err, &foreign) {
		t.Errorf("another number for a policy that a scheduler decides gives %v", err)
	}
}

// TestRebalanceBest: the move that gains most is made first, and one for which there is no room without others is not.
func TestRebalanceBest(t *testing.T) {
	m := &model.Model{ClusterTypes: []*model.ClusterType{clusterType("gold", map[string]string{"tier": "gold"}), clusterType("lead", nil), clusterType("tin", map[string]string{"tier": "tin"})}}
	for _, name := range []string{"a", "b"} {
		m.Targets = append(m.Targets, target(name, "", nil))
	}
	for _, name := range []string{"a", "b"} {
		tier := map[string]string{"a": "tin", "b": "gold"}[name]
		weight := map[string]int{"a": 10, "b": 90}[name]
		selects := in("tier", tier)
		p := policy(name, "", model.Selector{}, model.Selector{})
		p.Choice = &model.Choice{Pick: 1, Unit: model.UnitPolicy, Prefer: []model.Preference{{Weight: weight, ClusterTypes: &selects}}}
		m.Policies = append(m.Policies, p)
		m.Decisions = append(m.Decisions, &model.Decision{Object: model.Object{Name: name}, By: model.DecidedByFairlead, Units: map[string][]string{name: {"lead"}}})
	}
	c, err := schedule.Rebalance(m, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := schedule.DescribeChanges(c.Changes), "b/b: lead → gold\n"; got != want {
		t.Errorf("these are moved:\n%swant:\n%s", got, want)
	}
}
