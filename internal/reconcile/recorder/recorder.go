// Package recorder takes what clusters report, and what they should run, into the ledger, and keeps the
// ledger's store up to date.
//
// What the package keeps true: a report counts at once, and is stored soon after; what a store cannot
// take is held, bounded by the number of objects, until it can; a store that is away, damaged or of a
// newer program is named by [Recorder.Check], and tried again. What was stored and could not be read, or
// is lost, is reported by [Recorder.FindLoss], so that nothing is decided by what is left.
package recorder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/reconcile/ledgerdb"
	"github.com/fairlead-io/fairlead/internal/reconcile/metrics"
	"github.com/fairlead-io/fairlead/internal/reconcile/observe"
)

const (
	// maxObjects bounds how many objects are known, and so the memory: about 150 bytes each.
	maxObjects = 500_000
	// flushInterval is how often changes are written, and maxPending how many of them are written at
	// once.
	flushInterval = time.Second
	maxPending    = 2000
	// seenInterval is how often it is written that clusters were in touch and have changed nothing.
	seenInterval = 30 * time.Second
	// retryAfter is how long a store is left alone that could not be written.
	retryAfter = 10 * time.Second
)

// Options configures a Recorder.
type Options struct {
	// Path is the file of the store; it need not be there.
	Path string
	// Mark is the file by which a store is known that was emptied, exchanged, or restored from a
	// backup since it was last used; "" for none.
	Mark string
	// Postgres returns the address of the PostgreSQL that is the store in the place of Path; nil if
	// there is none. Other processes may write to it.
	Postgres func() (string, error)
	// Changed is called when what is known has changed by what a store has: because it was read, or
	// because other processes have written to it. nil if nothing has to be done then.
	Changed func()
	// Keep is how long the past is kept; the zero Keep keeps all.
	Keep    ledgerdb.Keep
	Metrics *metrics.Metrics // nil for none
	// Retire is for how long a cluster is silent that is no longer expected; 0 for ever.
	Retire time.Duration
	Now    func() time.Time
	Logger *slog.Logger
}

// Recorder has the ledger of all clusters. Any number of goroutines may use it.
type Recorder struct {
	options Options
	since   time.Time     // it listens; zero for always
	full    chan struct{} // told when there are many changes
	upkeep  upkeep        // of Run
	told    toldOutputs

	flushing sync.Mutex      // guards the next five
	store    *ledgerdb.Store // nil if it could not be opened
	replaced bool            // whether a damaged store makes room for a new one, which is not open yet
	restored bool            // whether the store was seen to have lost what was written last
	mark     mark
	unmarked bool // whether the mark is not written

	mu         sync.Mutex
	ledger     *ledger.Ledger
	pending    changes
	seen       map[string]bool      // clusters, by ID, of which only the last contact is to be written
	written    time.Time            // when that was last done
	flushed    time.Time            // when all was stored that was known then
	failure    error                // why the store is not up to date
	failed     time.Time            // when it was last tried
	retired    map[string]time.Time // by people, by name
	adopted    map[string]time.Time // by people, by name
	membership ledger.Membership
	listed     map[string]map[string]string // the types of clusters that are expected by name, by environment
	unread     error                        // why it is not known what was stored; nil if it is
	losses     map[string]observe.Loss      // by environment
	held       held                         // of a store that others write to as well
	// refusals are those that are not stored yet.
	refusals map[refusalKey]ledger.Refusals
}

// changes are what is to be written.
type changes struct {
	clusters map[string]bool // by ID
	objects  map[ledger.Object]bool
	spans    ledger.Pending
	late     map[ledger.Object][]ledger.Span // to be put between those that are stored
}

func newChanges() changes {
	return changes{clusters: map[string]bool{}, objects: map[ledger.Object]bool{}, late: map[ledger.Object][]ledger.Span{}}
}

// add adds what has become of objects.
func (c *changes) add(receipt ledger.Receipt) {
	for _, w := range receipt.Writes {
		c.spans.Add(w)
		c.objects[w.Object] = true
	}
	for _, o := range slices.Concat(receipt.Removed, receipt.Identified, receipt.Confirmed) {
		c.objects[o] = true
	}
	for _, s := range receipt.Late {
		c.addLate(s)
	}
}

