package ledger

import (
	"iter"
	"slices"
	"strings"
	"time"
)

// Ledger has the state of all clusters and objects. It returns changes of histories as writes.
type Ledger struct {
	roster     Roster
	book       *Book
	retirement Retirement
	heard      time.Time
}

// MaxObjects limits the objects of one cluster.
const MaxObjects = 4096

// New returns a Ledger for at most limit objects.
func New(limit int) *Ledger { return &Ledger{book: NewBook(limit)} }

// Receipt is the result of a contact and its reports.
type Receipt struct {
	Admission Admission
	// Cluster is the ID of the name's owner, even if another cluster sent the contact.
	Cluster string
	Writes  []SpanWrite
	// Late has spans to insert with PutBetween after Writes.
	Late []LateSpan
	// Removed has objects that are gone. Their last spans have ended.
	Removed []Object
	// WantsEverything is set if the agent must report all objects, because these reports did not
	// count.
	WantsEverything bool
	Identified      []Object
	// Confirmed has unchanged objects. The time must be stored: earlier states that arrive later go
	// before it.
	Confirmed []Object
	// Refused counts reports of new objects without room.
	Refused int
	// UID is that of the name's owner; "" if unknown.
	UID string
}

// Receive applies a contact and its reports.
func (l *Ledger) Receive(c Contact, reports []Report) Receipt {
	asked := c.Group.Environment
	c, excluded := l.roster.membership.exclude(c)
	named, heard := l.roster.Find(c.Name), l.roster.findAgentSeen(c)
	var before Cluster
	if named != nil {
		before = *named
	}
	cluster, admission := l.roster.Admit(c, l.findStranger(named, c, reports))
	receipt := Receipt{Admission: admission, Cluster: cluster.ID, UID: cluster.UID}
	if admission != Admitted {
		return receipt
	}
	l.noteContact(c.Received)
	if asked != "" {
		cluster.Excluded = excluded
	}
	l.removeForeign(before, cluster, c, &receipt)
	l.noteMove(before, cluster, c.Received, &receipt)
	if c.Scope == Nothing && c.Digest != cluster.Digest || c.Scope == Changes && c.Base != cluster.Digest || cluster.isReplaced(c, reports) {
		receipt.WantsEverything = true
		return receipt
	}
	reports = append(slices.Clone(reports), l.findUnread(cluster, c)...)
	changed, unheard := false, cluster.findGap(heard, c, reports)
	for _, r := range reports {
		r.Object.Cluster, r.Group = cluster.ID, cluster.Group
		done, known := l.fold(r, cluster)
		if done.Refused {
			receipt.Refused++
		}
		late, isLate := cluster.lateSpan(r, c.Received, done.Before, unheard)
		if isLate {
			receipt.Late = append(receipt.Late, late)
		}
		if done.Newer && !done.Changed && !r.Until.IsZero() {
			receipt.Confirmed = append(receipt.Confirmed, r.Object)
		}
		if done.Changed {
			if !changed {
				changed, receipt.Writes = true, slices.Grow(receipt.Writes, 2*len(reports))
			}
			receipt.Writes = known.change(receipt.Writes, r.Object, known.state(), spanStart(r.Said, c.Received, cluster.Began), unheard)
		}
		if !done.Changed && done.Named {
			receipt.Writes = known.rename(receipt.Writes, r.Object)
		}
		if known != nil && l.book.identify(known, r, cluster, c) {
			receipt.Identified = append(receipt.Identified, r.Object)
		}
	}
	l.removeObjects(cluster, c, reports, &receipt)
	switch {
	case c.Scope != Some:
		cluster.Digest = c.Digest
	case changed: // no digest includes the event
		cluster.Digest = ""
	}
	return receipt
}

