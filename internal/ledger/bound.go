package ledger

import (
	"maps"
	"slices"
	"time"
)

// Membership has the environments that clusters may count in, by what people have written about them. It does not change.
type Membership struct {
	bound  map[string][]string   // the environments of keys, by cluster
	closed map[string]ClosedList // by environment
}

// ClosedList is a list of the only clusters that count in an environment.
type ClosedList struct {
	Subject string            // the object, as "Kind/name"; "" if no list is closed
	Types   map[string]string // the types of the clusters, by name
}

// Excludes reports whether a cluster does not count because the list is closed and does not name it.
func (l ClosedList) Excludes(cluster string) bool {
	_, isListed := l.Types[cluster]
	return l.Subject != "" && !isListed
}

// Excludes reports whether a cluster does not count in an environment: its key is bound to others, or a closed list does not
// name it. None is excluded from "".
func (m Membership) Excludes(cluster, environment string) bool {
	bound, isBound := m.bound[cluster]
	return environment != "" && (isBound && !slices.Contains(bound, environment) || m.closed[environment].Excludes(cluster))
}

// FindBound returns the environments that the key of a cluster is bound to; nil for any.
func (m Membership) FindBound(cluster string) []string { return m.bound[cluster] }

// FindClosed returns the closed list of an environment; the zero one if any cluster may count.
func (m Membership) FindClosed(environment string) ClosedList { return m.closed[environment] }

// Membership returns the environments that clusters may count in now.
func (l *Ledger) Membership() Membership { return l.roster.membership }

// SetMembership decides which environments clusters may count in from now on.
func (l *Ledger) SetMembership(m Membership) { l.roster.membership = m }

// WithBound returns a Membership in which these clusters, by name, belong to no other environments than these.
func (m Membership) WithBound(environments map[string][]string) Membership {
	return Membership{maps.Clone(environments), m.closed}
}

// WithClosed returns a Membership in which only the clusters of a list count in an environment; any, if the list is not closed.
func (m Membership) WithClosed(environment string, list ClosedList) Membership {
	closed := map[string]ClosedList{}
	maps.Copy(closed, m.closed)
	closed[environment] = list
	if list.Subject == "" {
		delete(closed, environment)
	}
	return Membership{m.bound, closed}
}

// exclude returns a contact without a place that its cluster is excluded from, and that place.
func (m Membership) exclude(c Contact) (_ Contact, excluded string) {
	if m.Excludes(c.Name, c.Group.Environment) {
		excluded = c.Group.Environment
		c.Group, c.Platform, c.Others = Group{}, "", nil
	}
	return c, excluded
}

// RemoveExcluded has clusters belong nowhere that belong to an environment which they are excluded from, and returns a
// receipt for each.
func (l *Ledger) RemoveExcluded(now time.Time) (all []Receipt) {
	for _, c := range l.roster.clusters {
		if !l.roster.membership.Excludes(c.Name(), c.Excluded) {
			c.Excluded = ""
		}
		if !l.roster.membership.Excludes(c.Name(), c.Group.Environment) {
			continue
		}
		before, receipt := *c, Receipt{Cluster: c.ID}
		c.Excluded = c.Group.Environment
		c.Group, c.Platform, c.Others, c.Claim, c.Digest = Group{}, "", nil, Group{}, "" // an agent reports everything
		l.noteMove(before, c, now, &receipt)
		all = append(all, receipt)
	}
	return all
}
