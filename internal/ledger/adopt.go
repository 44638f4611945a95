package ledger

import (
	"maps"
	"time"
)

// SetAdopted sets when people let a new cluster, with the newest key, replace a silent one of the
// same name.
func (l *Ledger) SetAdopted(times map[string]time.Time) { l.roster.adopted = maps.Clone(times) }

func (r *Roster) isAdopted(c Contact, known *Cluster) bool {
	return !c.OldKey && r.byUID[c.UID] == nil && known.isAway(c.Received) && r.adopted[c.Name].After(known.lastNamed())
}

// lastNamed prefers contacts with a uid: events do not tell which of two clusters sent them.
func (c *Cluster) lastNamed() time.Time {
	if c.AgentSeen.IsZero() {
		return c.LastSeen
	}
	return c.AgentSeen
}

func (c *Cluster) isAway(now time.Time) bool { return now.Sub(c.lastNamed()) > c.patience() }

func (r *Roster) replace(known *Cluster, uid string) {
	delete(r.byUID, known.UID)
	r.byUID[uid] = known
	known.UID, known.Began = uid, known.LastSeen
	known.contest("", "", time.Time{})
	known.Boot, known.Sequence, known.Sent, known.AgentSeen, known.Digest = "", 0, time.Time{}, time.Time{}, ""
}

func (c *Cluster) contest(uid, object string, at time.Time) {
	c.Rival, c.RivalObject, c.RivalSeen = uid, object, at
}

// Contest describes two clusters that report under one name.
type Contest struct {
	// UID is the owner of the name, and Rival the other cluster; with events, they are uids of
	// Object.
	UID, Rival string
	Object     string
	// IsAdoptable is set if the owner is silent.
	IsAdoptable bool
}

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
