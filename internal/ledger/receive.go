package ledger

import "time"

// Ledger has what is known of all clusters and their objects. What becomes of their histories is
// returned as writes, for a store.
type Ledger struct {
	roster Roster
	book   *Book
}

// New returns a Ledger that knows at most so many objects.
func New(limit int) *Ledger { return &Ledger{book: NewBook(limit)} }

// Receipt is what has become of a contact and its reports.
type Receipt struct {
	Admission Admission
	// Writes bring the stored spans up to date.
	Writes []SpanWrite
	// Refused is how many reports were of objects that are not known, and for which there is no room.
	Refused int
}

// Receive takes in what comes with a contact: reports of objects of its cluster, or none if all is as
// it was.
func (l *Ledger) Receive(c Contact, reports []Report) Receipt {
	cluster, admission := l.roster.Admit(c)
	receipt := Receipt{Admission: admission}
	if admission != Admitted {
		return receipt
	}
	for _, r := range reports {
		r.Object.Cluster, r.Group = cluster.ID, c.Group
		done, known := l.book.fold(r)
		if done.Refused {
			receipt.Refused++
		}
		if done.Changed {
			receipt.Writes = append(receipt.Writes, known.change(r.Object, known.state(), spanStart(r.Said, c.Received))...)
		}
	}
	return receipt
}

// spanStart returns when a span begins: when its cluster says so, but not after we have heard of it.
func spanStart(said, received time.Time) time.Time {
	if said.After(received) {
		return received
	}
	return said
}

// Clusters returns all clusters, in the order in which they were first in touch.
func (l *Ledger) Clusters() []*Cluster { return l.roster.All() }

// Find returns what is known of an object, and false if nothing is.
func (l *Ledger) Find(o Object) (State, bool) { return l.book.Find(o) }