// errUnread is the reason why it is not known what was stored before the store was tried.
var errUnread = errors.New("the store of the ledger was not read yet")

// Open opens the store of a Recorder, and reads what is known. It does not fail: a store that cannot be
// opened is tried again.
func Open(ctx context.Context, o Options) *Recorder {
	r := newRecorder(o)
	r.since = o.Now()
	r.readMark()
	_ = r.Flush(ctx) // it is logged, and tried again
	return r
}

func newRecorder(o Options) *Recorder {
	r := &Recorder{
		options: o, full: make(chan struct{}, 1), told: newToldOutputs(), unread: errUnread,
		ledger: ledger.New(maxObjects), pending: newChanges(), seen: map[string]bool{}, written: o.Now(), flushed: o.Now(), losses: map[string]observe.Loss{},
		refusals: map[refusalKey]ledger.Refusals{},
	}
	if o.Postgres == nil {
		r.findLostStores()
	}
	return r
}

// Read returns a Recorder with what a store has, which may be in use by another process, and need not be
// there. It writes nothing. The error is a warning: the Recorder knows nothing then, and says so by its
// FindLoss.
func Read(ctx context.Context, path string, now func() time.Time) (*Recorder, error) {
	r := newRecorder(Options{Path: path, Now: now, Logger: slog.New(slog.DiscardHandler)})
	_, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		r.unread = fmt.Errorf("there is no ledger at %s: ask the daemon with --url", path)
		return r, nil
	}
	return r, r.readOnly(ctx, func() (*ledgerdb.Store, error) {
		return ledgerdb.ReadSQLite(ctx, path)
	})
}

// readOnly reads a store and closes it.
func (r *Recorder) readOnly(ctx context.Context, open func() (*ledgerdb.Store, error)) error {
	store, err := open()
	if err == nil {
		err = errors.Join(store.Load(ctx, r.ledger), store.Close())
	}
	r.unread = err
	return err
}

// openFile opens the store in a file and reads it. One that is damaged makes room for a new one.
func (r *Recorder) openFile(ctx context.Context) error {
	store, stored, err := r.readFile(ctx)
	if errors.Is(err, ledgerdb.ErrDamaged) {
		err = r.moveAside(err)
		if err != nil {
			return err
		}
		r.mark = mark{Loss: r.mark.Loss, Resumed: r.mark.Resumed} // the file that was moved aside tells it
		r.mu.Lock()
		r.addLoss("", lostReason)
		r.mu.Unlock()
		store, stored, err = r.readFile(ctx)
	}
	if err == nil {
		r.adopt(store, stored)
	}
	return err
}

func (r *Recorder) readFile(ctx context.Context) (*ledgerdb.Store, *ledger.Ledger, error) {
	store, err := ledgerdb.OpenSQLite(ctx, r.options.Path)
	if err != nil {
		return nil, nil, err
	}
	stored := ledger.New(maxObjects)
	err = store.Load(ctx, stored)
	if err != nil {
		return nil, nil, errors.Join(err, store.Close())
	}
	return store, stored, nil
}

// moveAside gives the files of a damaged store another name.
func (r *Recorder) moveAside(damage error) error {
	aside := r.nameAside()
	r.options.Logger.Error("the ledger is damaged: it was moved aside, and a new one begins", "error", damage, "moved", aside)
	for _, suffix := range []string{"", "-wal", "-shm"} {
		err := os.Rename(r.options.Path+suffix, aside+suffix)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("move a damaged ledger aside: %w", err)
		}
	}
	return nil
}

// Receive takes in what comes with a contact, and reports whether it is news: whether an object is in
// another state than before, or the cluster was silent.
func (r *Recorder) Receive(c ledger.Contact, reports []ledger.Report) (receipt ledger.Receipt, news bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	receipt, news = r.receive(c, reports)
	r.countRefusal(r.refusedName(c, receipt), receipt.Refusal())
	return receipt, news
}

