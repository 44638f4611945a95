package observe

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/promotion/rollout"
)

const (
	// maxObjects bounds how many objects are remembered, and so the memory (about 150 bytes
	// each) and the file. A fleet of 10,000 clusters with 20 objects each has 200,000.
	maxObjects = 500_000
	// retiredAfter is how long an object may be silent before it makes room for others, once
	// the Inbox is full.
	retiredAfter = 30 * 24 * time.Hour
	// flushInterval is how often it is written that objects have said the same again.
	flushInterval = time.Minute
	// retryAfter is how long the file is left alone after it could not be written.
	retryAfter = 10 * time.Second
	// silentAfter is how long an object may be silent without its next word being news. By
	// default Flux reports every ten minutes.
	silentAfter = 30 * time.Minute
	// provenFor is how long after its last report a cluster that has proven its name has it alone.
	provenFor = 7 * 24 * time.Hour
)

// ErrNameProven is the error for a report that does not prove the name of its cluster, while another
// one does.
var ErrNameProven = errors.New("a cluster of this name reports with its own key")

// ErrContested is the error for a report of another cluster than the one that has the name.
var ErrContested = errors.New("another cluster reports under this name")

// ErrRenamed is the error for a report under the old name of a cluster.
var ErrRenamed = errors.New("the cluster reports under another name by now")

// Inbox has what is known of each object of each cluster, by their events. Any number of goroutines
// may use it. What it is told in any order, and however often, it knows as if it had come once and
// in order.
//
// Nothing is forgotten to make room: the Inbox refuses new objects when it is full. That events were
// refused, or lost with a damaged file, is known too: see [Inbox.FindLoss].
type Inbox struct {
	mu     sync.Mutex
	book   *ledger.Book
	file   reportFile
	newest time.Time // the time of the newest event, which stands for the time of day
	// unwritten are the objects that said the same again since the last flush.
	unwritten map[ledger.Object]bool
	flushed   time.Time // by newest, when that was last tried
	failed    time.Time // by newest, when the file could not be written; zero if it could
	retired   time.Time // by newest, when silent objects were last searched for
	losses    map[string]Loss
	// proven has when the clusters that have proven their names last reported, by their clocks.
	proven map[string]time.Time
}

// ReportSource has what clusters have reported.
type ReportSource interface {
	// Reports and FindLoss are described by the methods of [Inbox].
	Reports(mine func(Event) (current, ok bool)) []rollout.Report
	FindLoss(environment string, since time.Time) (Loss, bool)
}

// Loss is when events of an environment were last lost, and why.
type Loss struct {
	Environment string    `json:"environment"` // "" if it is not known: of any
	Time        time.Time `json:"time"`
	Reason      string    `json:"reason"` // a clause
	// IsPending is set if what was reported may yet be read.
	IsPending bool `json:"pending,omitempty"`
}

// NewInbox reads the file of an Inbox, which need not be there. The error is a warning:
// the Inbox can be used, and has what could be read.
func NewInbox(path string) (*Inbox, error) { return newInbox(path, maxObjects) }

func newInbox(path string, limit int) (*Inbox, error) {
	i := &Inbox{book: ledger.NewBook(limit), file: reportFile{path: path}, unwritten: map[ledger.Object]bool{}, losses: map[string]Loss{}, proven: map[string]time.Time{}}
	return i, i.readFile()
}

// Add takes an event in, and reports whether it is news: whether the object is in another state than
// before, or was silent for long. Events that say the same again are written to the file once a
// minute. If the file cannot be written, Add returns an error, and the event is known all the same. The
// error is ErrNameProven if it is not, because its cluster has not proven the name that it takes.
func (i *Inbox) Add(e Event) (news bool, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if e.When.After(i.newest) {
		i.newest = e.When
	}
	if !i.admit(e) {
		return false, ErrNameProven
	}
	done := i.fold(e)
	switch {
	case done.Refused:
		return i.addLoss(Loss{Environment: e.Environment, Time: e.When, Reason: fmt.Sprintf("%d objects report, and there is no room for more", i.book.Len())})
	case !done.Newer:
		return false, nil
	case !done.Changed:
		i.unwritten[e.objectKey()] = true
		if i.newest.Sub(i.flushed) >= flushInterval {
			err = i.flush()
		}
		return e.When.Sub(done.Before.Said) >= silentAfter, err
	}
	return true, i.write(e)
}

// admit reports whether an event counts: one that proves the name of its cluster does, and has what
// others said under that name forgotten; any other does as long as nobody proves the name.
func (i *Inbox) admit(e Event) bool {
	last, known := i.proven[e.Cluster]
	switch {
	case e.Proven:
		if !known {
			i.book.RemoveCluster(e.Cluster)
		}
		if e.When.After(last) {
			i.proven[e.Cluster] = e.When
		}
	case known && i.newest.Sub(last) < provenFor:
		return false
	case known:
		delete(i.proven, e.Cluster)
	}
	return true
}

// fold takes an event into the book, and makes room for it if there is none.
func (i *Inbox) fold(e Event) ledger.Outcome {
	done := i.book.Fold(e.Report())
	if !done.Refused || i.newest.Sub(i.retired) < time.Hour {
		return done
	}
	i.retired = i.newest
	if i.book.RemoveSilent(i.newest.Add(-retiredAfter)) == 0 {
		return done
	}
	return i.book.Fold(e.Report())
}