// removeForeign removes objects that may be another cluster's. before is the cluster before the
// contact.
func (l *Ledger) removeForeign(before Cluster, cluster *Cluster, c Contact, receipt *Receipt) {
	switch {
	case before.UID != "" && before.UID != cluster.UID:
		l.removeNamed(l.book.names(cluster.ID), cluster, Contact{Received: before.LastSeen}, receipt)
	case before.Unproven && !cluster.Unproven: // others may have reported under its name
		l.removeNamed(l.book.names(cluster.ID), cluster, c, receipt)
	}
}

func (l *Ledger) removeObjects(cluster *Cluster, c Contact, reports []Report, receipt *Receipt) {
	gone := c.Gone
	if c.Scope == Everything {
		gone = l.findMissing(cluster, c, reports)
	}
	l.removeNamed(gone, cluster, c, receipt)
}

func (l *Ledger) removeNamed(names []string, cluster *Cluster, c Contact, receipt *Receipt) {
	for _, name := range names {
		o := Object{cluster.ID, name}
		known := l.book.remove(o)
		if known == nil {
			continue
		}
		receipt.Removed = append(receipt.Removed, o)
		if known.open.since > 0 {
			until := max(unixSeconds(c.Received), known.open.since)
			receipt.Writes = append(receipt.Writes, SpanWrite{o, EndSpan, Span{Since: timeOf(known.open.since), Until: timeOf(until)}})
		}
	}
}

func (l *Ledger) findUnread(cluster *Cluster, c Contact) []Report {
	if len(c.Unread) == 0 {
		return nil
	}
	var all []Report
	for _, name := range l.book.names(cluster.ID) {
		kind, _, _ := strings.Cut(name, "/")
		if slices.Contains(c.Unread, kind) {
			all = append(all, Report{Object: Object{Name: name}, Phase: Unknown, Level: true, Said: c.Sent})
		}
	}
	return all
}

func (l *Ledger) findMissing(cluster *Cluster, c Contact, reports []Report) []string {
	found := make(map[string]bool, len(reports))
	for _, r := range reports {
		found[r.Object.Name] = true
	}
	var missing []string
	for _, name := range l.book.names(cluster.ID) {
		if !found[name] {
			missing = append(missing, name)
		}
	}
	return missing
}

// fold limits the objects of a proven cluster. The whole fleet may report under one name with the
// shared credential.
func (l *Ledger) fold(r Report, of *Cluster) (Outcome, *record) {
	if !of.Unproven && l.book.countObjects(r.Object.Cluster) >= MaxObjects {
		if _, known := l.book.Find(r.Object); !known {
			return Outcome{Refused: true}, nil
		}
	}
	return l.book.fold(r)
}

// findGap returns the time before an agent's contact without reports. It is empty for events.
func (c *Cluster) findGap(heard time.Time, by Contact, reports []Report) gap {
	switch {
	case !by.AgentSeen.IsZero():
		heard = by.AgentSeen
	case by.Boot == "":
		return gap{}
	}
	var newest time.Time
	for _, r := range reports {
		if r.Said.After(newest) {
			newest = r.Said
		}
	}
	return gap{heard, newest.Add(-c.patience())}
}

// spanStart clamps a reported start between the cluster's beginning and the receipt.
func spanStart(said, received, began time.Time) time.Time {
	switch {
	case said.After(received):
		return received
	case said.Before(began):
		return began
	}
	return said
}

// Clusters returns all clusters by first contact.
func (l *Ledger) Clusters() []*Cluster { return l.roster.All() }

// All returns every object with its state, unordered.
func (l *Ledger) All() iter.Seq2[Object, State] { return l.book.All() }

// CountObjects returns the number of objects.
func (l *Ledger) CountObjects() int { return l.book.Len() }

// FindCluster returns the cluster that has or had a name; nil if none.
func (l *Ledger) FindCluster(name string) *Cluster { return l.roster.Find(name) }

// Find returns the state of an object, and false if unknown.
func (l *Ledger) Find(o Object) (State, bool) { return l.book.Find(o) }

// CountObjectsOf returns the number of objects of a cluster.
func (l *Ledger) CountObjectsOf(id string) int { return l.book.countObjects(id) }
