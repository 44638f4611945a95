package ledger

import (
	"maps"
	"time"
)

// Retirement decides which clusters are no longer expected.
type Retirement struct {
	// After is the silence that retires a cluster; 0 for never.
	After time.Duration
	// Times has when people retired clusters, by name. They stay retired, whatever they report.
	Times map[string]time.Time
	// Resumed is the first contact after a fleet-wide outage. Silence counts from it.
	Resumed time.Time
}

// outage is a silence of all clusters that is not the clusters' fault.
const outage = time.Hour

func (r Retirement) isRetired(c *Cluster, now time.Time) bool {
	_, named := r.Times[c.Name()]
	silent := now.Sub(c.LastSeen)
	if r.Resumed.After(c.LastSeen) {
		silent = now.Sub(r.Resumed)
	}
	return r.After > 0 && silent > r.After || named
}

func (l *Ledger) noteContact(at time.Time) {
	if !l.heard.IsZero() && at.Sub(l.heard) > outage {
		l.retirement.Resumed = at
	}
	if at.After(l.heard) {
		l.heard = at
	}
}

// Resumed returns the first contact after an outage: see [Retirement].
func (l *Ledger) Resumed() time.Time { return l.retirement.Resumed }

// SetRetirement replaces the retirement. The later of both Resumed times stays.
func (l *Ledger) SetRetirement(r Retirement) {
	if l.retirement.Resumed.After(r.Resumed) {
		r.Resumed = l.retirement.Resumed
	}
	r.Times = maps.Clone(r.Times)
	l.retirement = r
}

// IsRetiredByName reports whether people retired a cluster: its reports do not count.
func (l *Ledger) IsRetiredByName(c *Cluster) bool {
	_, named := l.retirement.Times[c.Name()]
	return named
}

// IsRetired reports whether a cluster is no longer expected.
func (l *Ledger) IsRetired(c *Cluster, now time.Time) bool { return l.retirement.isRetired(c, now) }

// CloseRetired removes the objects of retired clusters, ends their spans at the last contact, and
// returns receipts.
func (l *Ledger) CloseRetired(now time.Time) (all []Receipt) {
	for _, c := range l.roster.clusters {
		retired, named := l.retirement.Times[c.Name()]
		if l.book.countObjects(c.ID) == 0 || !l.IsRetired(c, now) || named && c.LastSeen.After(retired) {
			continue
		}
		receipt := Receipt{Cluster: c.ID}
		l.removeNamed(l.book.names(c.ID), c, Contact{Received: c.LastSeen}, &receipt)
		c.Digest = ""
		all = append(all, receipt)
	}
	return all
}
