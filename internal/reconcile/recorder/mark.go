package recorder

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/reconcile/observe"
)

const (
	maxMarked = 5
	// markInterval limits writes for a later time alone.
	markInterval = time.Minute
	// markTolerance is how far a store may lag behind its mark: a killed process has not stored its
	// last contacts.
	markTolerance = 5 * time.Minute
)

// mark identifies a store, in a file next to it, to detect one that was emptied, exchanged or
// restored from a backup.
type mark struct {
	Clusters []markedCluster `json:"clusters"` // the oldest
	LastSeen time.Time       `json:"lastSeen"` // of all
	// Resumed is the first contact after an outage: see [ledger.Retirement].
	Resumed time.Time `json:"resumed,omitzero"`
	// Loss is the last loss; nil for none.
	Loss *observe.Loss `json:"loss,omitempty"`
}

type markedCluster struct {
	ID        string    `json:"id"`
	FirstSeen time.Time `json:"firstSeen"`
}

// newMark requires the clusters by first contact.
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

// describeLoss returns why a store does not match the mark; "" if it may.
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

// readMark reads the last mark. An unreadable one counts as a loss, because the previous content is
// unknown.
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

// ReadMark reads the mark of the writing process, for FindLoss.
func (r *Recorder) ReadMark(path string) {
	r.options.Mark = path
	r.readMark()
}

// updateMark requires r.flushing.
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

func (r *Recorder) writeMark() {
	r.unmarked = false
	if r.options.Mark == "" {
		return
	}
	text, err := json.Marshal(r.mark)
	if err == nil {
		err = replaceFile(r.options.Mark, text)
	}
	if err != nil {
		r.unmarked = true
		r.options.Logger.Warn("the mark of the ledger could not be written: a store that is lost may not be noticed at the next start", "error", err)
	}
}

func replaceFile(path string, text []byte) error {
	out, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(out.Name()) }() // gone after success
	_, err = out.Write(text)
	err = errors.Join(err, out.Sync(), out.Close())
	if err != nil {
		return err
	}
	return os.Rename(out.Name(), path)
}
