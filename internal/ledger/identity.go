package ledger

import "time"

// lateEvents is for how long after an object was made anew events may arrive that are about the one
// before: tools try for some seconds to send one.
const lateEvents = time.Minute

// Identity is what the uids of an object tell of the clusters that report it by events, which do not name
// their cluster. A uid that another one has replaced comes back only if two clusters have the object; one
// that is new may be that of the same object, made anew.
type Identity struct {
	UID string // "" if none was reported
	// Other is the uid that was reported before UID, and Changed when UID took its place. If
	// IsContested is set, another cluster has the object with the uid Other.
	Other       string
	Changed     time.Time
	IsContested bool
}

// identity is an Identity, and when its UID was last reported.
type identity struct {
	Identity
	seen time.Time
}

// uidKind is what a uid tells of an object.
type uidKind uint8

const (
	sameUID  uidKind = iota // it is that of the object
	newUID                  // the object was made anew
	backUID                 // two clusters have the object; this uid was the first one
	rivalUID                // another cluster has the object
)

// judge returns what a uid tells that is reported of an object of a cluster.
func (i *identity) judge(uid string, of *Cluster, now time.Time) uidKind {
	if i == nil {
		return newUID
	}
	changed := now.Sub(i.Changed)
	switch {
	case uid == i.UID:
		return sameUID
	case uid != i.Other:
		return newUID
	case i.IsContested && now.Sub(i.seen) <= of.patience():
		return rivalUID
	case !i.IsContested && changed < lateEvents:
		return sameUID
	case !i.IsContested && changed <= of.patience():
		return backUID
	}
	return newUID
}

// stranger is an object that another cluster has. The zero stranger is none.
type stranger struct{ object, uid string }

// findStranger returns an object among those that a contact by events reports which another cluster has.
func (l *Ledger) findStranger(cluster *Cluster, c Contact, reports []Report) stranger {
	if cluster == nil || c.UID != "" || c.Unproven {
		return stranger{}
	}
	for _, r := range reports {
		known := l.book.find(Object{cluster.ID, r.Object.Name})
		if known != nil && r.UID != "" && l.book.identities[known].judge(r.UID, cluster, c.Received) == rivalUID {
			return stranger{r.Object.Name, r.UID}
		}
	}
	return stranger{}
}

// identify takes in the uid of an object in a contact by events, and reports whether it is another one
// than before.
func (b *Book) identify(known *record, r Report, cluster *Cluster, c Contact) (changed bool) {
	if c.UID != "" || c.Unproven || r.UID == "" {
		return false
	}
	told := b.identities[known]
	kind := told.judge(r.UID, cluster, c.Received)
	if told == nil {
		told = &identity{}
		b.identities[known] = told
	}
	if kind != sameUID {
		told.Identity = Identity{UID: r.UID, Other: told.UID, Changed: c.Received, IsContested: kind == backUID}
	}
	if kind == backUID {
		cluster.contest(told.Other, r.Object.Name, c.Received)
	}
	told.seen = c.Received
	return kind != sameUID
}
