package daemon

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/reconcile/fleetview"
	"github.com/fairlead-io/fairlead/internal/reconcile/ledgerdb"
	"github.com/fairlead-io/fairlead/internal/reconcile/loop"
	"github.com/fairlead-io/fairlead/internal/reconcile/observe"
	"github.com/fairlead-io/fairlead/internal/reconcile/promoter"
	"github.com/fairlead-io/fairlead/internal/reconcile/recorder"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/reconcile/wanted"
	agents "github.com/fairlead-io/fairlead/internal/server/reports"
)

// clusterReports has what clusters report, and keeps it for the next process.
type clusterReports interface {
	observe.ReportSource
	// Add takes an event in: see [observe.Inbox.Add].
	Add(observe.Event) (news bool, err error)
	// Run stores what is added until ctx ends.
	Run(ctx context.Context)
	// RefuseKey counts a report under the name of a cluster whose key was missing or wrong.
	RefuseKey(cluster string)
	// TellOutputs has RecordOutputs record what is new on output branches. It does not wait.
	TellOutputs([]wanted.Branch)
	// RecordOutputs records what clusters should run until ctx ends, and RecordToldOutputs does it once.
	RecordOutputs(ctx context.Context)
	RecordToldOutputs(ctx context.Context)
	// Check returns why what is added cannot be stored; nil if it can.
	Check() error
	// Flush stores what is not stored yet.
	Flush(ctx context.Context) error
	Close() error
}

// openReports opens the reports of clusters: in the ledger, if the settings have one, or else in a file.
// With a new ledger, those in the file are the first. changed is called when the ledger knows more by what
// it has stored, or another daemon has.
func openReports(ctx context.Context, o Options, with loop.Options, changed func()) clusterReports {
	s := o.Settings
	_ = os.MkdirAll(s.DataDir, 0o700) // what cannot be made there says so
	inbox, err := observe.NewInbox(filepath.Join(s.DataDir, "reports"))
	if err != nil {
		with.Logger.Warn("some of what clusters have reported is lost; it is waited for", "error", err)
	}
	if !s.HasLedger() {
		return inboxReports{inbox}
	}
	options := recorder.Options{
		Path: s.LedgerFile(), Mark: s.LedgerMark(), Changed: changed, Now: o.Now, Logger: with.Logger, Metrics: with.Metrics,
		Retire: s.Ledger.Retire, Keep: ledgerdb.Keep{Spans: s.Ledger.Keep.Spans, Arrivals: s.Ledger.Keep.Arrivals, Days: s.Ledger.Keep.Days},
	}
	if s.Ledger.Postgres != nil {
		options.Postgres = s.LedgerAddress
	}
	r := recorder.Open(ctx, options)
	r.Import(inbox)
	return r
}

// findLedger returns the ledger among the reports of clusters; nil if there is none.
func findLedger(reports clusterReports) promoter.Ledger {
	r, ok := reports.(*recorder.Recorder)
	if !ok {
		return nil
	}
	return r
}

// inboxReports is an Inbox, which stores all by itself but that objects have said the same again.
type inboxReports struct{ *observe.Inbox }

// Run waits for the end.
func (inboxReports) Run(ctx context.Context) { <-ctx.Done() }

// RefuseKey counts nothing: an Inbox has no keys of clusters.
func (inboxReports) RefuseKey(string) {}

// TellOutputs does nothing: an Inbox has nothing of what clusters should run.
func (inboxReports) TellOutputs([]wanted.Branch) {}

// RecordOutputs waits for the end.
func (inboxReports) RecordOutputs(ctx context.Context) { <-ctx.Done() }

// RecordToldOutputs does nothing.
func (inboxReports) RecordToldOutputs(context.Context) {}

// Check returns nil: an Inbox says with each event what it cannot store.
func (inboxReports) Check() error { return nil }

// Close stores when objects have reported last.
func (r inboxReports) Close() error { return r.Inbox.Flush() }

// Flush stores when objects have reported last.
func (r inboxReports) Flush(context.Context) error { return r.Inbox.Flush() }

// agentReports is what the reports of agents need.
type agentReports struct {
	keys    func(cluster string, now time.Time) ([]string, error)
	now     func() time.Time
	store   *status.Store
	wake    func()
	observe func(outcome string)
	logger  *slog.Logger
}

// newFleetView returns what answers questions about clusters; nil if there is no ledger.
func newFleetView(reports clusterReports, now func() time.Time) *fleetview.View {
	r, ok := reports.(*recorder.Recorder)
	if !ok {
		return nil
	}
	return &fleetview.View{Ledger: r, Ask: r.Ask, Now: now}
}

// errNotRead is the error for a report that comes before it is known what clusters there may be: it
// would be filed under no environment.
var errNotRead = errors.New("the control plane was not read yet")

// newAgentReports returns the handler of what agents report; nil if there is no ledger.
func newAgentReports(to clusterReports, a agentReports) http.Handler {
	r, ok := to.(*recorder.Recorder)
	if !ok {
		return nil
	}
	return agents.New(agents.Options{
		Keys: a.keys, Places: a.findPlaces, Now: a.now, Observe: a.observe, Logger: a.logger, Refuse: r.RefuseKey, Every: r.FindPace,
		Receive: func(c ledger.Contact, reports []ledger.Report) (ledger.Receipt, error) {
			if len(a.findPlaces()) == 0 {
				return ledger.Receipt{}, errNotRead
			}
			receipt, news := r.Receive(c, reports)
			if news {
				a.wake()
			}
			return receipt, r.Check()
		},
	})
}

// findPlaces returns where the outputs of environments are.
func (a agentReports) findPlaces() []agents.Place {
	var all []agents.Place
	for _, e := range a.store.Snapshot().Environments {
		if e.Output.Repo != "" {
			all = append(all, agents.Place{Environment: e.Name, Repo: e.Output.Repo, Branch: e.Output.Branch, Folder: e.Output.Folder})
		}
	}
	return all
}
