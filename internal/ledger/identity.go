package ledger

import "time"

// lateEvents is how long events about a recreated object may still arrive: tools retry for some
// seconds.
const lateEvents = time.Minute

// Identity tracks an object's uids, because events do not name their cluster. A replaced uid
// reappears only if two clusters have the object.
type Identity struct {
	UID string // "" if not reported
	// Other is the UID before Changed. If IsContested is set, another cluster has it.
	Other       string
	Changed     time.Time
	IsContested bool
}

type identity struct {
	Identity
	seen time.Time
}

type uidKind uint8

const (
	sameUID uidKind = iota
	newUID
	backUID // two clusters have the object; this uid was first
	rivalUID
)

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

// stranger is an object of another cluster; the zero stranger is none.
type stranger struct{ object, uid string }

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
