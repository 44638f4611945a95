package observe

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/fairlead-io/fairlead/internal/promotion/rollout"
)

const (
	// maxEvents bounds how many objects are remembered, and so the memory and the file:
	// an event is a few hundred bytes.
	maxEvents = 20_000
	// spareLines is how many lines the file has at most besides those that count.
	spareLines = 1000
)

// Inbox has the latest event of each object of each cluster. Any number of goroutines
// may use it.
//
// Its file has an event in each line, of which the last about an object counts. It is
// written anew, in the place of the old one, when too many lines do not count.
type Inbox struct {
	path string

	mu     sync.Mutex
	latest map[objectKey]Event
	lines  int  // of the file
	torn   bool // the file may end in the middle of a line
}

// objectKey is what an event is about.
type objectKey struct{ cluster, name string }

func (e Event) objectKey() objectKey { return objectKey{e.Cluster, e.Object} }

// NewInbox reads the file of an Inbox, which need not be there. The error is a warning:
// the Inbox can be used, and has what could be read.
func NewInbox(file string) (*Inbox, error) {
	i := &Inbox{path: file, latest: map[objectKey]Event{}}
	data, err := os.ReadFile(file)
	if err != nil {
		i.torn = true // what is there, if anything, is not added to
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return i, err
	}
	damaged := 0
	for line := range bytes.Lines(data) {
		var e Event
		i.lines++
		if err := json.Unmarshal(line, &e); err != nil || e.Object == "" || e.Commit == "" || e.When.IsZero() {
			damaged++
			continue
		}
		i.keepLatest(e)
	}
	if damaged > 0 {
		i.torn = true
		return i, fmt.Errorf("%s: %d of %d lines are damaged, and what they said is forgotten", file, damaged, i.lines)
	}
	i.torn = len(data) > 0 && data[len(data)-1] != '\n'
	return i, nil
}

// Add takes an event in, unless a later one of its object is known. If it cannot be written to
// the file, Add returns an error, and the event is known all the same.
func (i *Inbox) Add(e Event) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if !i.keepLatest(e) {
		return nil
	}
	if i.torn || i.lines >= 2*len(i.latest)+spareLines {
		return i.rewriteFile()
	}
	return i.appendLine(e)
}

// keepLatest reports whether an event is news.
func (i *Inbox) keepLatest(e Event) bool {
	old, known := i.latest[e.objectKey()]
	if known && !e.isNewerThan(old) {
		return false
	}
	i.latest[e.objectKey()] = e
	if len(i.latest) > maxEvents { // some more go than must, so that it need not be done each time
		for _, oldest := range i.sortedEvents()[:spareLines] {
			delete(i.latest, oldest.objectKey())
		}
	}
	return true
}

// isNewerThan reports whether e is news about its object after old. An object that
// is ready stays so when its cluster only mends what a person changed there, of which
// Flux does not say when it is done: it would say that it fails. Flux tells the time by
// the second, and events of one second come in any order.
func (e Event) isNewerThan(old Event) bool {
	switch {
	case e.When.Before(old.When):
		return false
	case e.Commit != old.Commit:
		return true
	case e.When.Equal(old.When):
		return phaseRank(e.Phase) > phaseRank(old.Phase)
	default:
		return old.Phase != rollout.Ready || e.Phase != rollout.Progressing
	}
}

// phaseRank orders the events about one commit in one second.
func phaseRank(p rollout.Phase) int {
	return slices.Index([]rollout.Phase{rollout.Progressing, rollout.Ready, rollout.Failed}, p)
}

// Reports returns what clusters report, sorted by cluster and object. mine reports whether an
// event is about what is asked for, and whether the commit that it names holds what is
// wanted; it may ask Git.
func (i *Inbox) Reports(mine func(Event) (current, ok bool)) []rollout.Report {
	var all []rollout.Report
	i.mu.Lock()
	events := i.sortedEvents()
	i.mu.Unlock()
	for _, e := range events {
		if current, ok := mine(e); ok {
			all = append(all, rollout.Report{
				Source: e.Cluster, Object: e.Object, Phase: e.Phase, Current: current, Message: e.Message, Time: e.When,
			})
		}
	}
	slices.SortFunc(all, func(a, b rollout.Report) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Object, b.Object))
	})
	return all
}

// sortedEvents returns all of them, the oldest first. Its caller holds the lock.
func (i *Inbox) sortedEvents() []Event {
	return slices.SortedFunc(maps.Values(i.latest), func(a, b Event) int {
		return cmp.Or(a.When.Compare(b.When), cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Object, b.Object))
	})
}

func (i *Inbox) appendLine(e Event) error {
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(i.path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil { // it was removed
		i.torn = true
		return i.rewriteFile()
	}
	_, err = f.Write(append(line, '\n'))
	i.torn = err != nil
	i.lines++
	return errors.Join(err, f.Close())
}

// rewriteFile puts a file with the events that count in the place of the old one.
func (i *Inbox) rewriteFile() error {
	f, err := os.CreateTemp(filepath.Dir(i.path), "."+filepath.Base(i.path)+".")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // it is not there if all went well
	out := bufio.NewWriter(f)
	encoder := json.NewEncoder(out)
	for _, e := range i.sortedEvents() {
		if err := encoder.Encode(e); err != nil {
			return errors.Join(err, f.Close())
		}
	}
	if err := errors.Join(out.Flush(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), i.path); err != nil {
		return err
	}
	i.lines, i.torn = len(i.latest), false
	return nil
}
