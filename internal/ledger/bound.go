package ledger

import (
	"maps"
	"slices"
	"time"
)

// SetBound has clusters, by name, belong to no other environment than these from now on: their keys are bound to them. The
// others may belong to any.
func (l *Ledger) SetBound(environments map[string][]string) {
	l.roster.bound = maps.Clone(environments)
}

// isBoundElsewhere reports whether the key of a cluster is bound, and not to an environment.
func (r *Roster) isBoundElsewhere(name, environment string) bool {
	bound, has := r.bound[name]
	return has && environment != "" && !slices.Contains(bound, environment)
}

// bind returns a contact without a place that the key is not bound to.
func (r *Roster) bind(c Contact) Contact {
	if r.isBoundElsewhere(c.Name, c.Group.Environment) {
		c.Group, c.Platform, c.Others = Group{}, "", nil
	}
	return c
}

// RemoveUnbound has clusters belong nowhere that belong to an environment which their keys are not bound to, and returns a
// receipt for each.
func (l *Ledger) RemoveUnbound(now time.Time) (all []Receipt) {
	for _, c := range l.roster.clusters {
		if !l.roster.isBoundElsewhere(c.Name(), c.Group.Environment) {
			continue
		}
		before, receipt := *c, Receipt{Cluster: c.ID}
		c.Group, c.Platform, c.Others, c.Claim, c.Digest = Group{}, "", nil, Group{}, "" // an agent reports everything
		l.noteMove(before, c, now, &receipt)
		all = append(all, receipt)
	}
	return all
}
