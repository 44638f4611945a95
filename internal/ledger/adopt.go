package ledger

import (
	"maps"
	"time"
)

// SetAdopted has clusters take the place of others from now on that were built in their place: by name,
// when people have said so, or have renewed the key. The cluster before must not have been in touch
// since, and be silent; the one that takes its place must have the newest key.
func (l *Ledger) SetAdopted(times map[string]time.Time) { l.roster.adopted = maps.Clone(times) }

// isAdopted reports whether a cluster takes the place of another one by a contact under its name.
func (r *Roster) isAdopted(c Contact, known *Cluster) bool {
	return !c.OldKey && r.byUID[c.UID] == nil && known.isAway(c.Received) && r.adopted[c.Name].After(known.lastNamed())
}

// lastNamed returns when a cluster was last in touch by its uid, or else at all: events do not say of
// which of two clusters they are.
func (c *Cluster) lastNamed() time.Time {
	if c.AgentSeen.IsZero() {
		return c.LastSeen
	}
	return c.AgentSeen
}

// isAway reports whether a cluster was not in touch by its uid for three contacts.
func (c *Cluster) isAway(now time.Time) bool { return now.Sub(c.lastNamed()) > c.patience() }

// replace has a cluster of another uid take the place of one.
func (r *Roster) replace(known *Cluster, uid string) {
	delete(r.byUID, known.UID)
	r.byUID[uid] = known
	known.UID, known.Began = uid, known.LastSeen
	known.contest("", "", time.Time{})
	known.Boot, known.Sequence, known.Sent, known.AgentSeen, known.Digest = "", 0, time.Time{}, time.Time{}, ""
}

// contest notes that another cluster was in touch under the same name.
func (c *Cluster) contest(uid, object string, at time.Time) {
	c.Rival, c.RivalObject, c.RivalSeen = uid, object, at
}

// Contest is what is known of two clusters that report under one name.
type Contest struct {
	// UID is that of the cluster which has the name, and Rival that of the other one; or, if they report
	// by events, those of Object.
	UID, Rival string
	Object     string
	// IsAdoptable is set if the cluster that has the name is silent, so that the other one can take its
	// place.
	IsAdoptable bool
}

// findContest returns what is known of two clusters under one name; nil if there is one.
func (l *Ledger) findContest(c *Cluster, now time.Time) *Contest {
	if !c.IsContested(now) {
		return nil
	}
	found := Contest{UID: c.UID, Rival: c.Rival, Object: c.RivalObject, IsAdoptable: c.RivalObject == "" && c.isAway(now)}
	known := l.book.find(Object{c.ID, c.RivalObject})
	if told := l.book.identities[known]; told != nil {
		found.UID = told.UID
	}
	return &found
}
