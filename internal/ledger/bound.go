package ledger

import (
	"maps"
	"slices"
	"time"
)

// Membership decides where clusters may count. It is immutable.
type Membership struct {
	bound  map[string][]string   // environments by cluster
	closed map[string]ClosedList // by environment
}

// ClosedList has the only clusters that count in an environment.
type ClosedList struct {
	Subject string            // "Kind/name"; "" if the list is not closed
	Types   map[string]string // by cluster name
}

// Excludes reports whether a closed list lacks a cluster.
func (l ClosedList) Excludes(cluster string) bool {
	_, isListed := l.Types[cluster]
	return l.Subject != "" && !isListed
}

// Excludes reports whether a cluster's key is bound elsewhere, or a closed list lacks it. ""
// excludes nothing.
func (m Membership) Excludes(cluster, environment string) bool {
	bound, isBound := m.bound[cluster]
	return environment != "" && (isBound && !slices.Contains(bound, environment) || m.closed[environment].Excludes(cluster))
}

// FindBound returns the environments of a cluster's key; nil for any.
func (m Membership) FindBound(cluster string) []string { return m.bound[cluster] }

// FindClosed returns the list of an environment; zero if any cluster may count.
func (m Membership) FindClosed(environment string) ClosedList { return m.closed[environment] }

// Membership returns the current membership.
func (l *Ledger) Membership() Membership { return l.roster.membership }

// SetMembership replaces the membership.
func (l *Ledger) SetMembership(m Membership) { l.roster.membership = m }

// WithBound returns a Membership with these environments of keys, by cluster.
func (m Membership) WithBound(environments map[string][]string) Membership {
	return Membership{maps.Clone(environments), m.closed}
}

// WithClosed returns a Membership with an environment's list; an open list removes it.
func (m Membership) WithClosed(environment string, list ClosedList) Membership {
	closed := map[string]ClosedList{}
	maps.Copy(closed, m.closed)
	closed[environment] = list
	if list.Subject == "" {
		delete(closed, environment)
	}
	return Membership{m.bound, closed}
}

func (m Membership) exclude(c Contact) (_ Contact, excluded string) {
	if m.Excludes(c.Name, c.Group.Environment) {
		excluded = c.Group.Environment
		c.Group, c.Platform, c.Others = Group{}, "", nil
	}
	return c, excluded
}

// RemoveExcluded removes clusters from environments that exclude them, and returns receipts.
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
		c.Group, c.Platform, c.Others, c.Claim, c.Digest = Group{}, "", nil, Group{}, "" // makes the agent report everything
		l.noteMove(before, c, now, &receipt)
		all = append(all, receipt)
	}
	return all
}
