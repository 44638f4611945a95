// Package recorder applies reports and wanted state to the ledger, and keeps its store up to date.
//
// A report counts at once and is stored soon. Changes that the store cannot take are held, limited
// by the number of objects. [Recorder.Check] explains an unusable store, which is retried.
// [Recorder.FindLoss] reports lost data, so that nothing is decided by the rest.
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
	// maxObjects limits objects, and so memory: about 150 bytes each.
	maxObjects = 500_000
	// flushInterval is the interval of writes, and maxPending triggers one earlier.
	flushInterval = time.Second
	maxPending    = 2000
	// seenInterval is the interval of writes for contacts without changes.
	seenInterval = 30 * time.Second
	// retryAfter is the pause after a failed write.
	retryAfter = 10 * time.Second
)

// Options configures a Recorder.
type Options struct {
	// Path is the file of the store, created if missing.
	Path string
	// Mark is the file that identifies the store, to detect its loss; "" for none.
	Mark string
	// Postgres returns the address of a PostgreSQL store that replaces Path; nil for none. Other
	// processes may write to it.
	Postgres func() (string, error)
	// Changed is called after the store has changed what is known; may be nil.
	Changed func()
	// Keep has retention times; zero keeps everything.
	Keep    ledgerdb.Keep
	Metrics *metrics.Metrics // nil for none
	// Retire is the silence that retires a cluster; 0 for never.
	Retire time.Duration
	Now    func() time.Time
	Logger *slog.Logger
}

// Recorder has the ledger of all clusters. It is safe for concurrent use.
type Recorder struct {
	options Options
	since   time.Time     // start of listening; zero for always
	full    chan struct{} // signals many changes
	upkeep  upkeep
	told    toldOutputs

	flushing sync.Mutex      // guards the next five
	store    *ledgerdb.Store // nil if not open
	replaced bool            // a new store must replace a damaged one
	restored bool            // the store lost what was written last
	mark     mark
	unmarked bool // the mark must be written

	mu         sync.Mutex
	ledger     *ledger.Ledger
	pending    changes
	seen       map[string]bool // clusters with only a new contact, by ID
	written    time.Time       // when seen was last written
	flushed    time.Time       // everything known then is stored
	failure    error           // why the store is not up to date
	failed     time.Time
	retired    map[string]time.Time // by name
	adopted    map[string]time.Time // by name
	membership ledger.Membership
	listed     map[string]map[string]string // types by environment and cluster
	unread     error                        // why stored data is unknown; nil if it was read
	losses     map[string]observe.Loss      // by environment
	held       held                         // for a shared store
	// refusals are not stored yet.
	refusals map[refusalKey]ledger.Refusals
}

type changes struct {
	clusters map[string]bool // by ID
	objects  map[ledger.Object]bool
	spans    ledger.Pending
	late     map[ledger.Object][]ledger.Span // to be inserted into stored spans
}

func newChanges() changes {
	return changes{clusters: map[string]bool{}, objects: map[ledger.Object]bool{}, late: map[ledger.Object][]ledger.Span{}}
}

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

// errUnread is the reason before the first attempt.
var errUnread = errors.New("the store of the ledger was not read yet")

// Open opens and reads the store. It does not fail: opening is retried.
func Open(ctx context.Context, o Options) *Recorder {
	r := newRecorder(o)
	r.since = o.Now()
	r.readMark()
	_ = r.Flush(ctx) // logged and retried
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

// Read returns a Recorder with the content of a file, which may be in use or missing. After an
// error the Recorder is empty, and FindLoss reports it.
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

func (r *Recorder) readOnly(ctx context.Context, open func() (*ledgerdb.Store, error)) error {
	store, err := open()
	if err == nil {
		err = errors.Join(store.Load(ctx, r.ledger), store.Close())
	}
	r.unread = err
	return err
}

func (r *Recorder) openFile(ctx context.Context) error {
	store, stored, err := r.readFile(ctx)
	if errors.Is(err, ledgerdb.ErrDamaged) {
		err = r.moveAside(err)
		if err != nil {
			return err
		}
		r.mark = mark{Loss: r.mark.Loss, Resumed: r.mark.Resumed} // the file moved aside shows the loss
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

// Receive applies a contact and reports whether it is news: a state changed, or the cluster was
// silent.
func (r *Recorder) Receive(c ledger.Contact, reports []ledger.Report) (receipt ledger.Receipt, news bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	receipt, news = r.receive(c, reports)
	r.countRefusal(r.refusedName(c, receipt), receipt.Refusal())
	return receipt, news
}

// receive requires r.mu.
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

// Run writes changes until ctx ends, and then once more.
func (r *Recorder) Run(ctx context.Context) {
	ticker := time.NewTicker(flushInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			_ = r.Flush(context.WithoutCancel(ctx))
			return
		case <-ticker.C:
		case <-r.full:
		}
		if r.isDue() {
			_ = r.Flush(ctx) // logged and retried
		}
		r.maintain(ctx)
	}
}

func (r *Recorder) isDue() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failure == nil || r.options.Now().Sub(r.failed) >= retryAfter
}

// Close writes all changes and closes the store.
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

// FindStandings returns the standing of each expected cluster.
func (r *Recorder) FindStandings(w ledger.Wanted, outputs *ledger.Outputs) []ledger.Standing {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ledger.FindStandings(w, outputs, r.options.Now())
}

// Since returns when the process began to listen; zero if another one listens.
func (r *Recorder) Since() time.Time { return r.since }

// Clusters returns copies of all clusters by first contact.
func (r *Recorder) Clusters() []ledger.Cluster {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []ledger.Cluster
	for _, c := range r.ledger.Clusters() {
		all = append(all, *c.Clone())
	}
	return all
}

// Flush writes all changes. It holds what it cannot write.
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

// noteOutcome requires r.mu.
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

// holdChanges puts unwritten changes before later ones.
func (r *Recorder) holdChanges(earlier changes) {
	maps.Copy(earlier.clusters, r.pending.clusters)
	maps.Copy(earlier.objects, r.pending.objects)
	earlier.spans.Follow(&r.pending.spans)
	earlier.late = r.pending.late
	r.pending = earlier
}

func (r *Recorder) takeSeen() {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.Copy(r.pending.clusters, r.seen)
	clear(r.seen)
	r.written = r.options.Now()
}

func (r *Recorder) takeBatch() (changes, ledgerdb.Batch) {
	if r.isSeenDue() {
		r.takeSeen()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	taken := r.pending
	r.pending = newChanges()
	r.pending.late = taken.late // they follow this batch
	now := r.options.Now()
	b := ledgerdb.Batch{Spans: taken.spans.All(), GoneSince: now, Refusals: r.listRefusals()}
	b.Objects = make([]ledger.Saved, 0, len(taken.objects))
	for _, o := range ledger.SortObjects(taken.objects) {
		taken.clusters[o.Cluster] = true // its digest covers its objects
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

func (r *Recorder) writeBatch(ctx context.Context, b ledgerdb.Batch) error {
	if !r.replaced {
		err := r.store.Write(ctx, b)
		if !errors.Is(err, ledgerdb.ErrDamaged) {
			return err
		}
		_ = r.store.Close() // damaged anyway
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
