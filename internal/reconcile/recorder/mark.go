package recorder

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/reconcile/observe"
)

const (
	// maxMarked is how many clusters a mark names.
	maxMarked = 5
	// markInterval is how often a mark is written that says nothing but a later time.
	markInterval = time.Minute
	// markTolerance is by how much a store may be behind its mark: a process that is killed has not
	// stored its last contacts.
	markTolerance = 5 * time.Minute
)

// mark is what a store is known by, in a file beside it: a store that was emptied, exchanged, or
// restored from a backup does not have what the mark says.
type mark struct {
	Clusters []markedCluster `json:"clusters"` // the oldest ones
	LastSeen time.Time       `json:"lastSeen"` // of all
	// Resumed is when a cluster was in touch after an outage: see [ledger.Retirement].
	Resumed time.Time `json:"resumed,omitzero"`
	// Loss is the last loss that was found; nil for none.
	Loss *observe.Loss `json:"loss,omitempty"`
}

type markedCluster struct {
	ID        string    `json:"id"`
	FirstSeen time.Time `json:"firstSeen"`
}

// newMark returns the mark of a store that has these clusters, the oldest first.
func newMark(all []*ledger.Cluster) mark {
	var m mark
	for _, c := range all {
		if len(m.Clusters) < maxMarked {
			m.Clusters = append(m.Clusters, markedCluster{c.ID, c.FirstSeen.UTC().Truncate(time.Second)})
		}
		if c.LastSeen.After(m.LastSeen) {
			m.LastSeen = c.LastSeen.UTC()
		}
	}
	return m
}

// describeLoss returns why a store with these clusters is not the marked one; "" if it may be.
func (m mark) describeLoss(stored *ledger.Ledger) string {
	all := stored.Clusters()
	isThere := func(marked markedCluster) bool {
		c := stored.FindCluster(marked.ID)
		return c != nil && c.FirstSeen.UTC().Truncate(time.Second).Equal(marked.FirstSeen)
	}
	switch {
	case len(m.Clusters) == 0:
		return ""
	case len(all) == 0:
		return "the database of the ledger was emptied"
	case !slices.ContainsFunc(m.Clusters, isThere):
		return "the database of the ledger is another one than before"
	case newMark(all).LastSeen.Add(markTolerance).Before(m.LastSeen):
		return "the database of the ledger is as it was on " + newMark(all).LastSeen.Format("2006-01-02 15:04 UTC") + ", perhaps from a backup"
	}
	return ""
}

// readMark reads the mark of the last process, if there is one. One that cannot be read counts as a
// loss: nobody knows what the store had.
func (r *Recorder) readMark() {
	if r.options.Mark == "" {
		return
	}
	text, err := os.ReadFile(r.options.Mark)
	if err == nil {
		err = json.Unmarshal(text, &r.mark)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.options.Logger.Error("the mark of the ledger cannot be read", "error", err)
		r.addLoss("", "the mark of the ledger could not be read")
		r.mark.Loss = new(r.losses[""])
	}
	if r.mark.Loss != nil && r.mark.Loss.Time.After(r.losses[""].Time) {
		r.losses[""] = *r.mark.Loss
	}
}

// ReadMark reads the mark of the process that writes, so that FindLoss knows which losses that has found.
func (r *Recorder) ReadMark(path string) {
	r.options.Mark = path
	r.readMark()
}

// updateMark has the mark say what the store has by now. r.flushing is held.
func (r *Recorder) updateMark() {
	r.mu.Lock()
	next := newMark(r.ledger.Clusters())
	next.Loss, next.Resumed = r.mark.Loss, r.ledger.Resumed().UTC()
	r.mu.Unlock()
	isSame := next.Resumed.Equal(r.mark.Resumed) && slices.Equal(next.Clusters, r.mark.Clusters) && next.LastSeen.Sub(r.mark.LastSeen) < markInterval
	if isSame && !r.unmarked {
		return
	}
	r.mark = next
	r.writeMark()
}

// writeMark writes the mark to its file. What could not be written is tried again with the next change.
func (r *Recorder) writeMark() {
	r.unmarked = false
	if r.options.Mark == "" {
		return
	}
	err := observe.ReplaceFile(r.options.Mark, func(w io.Writer) error { return json.NewEncoder(w).Encode(r.mark) })
	if err != nil {
		r.unmarked = true
		r.options.Logger.Warn("the mark of the ledger could not be written: a store that is lost may not be noticed at the next start", "error", err)
	}
}
