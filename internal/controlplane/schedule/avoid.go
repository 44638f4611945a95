package schedule

import "github.com/fairlead-io/fairlead/internal/controlplane/model"

// avoidRule is an avoidance of a policy: its units, the holders, are not in one domain with targets of others that
// match. It works in both directions.
type avoidRule struct {
	matching Set // of the targets
	domains  domains
	matchers []map[int]bool   // by domain: the matching targets that are there
	holders  []map[*Unit]bool // by domain
}

type ruleMatch struct {
	rule    *avoidRule
	targets []int
}

// matchRules makes the rules of all policies, and finds the units that they match. What plain policies assign is
// there from the beginning.
func (d *decider) matchRules(plain []Set) {
	for _, s := range d.policies {
		if s == nil {
			continue
		}
		for _, a := range s.choice.Avoid {
			r := d.newRule(a)
			s.rules, d.rules = append(s.rules, r), append(d.rules, r)
			for i, row := range plain {
				there := NewSet(len(d.model.Targets))
				copy(there, row)
				there.Intersect(r.matching)
				for t := range there.All() {
					r.matchers[r.domains.of[i]][t] = true
				}
			}
		}
	}
	for _, r := range d.rules {
		for _, u := range d.units {
			var targets []int
			for _, t := range u.Targets {
				if r.matching.Has(t) {
					targets = append(targets, t)
				}
			}
			if targets != nil {
				u.matched = append(u.matched, ruleMatch{r, targets})
			}
		}
	}
}

func (d *decider) newRule(a model.Avoidance) *avoidRule {
	label := a.By
	r := &avoidRule{matching: NewSet(len(d.model.Targets)), domains: newDomains(d.model.ClusterTypes, label, true)}
	if label == "" {
		for i := range r.domains.of {
			r.domains.of[i] = i
		}
		r.domains.count = len(r.domains.of)
	}
	for i, t := range d.model.Targets {
		if a.Targets.Matches(t.Labels) {
			r.matching.Add(i)
		}
	}
	r.matchers, r.holders = make([]map[int]bool, r.domains.count), make([]map[*Unit]bool, r.domains.count)
	for i := range r.matchers {
		r.matchers[i], r.holders[i] = map[int]bool{}, map[*Unit]bool{}
	}
	return r
}

func (d *decider) isAvoided(u *Unit, clusterType int) bool {
	for _, r := range u.state.rules {
		others := r.matchers[r.domains.of[clusterType]]
		own := 0
		for _, t := range u.Targets {
			if others[t] {
				own++
			}
			if own == len(others) {
				break
			}
		}
		if len(others) > own {
			return true
		}
	}
	for _, m := range u.matched {
		for holder := range m.rule.holders[m.rule.domains.of[clusterType]] {
			if holder != u && !holder.hasAll(m.targets) {
				return true
			}
		}
	}
	return false
}

func (u *Unit) hasAll(targets []int) bool {
	for _, t := range targets {
		if !u.hasTarget(t) {
			return false
		}
	}
	return true
}

func (d *decider) noteAvoidance(u *Unit, clusterType int) {
	for _, r := range u.state.rules {
		r.holders[r.domains.of[clusterType]][u] = true
	}
	for _, m := range u.matched {
		for _, t := range m.targets {
			m.rule.matchers[m.rule.domains.of[clusterType]][t] = true
		}
	}
}
