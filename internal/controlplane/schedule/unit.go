package schedule

import (
	"cmp"
	"slices"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// Unit is what a choice places together, and where it is placed.
type Unit struct {
	Policy  *model.Policy
	Name    string
	Targets []int // indexes into the model's
	Places  []Place
	Lost    []Loss

	state   *policyState
	hash    uint64           // of its names; 0 if it is not known yet
	had     []string         // what the decision has
	needs   []model.Quantity // by resource
	limited []int            // the resources that it needs some of
	shared  bool             // another unit, or a plain policy, has one of its targets
	matched []ruleMatch
}

// Place is a cluster type that a unit is on, as an index into the model's. Kept is false if it was chosen now.
type Place struct {
	ClusterType int
	Kept        bool
}

// Loss is a cluster type that a unit was on, and why it is not any more.
type Loss struct {
	ClusterType string
	Reason      LossReason
	// Taint is the one that is not tolerated, Resource the one that is short.
	Taint    model.Taint
	Resource string
}

// LossReason is why a unit is not on a cluster type any more.
type LossReason string

// The reasons.
const (
	LostGone        LossReason = "type gone"
	LostNotSelected LossReason = "not selected"
	LostTaint       LossReason = "taint"
	LostCapacity    LossReason = "capacity"
	LostAvoid       LossReason = "avoid"
	LostPick        LossReason = "pick lowered"
)

// String returns the reason in words, with its taint or resource.
func (l Loss) String() string {
	switch l.Reason {
	case LostTaint:
		return "taint " + l.Taint.Key
	case LostCapacity:
		return "capacity " + l.Resource
	}
	return string(l.Reason)
}

// IsShort reports whether a unit has fewer places than it should.
func (u *Unit) IsShort() bool { return len(u.Places) < u.Policy.Choice.Pick }

// IsWaiting reports whether a unit has no place because an external scheduler has not decided one.
func (u *Unit) IsWaiting() bool {
	return u.Policy.Choice.Decider.IsExternal() && len(u.had) == 0 && len(u.Places) == 0 && u.Policy.Choice.Pick != 0
}

// IsEmptied reports whether a unit had places and has none, and not on purpose.
func (u *Unit) IsEmptied() bool {
	return len(u.had) > 0 && len(u.Places) == 0 && u.Policy.Choice.Pick != 0
}

func (u *Unit) isOn(clusterType int) bool {
	return slices.ContainsFunc(u.Places, func(p Place) bool { return p.ClusterType == clusterType })
}

func (u *Unit) hasTarget(target int) bool {
	_, found := slices.BinarySearch(u.Targets, target)
	return found
}

func newUnits(s *policyState, targets Set, m *model.Model) []*Unit {
	byName := map[string]*Unit{}
	s.units = make(map[int]*Unit, targets.Len())
	var all []*Unit
	for i := range targets.All() {
		t := m.Targets[i]
		name := t.Name
		switch s.choice.Unit {
		case model.UnitWorkload:
			name = cmp.Or(t.Workload, t.Name)
		case model.UnitPolicy:
			name = s.policy.Name
		}
		u := byName[name]
		if u == nil {
			u = &Unit{Policy: s.policy, Name: name, state: s}
			byName[name] = u
			all = append(all, u)
		}
		u.Targets = append(u.Targets, i)
		s.units[i] = u
	}
	decided := m.DecisionOf(s.policy).Units
	for _, u := range all {
		u.had = decided[u.Name]
	}
	return all
}

func compareUnits(a, b *Unit) int {
	return cmp.Or(cmp.Compare(b.state.choice.Priority, a.state.choice.Priority), cmp.Compare(a.Policy.Name, b.Policy.Name), cmp.Compare(a.Name, b.Name))
}
