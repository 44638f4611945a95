package status

import (
	"slices"

	"github.com/fairlead-io/fairlead/internal/reconcile/stackview"
)

// maxReportedPlans and maxPlansOfCluster bound how many plans are kept: of all clusters, and of one.
const maxReportedPlans, maxPlansOfCluster = 1024, 64

// maxPastPlans and maxPastPlansOfCluster bound in the same way the plans that another one has taken the place of, or
// that the output has no more.
const maxPastPlans, maxPastPlansOfCluster = 256, 16

// AddPlan keeps a plan that a cluster has sent, in place of the one that it has sent of the same object before.
// It reports false if no component makes this plan from these inputs, as far as it is known: then nothing is
// kept. Plans are not kept by any other process: clusters send them again.
func (s *Store) AddPlan(p stackview.ReportedPlan) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.reported[p.PlanKey]
	switch {
	case !s.listInputs()[inputsOf(p)]:
		return false
	case last.ID == p.ID: // it says the same
		return true
	}
	s.pastPlans = slices.DeleteFunc(slices.Clone(s.pastPlans), func(past stackview.ReportedPlan) bool { return past.ID == p.ID })
	kept := s.retainPlans()
	if before, had := kept[p.PlanKey]; had {
		s.addPastPlan(before)
	}
	delete(kept, p.PlanKey)
	dropOldest(kept, maxPlansOfCluster, func(k stackview.PlanKey) bool { return k.Cluster == p.Cluster })
	dropOldest(kept, maxReportedPlans, func(stackview.PlanKey) bool { return true })
	kept[p.PlanKey] = p
	s.reported = kept
	s.announceChange()
	return true
}

// dropOldest makes room for one more plan among those that are counted together.
func dropOldest(plans map[stackview.PlanKey]stackview.ReportedPlan, limit int, counts func(stackview.PlanKey) bool) {
	n, oldest := 0, stackview.ReportedPlan{}
	for key, p := range plans {
		if !counts(key) {
			continue
		}
		n++
		if oldest.ID == "" || p.When.Before(oldest.When) {
			oldest = p
		}
	}
	if n >= limit {
		delete(plans, oldest.PlanKey)
	}
}

// planInputs are the inputs of a plan of an object.
type planInputs struct{ namespace, object, plan, inputs string }

func inputsOf(p stackview.ReportedPlan) planInputs {
	return planInputs{p.Namespace, p.Object, p.Plan, p.Inputs}
}

// listInputs returns the objects of all components that clusters have, with the inputs of their plans. The caller
// holds the lock.
func (s *Store) listInputs() map[planInputs]bool {
	all := map[planInputs]bool{}
	for _, stacks := range s.stacks {
		for _, k := range stacks {
			for _, c := range k.Components {
				if k.Merged && c.Inputs != "" {
					all[planInputs{k.Namespace, c.Object, c.Plan, c.Inputs}] = true
				}
			}
		}
	}
	return all
}

// retainPlans returns a copy of the plans, without those of what components have no more: these are past. The caller
// holds the lock.
func (s *Store) retainPlans() map[stackview.PlanKey]stackview.ReportedPlan {
	kept, wanted := map[stackview.PlanKey]stackview.ReportedPlan{}, s.listInputs()
	past := []stackview.ReportedPlan{}
	for key, p := range s.reported {
		if wanted[inputsOf(p)] {
			kept[key] = p
		} else {
			past = append(past, p)
		}
	}
	slices.SortFunc(past, func(a, b stackview.ReportedPlan) int { return a.When.Compare(b.When) })
	for _, p := range past {
		s.addPastPlan(p)
	}
	return kept
}

// addPastPlan adds a plan to those of before, and drops the oldest ones. The caller holds the lock.
func (s *Store) addPastPlan(p stackview.ReportedPlan) {
	ofCluster, all := 1, append(slices.Clone(s.pastPlans), p)
	for i := len(all) - 2; i >= 0; i-- {
		if all[i].Cluster != p.Cluster {
			continue
		}
		ofCluster++
		if ofCluster > maxPastPlansOfCluster {
			all = slices.Delete(all, i, i+1)
		}
	}
	s.pastPlans = all[max(0, len(all)-maxPastPlans):]
}
