package ledger

import (
	"maps"
	"time"
)

// Retirement is which clusters are no longer expected.
type Retirement struct {
	// After is for how long a cluster is silent that is no longer expected; 0 for ever.
	After time.Duration
	// Times are when people have retired clusters, by name. These stay retired, whatever they report.
	Times map[string]time.Time
	// Resumed is when a cluster was in touch after none was for a while: it was not the clusters that
	// were away before, so that none counts as silent for longer.
	Resumed time.Time
}

// outage is for how long no cluster at all is in touch when it is not they that are away.
const outage = time.Hour

// isRetired reports whether a cluster is no longer expected.
func (r Retirement) isRetired(c *Cluster, now time.Time) bool {
	_, named := r.Times[c.Name()]
	silent := now.Sub(c.LastSeen)
	if r.Resumed.After(c.LastSeen) {
		silent = now.Sub(r.Resumed)
	}
	return r.After > 0 && silent > r.After || named
}

// noteContact notes that a cluster is in touch.
func (l *Ledger) noteContact(at time.Time) {
	if !l.heard.IsZero() && at.Sub(l.heard) > outage {
		l.retirement.Resumed = at
	}
	if at.After(l.heard) {
		l.heard = at
	}
}

// Resumed returns when a cluster was in touch after an outage: see [Retirement].
func (l *Ledger) Resumed() time.Time { return l.retirement.Resumed }

// SetRetirement has clusters expected as it says from now on. Of two times at which clusters were in touch
// again, the later counts.
func (l *Ledger) SetRetirement(r Retirement) {
	if l.retirement.Resumed.After(r.Resumed) {
		r.Resumed = l.retirement.Resumed
	}
	r.Times = maps.Clone(r.Times)
	l.retirement = r
}

// IsRetiredByName reports whether people have retired a cluster: nothing that it reports counts.
func (l *Ledger) IsRetiredByName(c *Cluster) bool {
	_, named := l.retirement.Times[c.Name()]
	return named
}

// IsRetired reports whether a cluster is no longer expected.
func (l *Ledger) IsRetired(c *Cluster, now time.Time) bool { return l.retirement.isRetired(c, now) }

// CloseRetired removes the objects of clusters that are retired, and ends their spans where the cluster
// was last in touch. What the cluster reports later begins again. A receipt is of one cluster.
func (l *Ledger) CloseRetired(now time.Time) (all []Receipt) {
	for _, c := range l.roster.clusters {
		retired, named := l.retirement.Times[c.Name()]
		if l.book.countObjects(c.ID) == 0 || !l.IsRetired(c, now) || named && c.LastSeen.After(retired) {
			continue
		}
		receipt := Receipt{Cluster: c.ID}
		l.removeNamed(l.book.names(c.ID), c, Contact{Received: c.LastSeen}, &receipt)
		c.Digest = "" // an agent has to report everything
		all = append(all, receipt)
	}
	return all
}
