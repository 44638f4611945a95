package status

import (
	"slices"

	"github.com/fairlead-io/fairlead/internal/reconcile/stackview"
)

// maxReportedPlans limits the current plans, in total and by cluster.
const maxReportedPlans, maxPlansOfCluster = 1024, 64

// maxPastPlans limits the replaced or unwanted plans in the same way.
const maxPastPlans, maxPastPlansOfCluster = 256, 16

// AddPlan keeps a cluster's plan in place of the object's previous one, or returns false if no
// known component makes it from these inputs.
func (s *Store) AddPlan(p stackview.ReportedPlan) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.reported[p.PlanKey]
	switch {
	case !s.listInputs()[inputsOf(p)]:
		return false
	case last.ID == p.ID && (p.Costs == nil || slices.Equal(p.Costs, last.Costs)): // unchanged
		return true
	}
	s.putPlan(p)
	s.announceChange()
	return true
}

// RestorePlans adds stored plans, oldest first, and reports whether one was unknown. Until a cycle has ended, which of
// them are wanted is not known.
func (s *Store) RestorePlans(all []stackview.ReportedPlan) (changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range all {
		last := s.reported[p.PlanKey]
		if last.ID == p.ID && slices.Equal(p.Costs, last.Costs) || last.When.After(p.When) || slices.ContainsFunc(s.pastPlans, func(past stackview.ReportedPlan) bool { return past.ID == p.ID }) {
			continue
		}
		s.putPlan(p)
		changed = true
		if s.restored == nil {
			s.restored = map[string]bool{}
		}
		s.restored[p.ID] = s.cycle.Outcome == ""
	}
	if changed {
		s.announceChange()
	}
	return changed
}

// putPlan requires the lock.
func (s *Store) putPlan(p stackview.ReportedPlan) {
	s.pastPlans = slices.DeleteFunc(slices.Clone(s.pastPlans), func(past stackview.ReportedPlan) bool { return past.ID == p.ID })
	kept := s.retainPlans()
	if before, had := kept[p.PlanKey]; had && before.ID != p.ID {
		s.addPastPlan(before)
	}
	delete(kept, p.PlanKey)
	dropOldest(kept, maxPlansOfCluster, func(k stackview.PlanKey) bool { return k.Cluster == p.Cluster })
	dropOldest(kept, maxReportedPlans, func(stackview.PlanKey) bool { return true })
	kept[p.PlanKey] = p
	s.reported = kept
}

// FindPlans returns the plans of a Terraform object that clusters sent, current and past, oldest first.
func (s *Store) FindPlans(namespace, object string) (all []stackview.ReportedPlan) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	isOf := func(p stackview.ReportedPlan) bool { return p.Namespace == namespace && p.Object == object }
	for _, p := range s.pastPlans {
		if isOf(p) {
			all = append(all, p)
		}
	}
	for _, p := range s.reported {
		if isOf(p) {
			all = append(all, p)
		}
	}
	slices.SortStableFunc(all, func(a, b stackview.ReportedPlan) int { return a.When.Compare(b.When) })
	return all
}

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

type planInputs struct{ namespace, object, plan, inputs string }

func inputsOf(p stackview.ReportedPlan) planInputs {
	return planInputs{p.Namespace, p.Object, p.Plan, p.Inputs}
}

// listInputs returns the wanted plans with their inputs. The caller holds the lock.
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

// retainPlans copies the plans, and moves unwanted ones to the past plans. The caller holds the
// lock.
func (s *Store) retainPlans() map[stackview.PlanKey]stackview.ReportedPlan {
	kept, wanted := map[stackview.PlanKey]stackview.ReportedPlan{}, s.listInputs()
	past := []stackview.ReportedPlan{}
	for key, p := range s.reported {
		if wanted[inputsOf(p)] || s.restored[p.ID] && s.cycle.Outcome == "" {
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

// addPastPlan requires the lock.
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