// receive is Receive. r.mu is held.
func (r *Recorder) receive(c ledger.Contact, reports []ledger.Report) (receipt ledger.Receipt, news bool) {
	before := r.ledger.FindCluster(c.Name)
	news = before == nil || before.IsSilent(c.Received)
	names, again := 0, c
	if before != nil {
		names = len(before.Names)
		again.AgentSeen = cmp.Or(c.AgentSeen, before.AgentSeen)
	}
	receipt = r.ledger.Receive(c, reports)
	if (r.options.Postgres != nil || r.unread != nil) && slices.Contains([]ledger.Admission{ledger.Admitted, ledger.Contested, ledger.SecondName}, receipt.Admission) {
		r.held.add(receipt.Cluster, r.ledger.CountObjectsOf(receipt.Cluster), again, reports)
	}
	r.pending.add(receipt)
	if receipt.Refused > 0 {
		r.refuse(c.Group.Environment)
	}
	changed := len(receipt.Writes) > 0 || len(receipt.Removed) > 0
	switch {
	case receipt.Admission == ledger.Replayed:
	case changed || before == nil || receipt.Admission != ledger.Admitted || names != len(before.Names):
		r.pending.clusters[receipt.Cluster] = true
	default:
		r.seen[receipt.Cluster] = true
	}
	if r.pending.spans.Len() >= maxPending {
		select {
		case r.full <- struct{}{}:
		default:
		}
	}
	return receipt, receipt.Admission == ledger.Admitted && (news || changed)
}

// Run writes what is to be written, until ctx ends, and then once more.
func (r *Recorder) Run(ctx context.Context) {
	ticker := time.NewTicker(flushInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			_ = r.Flush(context.WithoutCancel(ctx)) // it is logged
			return
		case <-ticker.C:
		case <-r.full:
		}
		if r.isDue() {
			_ = r.Flush(ctx) // it is logged, and tried again
		}
		r.maintain(ctx)
	}
}

// isDue reports whether the store may be tried.
func (r *Recorder) isDue() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failure == nil || r.options.Now().Sub(r.failed) >= retryAfter
}

// Close writes what is to be written, and closes the store.
func (r *Recorder) Close() error {
	r.takeSeen()
	err := r.Flush(context.Background())
	r.flushing.Lock()
	defer r.flushing.Unlock()
	if r.store == nil {
		return nil
	}
	err = errors.Join(err, r.store.Close())
	r.store = nil
	return err
}

// Check returns why the store is not up to date; nil if it is.
func (r *Recorder) Check() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failure
}

// FindStandings returns how each expected cluster stands to what is wanted.
func (r *Recorder) FindStandings(w ledger.Wanted, outputs *ledger.Outputs) []ledger.Standing {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ledger.FindStandings(w, outputs, r.options.Now())
}

// Since returns when the process began to listen to clusters; the zero time if another one does.
func (r *Recorder) Since() time.Time { return r.since }

// Clusters returns all clusters, in the order in which they were first in touch.
func (r *Recorder) Clusters() []ledger.Cluster {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []ledger.Cluster
	for _, c := range r.ledger.Clusters() {
		all = append(all, *c.Clone())
	}
	return all
}

// Flush writes what is to be written. What could not be written is held.
func (r *Recorder) Flush(ctx context.Context) error {
	r.flushing.Lock()
	defer r.flushing.Unlock()
	write := r.writeFile
	if r.options.Postgres != nil {
		write = r.share
	}
	began := r.options.Now()
	changed, err := write(ctx)
	if err == nil {
		err = r.putLate(ctx, write)
	}
	r.mu.Lock()
	if err == nil {
		r.flushed = began
	}
	r.noteOutcome(err)
	r.mu.Unlock()
	if err == nil && r.store != nil {
		r.updateMark()
	}
	if changed && r.options.Changed != nil {
		r.options.Changed()
	}
	return err
}

// writeFile writes to the store in a file, and reports whether more is known than before.
func (r *Recorder) writeFile(ctx context.Context) (changed bool, err error) {
	if r.store == nil && !r.replaced {
		err := r.openFile(ctx)
		if err != nil {
			return false, err
		}
		changed = true
	}
	taken, batch := r.takeBatch()
	if batch.IsEmpty() && !r.replaced {
		return changed, nil
	}
	started := r.options.Now()
	err = r.writeBatch(ctx, batch)
	r.options.Metrics.RecordFlush(r.options.Now().Sub(started))
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.holdChanges(taken)
	} else {
		r.dropRefusals(batch.Refusals)
	}
	return changed, err
}