// addLoss remembers a loss, and reports whether its environment had none. It is written to the file
// when it is the first for an hour.
func (i *Inbox) addLoss(l Loss) (first bool, err error) {
	known, ok := i.losses[l.Environment]
	if ok && l.Time.Sub(known.Time) < time.Hour {
		return false, nil
	}
	i.losses[l.Environment] = l
	return !ok, i.write(lossLine{&l})
}

// FindLoss returns the last loss of events that may have been of an environment, unless it is older
// than a time. Shares of those that report say little then, until they have reported again.
func (i *Inbox) FindLoss(environment string, since time.Time) (Loss, bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	found, ok := i.losses[environment]
	if any, known := i.losses[""]; known && any.Time.After(found.Time) {
		found, ok = any, true
	}
	return found, ok && !found.Time.Before(since)
}

// Reports returns what clusters report, sorted by cluster and object. mine reports whether an
// event is about what is asked for, and whether the revision that it names holds what is
// wanted; it may ask Git.
func (i *Inbox) Reports(mine func(Event) (current, ok bool)) []rollout.Report {
	return SelectReports(i.Events(), mine)
}

// SelectReports returns events as reports of a rollout: see [Inbox.Reports]. What waits for a person to approve
// a plan is in progress. Events do not tell which folder an object applies, so where a cluster has several platform objects
// that apply one branch, mine gets them without a cluster type: the whole output counts. The ledger knows of clusters with
// a key of their own what applies the output.
func SelectReports(events []Event, mine func(Event) (current, ok bool)) []rollout.Report {
	states := make(map[ledger.Object]ledger.State, len(events))
	for _, e := range events {
		states[e.objectKey()] = ledger.State{Phase: ledger.ParsePhase(string(e.Phase)), Message: e.Message}
	}
	find := func(o ledger.Object) (ledger.State, bool) {
		s, ok := states[o]
		return s, ok
	}
	var all []rollout.Report
	several := findSeveral(events)
	for _, e := range events {
		if several[platformKey{e.Cluster, e.Branch}] > 1 && isPlatform(e) {
			e.ClusterType = ""
		}
		if current, ok := mine(e); ok {
			r := rollout.Report{Source: e.Cluster, Object: e.Object, Phase: e.Phase, Current: current, Message: e.Message, Time: e.When}
			switch phase := ledger.Explain(e.objectKey(), states[e.objectKey()], find); {
			case phase == ledger.Waiting:
				r.Phase, r.Waits = rollout.Progressing, true
			case phase.IsFailure():
				r.Phase = rollout.Failed
			case phase == ledger.Progressing:
				r.Phase = rollout.Progressing
			}
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b rollout.Report) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Object, b.Object))
	})
	return all
}

// platformKey is what platform objects of a cluster apply a folder of.
type platformKey struct{ cluster, branch string }

// findSeveral counts the platform objects that apply a branch.
func findSeveral(events []Event) map[platformKey]int {
	count := map[platformKey]int{}
	for _, e := range events {
		if isPlatform(e) {
			count[platformKey{e.Cluster, e.Branch}]++
		}
	}
	return count
}

// isPlatform reports whether an event of a cluster without a key is of an object that applies a commit, where tenants have
// none.
func isPlatform(e Event) bool {
	object := ledger.Object{Name: e.Object}
	return !e.Proven && e.Commit != "" && e.Cluster != UnnamedCluster && object.IsPlatform() && !ledger.IsSourceKind(object.Kind())
}

// Events returns an event for each object, that of its state, in no order.
func (i *Inbox) Events() []Event {
	i.mu.Lock()
	defer i.mu.Unlock()
	all := make([]Event, 0, i.book.Len())
	for object, s := range i.book.All() {
		if s.Phase == ledger.Unstated {
			continue
		}
		all = append(all, i.eventOf(s.Report(object, s.Group)))
	}
	return all
}

// Flush writes to the file what is not in it yet.
func (i *Inbox) Flush() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(i.unwritten) == 0 && i.failed.IsZero() {
		return nil
	}
	i.failed = time.Time{}
	return i.flush()
}

func (i *Inbox) flush() error {
	i.flushed = i.newest
	var lines []any
	for o := range i.unwritten {
		for _, r := range i.book.Reports(o) {
			lines = append(lines, i.eventOf(r))
		}
	}
	err := i.write(lines...)
	if err == nil {
		clear(i.unwritten)
	}
	return err
}

// eventOf returns a report of the ledger as an event.
func (i *Inbox) eventOf(r ledger.Report) Event {
	e := NewEvent(r)
	_, e.Proven = i.proven[e.Cluster]
	return e
}

// errUnwritten is the error while the file is left alone. All that is known is written when it is
// tried again.
var errUnwritten = errors.New("the file of reports could not be written, and is tried again soon")

// write adds lines to the file. It rewrites the whole file if that cannot be added to, or if too
// many of its lines do not count.
func (i *Inbox) write(lines ...any) error {
	if !i.file.damaged && i.file.lines+len(lines) <= 2*i.book.Len()+spareLines && i.file.appendLines(lines) == nil {
		return nil
	}
	if !i.failed.IsZero() && i.newest.Sub(i.failed) < retryAfter {
		return errUnwritten
	}
	lines = nil
	for _, l := range i.losses {
		lines = append(lines, lossLine{&l})
	}
	for o := range i.book.All() {
		for _, r := range i.book.Reports(o) {
			lines = append(lines, i.eventOf(r))
		}
	}
	err := i.file.replaceLines(lines)
	i.failed = time.Time{}
	if err != nil {
		i.failed, i.file.damaged = i.newest, true
	}
	return err
}
