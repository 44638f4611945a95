package answer

import (
	"github.com/fairlead-io/fairlead/internal/change/impact"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// ProposedRemoval says that assignments go with a change that is not merged yet. Until then they are there.
type ProposedRemoval struct {
	Environment string `json:"environment"`
	// Pull is the pull request of the change; nil if there is none yet.
	Pull *status.Pull `json:"pull,omitempty"`
	// Assignments counts them.
	Assignments int `json:"assignments"`
}

// listTouched returns the assignments that differ in what is proposed for an environment; none if nothing is.
func listTouched(e status.Environment) []impact.TouchedAssignment {
	if e.State == status.InSync || e.Proposed == nil {
		return nil
	}
	return e.Proposed.Touched
}

// listRemovals returns the assignments of an environment that are there until a change is merged.
func (s Source) listRemovals(environment string) (all []assignment) {
	e, _ := s.Snapshot.FindEnvironment(environment)
	for _, t := range listTouched(e) {
		if t.Removed {
			all = append(all, s.newRemoved(e, t.ClusterType, t.Target))
		}
	}
	return all
}

// newRemoved returns an assignment that a proposed change removes, with what is known of its cluster type and
// its target: they may be gone from what people wrote.
func (s Source) newRemoved(e status.Environment, clusterType, target string) assignment {
	a := assignment{
		environment: e.Name, rank: noRank, removal: &ProposedRemoval{e.Name, e.Pull, 1},
		clusterType: &model.ClusterType{Object: model.Object{Kind: "ClusterType", Name: clusterType}}, target: &model.Target{Object: model.Object{Kind: "DeploymentTarget", Name: target}},
	}
	hasType, hasTarget := false, false
	for _, name := range append([]string{e.Name}, s.Names()...) { // others may still have them
		plan := s.Snapshot.Plans[name]
		if plan == nil {
			continue
		}
		m := plan.Model()
		if i, found := model.IndexOf(m.ClusterTypes, clusterType); found && !hasType {
			a.clusterType, hasType = m.ClusterTypes[i], true
		}
		if j, found := model.IndexOf(m.Targets, target); found && !hasTarget {
			a.target, hasTarget = m.Targets[j], true
		}
	}
	return a
}

func (s Source) findRemoval(environment, clusterType, target string) (assignment, bool) {
	e, _ := s.Snapshot.FindEnvironment(environment)
	for _, t := range listTouched(e) {
		if t.Removed && t.ClusterType == clusterType && t.Target == target {
			return s.newRemoved(e, clusterType, target), true
		}
	}
	return assignment{}, false
}