// noteOutcome remembers and logs whether the store is up to date. r.mu is held.
func (r *Recorder) noteOutcome(err error) {
	if err == nil && r.failure != nil {
		r.options.Logger.Info("the ledger is stored again")
	}
	if err != nil && (r.failure == nil || r.failure.Error() != err.Error()) {
		r.options.Logger.Error("the ledger could not be stored: what clusters report is held in memory", "error", err)
	}
	r.failure = err
	if err != nil {
		r.failed = r.options.Now()
	}
	if err != nil && r.unread != nil {
		r.unread = err
	}
}

// holdChanges adds what came meanwhile to what could not be written.
func (r *Recorder) holdChanges(earlier changes) {
	maps.Copy(earlier.clusters, r.pending.clusters)
	maps.Copy(earlier.objects, r.pending.objects)
	earlier.spans.Follow(&r.pending.spans)
	earlier.late = r.pending.late
	r.pending = earlier
}

// takeSeen has the last contacts of all clusters written with the next batch.
func (r *Recorder) takeSeen() {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.Copy(r.pending.clusters, r.seen)
	clear(r.seen)
	r.written = r.options.Now()
}

// takeBatch returns what is to be written, in the order in which it lies in the store.
func (r *Recorder) takeBatch() (changes, ledgerdb.Batch) {
	if r.isSeenDue() {
		r.takeSeen()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	taken := r.pending
	r.pending = newChanges()
	r.pending.late = taken.late // they follow what is written now
	now := r.options.Now()
	b := ledgerdb.Batch{Spans: taken.spans.All(), GoneSince: now, Refusals: r.listRefusals()}
	b.Objects = make([]ledger.Saved, 0, len(taken.objects))
	for _, o := range ledger.SortObjects(taken.objects) {
		taken.clusters[o.Cluster] = true // whose digest is of its objects
		saved, known := r.ledger.Save(o)
		if known {
			b.Objects = append(b.Objects, saved)
		} else {
			b.Gone = append(b.Gone, o)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(taken.clusters)) {
		b.Clusters = append(b.Clusters, *r.ledger.FindCluster(id).Clone())
	}
	return taken, b
}

func (r *Recorder) isSeenDue() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.seen) > 0 && r.options.Now().Sub(r.written) >= seenInterval
}

// writeBatch writes to the store. In the place of a damaged one it puts a new one, with all that is
// known.
func (r *Recorder) writeBatch(ctx context.Context, b ledgerdb.Batch) error {
	if !r.replaced {
		err := r.store.Write(ctx, b)
		if !errors.Is(err, ledgerdb.ErrDamaged) {
			return err
		}
		_ = r.store.Close() // it is damaged
		r.store, r.replaced = nil, true
		if err := r.moveAside(err); err != nil {
			return err
		}
	}
	store, err := ledgerdb.OpenSQLite(ctx, r.options.Path)
	if err != nil {
		return err
	}
	all := r.batchOfAll()
	all.Refusals = b.Refusals
	err = store.Write(ctx, all)
	if err != nil {
		return errors.Join(err, store.Close())
	}
	r.store, r.replaced = store, false
	return nil
}

func (r *Recorder) batchOfAll() ledgerdb.Batch {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.addLoss("", lostReason)
	var b ledgerdb.Batch
	for _, c := range r.ledger.Clusters() {
		b.Clusters = append(b.Clusters, *c.Clone())
	}
	b.Objects = slices.SortedFunc(r.ledger.SaveAll(), func(x, y ledger.Saved) int { return strings.Compare(x.Object.Cluster, y.Object.Cluster) })
	for _, o := range b.Objects {
		if !o.Open.Since.IsZero() {
			b.Spans = append(b.Spans, ledger.SpanWrite{Object: o.Object, Kind: ledger.BeginSpan, Span: o.Open})
		}
	}
	return b
}
