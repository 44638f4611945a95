package ledger

import (
	"iter"
	"slices"
	"strings"
	"time"
)

// Ledger has what is known of all clusters and their objects. What becomes of their histories is
// returned as writes, for a store.
type Ledger struct {
	roster     Roster
	book       *Book
	retirement Retirement
	heard      time.Time // when a cluster was last in touch
}

// MaxObjects is how many objects of one cluster are known at most.
const MaxObjects = 4096

// New returns a Ledger that knows at most so many objects.
func New(limit int) *Ledger { return &Ledger{book: NewBook(limit)} }

// Receipt is what has become of a contact and its reports.
type Receipt struct {
	Admission Admission
	// Cluster is the ID of the cluster that has the name, whether the contact is of it or not.
	Cluster string
	// Writes bring the stored spans up to date.
	Writes []SpanWrite
	// Late are spans that are to be put between those that are stored then, by PutBetween.
	Late []LateSpan
	// Removed are the objects that the cluster no longer has. Their last spans have ended.
	Removed []Object
	// WantsEverything is set if what is known is not what the agent assumes: it has to report all
	// of its objects. Its reports did not count.
	WantsEverything bool
	// Identified are the objects with another uid than before.
	Identified []Object
	// Confirmed are the objects that say the same as before, and of which it has to be stored until when
	// they are known to: what is told later of the time before that is put between.
	Confirmed []Object
	// Refused is how many reports were of objects that are not known, and for which there is no room.
	Refused int
	// UID is that of the cluster that has the name; "" if it is not known.
	UID string
}

// Receive takes in what comes with a contact: reports of objects of its cluster, or none if all is as
// it was.
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
				changed, receipt.Writes = true, slices.Grow(receipt.Writes, 2*len(reports)) // mostly a span ends, and one begins
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
	case changed: // an event tells what no digest has told
		cluster.Digest = ""
	}
	return receipt
}

// removeForeign removes what is known of the objects of a cluster and may be of another one, as the cluster
// was before the contact.
func (l *Ledger) removeForeign(before Cluster, cluster *Cluster, c Contact, receipt *Receipt) {
	switch {
	case before.UID != "" && before.UID != cluster.UID: // that was in its place
		l.removeNamed(l.book.names(cluster.ID), cluster, Contact{Received: before.LastSeen}, receipt)
	case before.Unproven && !cluster.Unproven: // others may have reported under its name
		l.removeNamed(l.book.names(cluster.ID), cluster, c, receipt)
	}
}

// removeObjects removes what a cluster no longer has.
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

// findUnread returns reports of the known objects of a cluster whose kind could not be read.
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

// findMissing returns the known objects of a cluster that are not among the reports of everything.
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

// fold takes in a report, unless it is of one object more than a cluster may have. The whole fleet may
// report under one name with the credential that all clusters have.
func (l *Ledger) fold(r Report, of *Cluster) (Outcome, *record) {
	if !of.Unproven && l.book.countObjects(r.Object.Cluster) >= MaxObjects {
		if _, known := l.book.Find(r.Object); !known {
			return Outcome{Refused: true}, nil
		}
	}
	return l.book.fold(r)
}

// findGap returns the time in which nothing was heard of the objects of a cluster, before a contact of its
// agent, which was last in touch at a time. It is empty for events, of which each tells what is new.
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

// spanStart returns when a span begins: when its cluster says so, but not after we have heard of it, nor
// while another cluster was in its place.
func spanStart(said, received, began time.Time) time.Time {
	switch {
	case said.After(received):
		return received
	case said.Before(began):
		return began
	}
	return said
}

// Clusters returns all clusters, in the order in which they were first in touch.
func (l *Ledger) Clusters() []*Cluster { return l.roster.All() }

// All returns every object with its state, in no order.
func (l *Ledger) All() iter.Seq2[Object, State] { return l.book.All() }

// CountObjects returns how many objects are known.
func (l *Ledger) CountObjects() int { return l.book.Len() }

// FindCluster returns what is known of the cluster that has, or had, a name; nil if there is none.
func (l *Ledger) FindCluster(name string) *Cluster { return l.roster.Find(name) }

// Find returns what is known of an object, and false if nothing is.
func (l *Ledger) Find(o Object) (State, bool) { return l.book.Find(o) }

// CountObjectsOf returns how many objects of a cluster are known.
func (l *Ledger) CountObjectsOf(id string) int { return l.book.countObjects(id) }
