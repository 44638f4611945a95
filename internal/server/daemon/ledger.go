package daemon

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/reconcile/fleetview"
	"github.com/fairlead-io/fairlead/internal/reconcile/ledgerdb"
	"github.com/fairlead-io/fairlead/internal/reconcile/loop"
	"github.com/fairlead-io/fairlead/internal/reconcile/promoter"
	"github.com/fairlead-io/fairlead/internal/reconcile/recorder"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	agents "github.com/fairlead-io/fairlead/internal/server/reports"
)

// openReports opens what clusters have reported. changed is called when more is known by what was stored, or another
// daemon has stored.
func openReports(ctx context.Context, o Options, with loop.Options, changed func()) *recorder.Recorder {
	s := o.Settings
	_ = os.MkdirAll(s.DataDir, 0o700) // what cannot be made there says so
	options := recorder.Options{
		Path: s.LedgerFile(), Mark: s.LedgerMark(), Changed: changed, Now: o.Now, Logger: with.Logger, Metrics: with.Metrics,
		Retire: s.Ledger.Retire, Keep: ledgerdb.Keep{Spans: s.Ledger.Keep.Spans, Arrivals: s.Ledger.Keep.Arrivals, Days: s.Ledger.Keep.Days},
	}
	if s.Ledger.Postgres != nil {
		options.Postgres = s.LedgerAddress
	}
	return recorder.Open(ctx, options)
}

// findLedger returns what is known of clusters by name; nil where they have no keys, and may call themselves anything.
func findLedger(s *config.Settings, reports *recorder.Recorder) promoter.Ledger {
	if !s.HasLedger() {
		return nil
	}
	return reports
}

type agentReports struct {
	keys    func(cluster string, now time.Time) ([]string, error)
	now     func() time.Time
	store   *status.Store
	wake    func()
	observe func(outcome string)
	logger  *slog.Logger
}

// newFleetView returns what answers questions about clusters; nil where they have no keys.
func newFleetView(o Options, reports *recorder.Recorder) *fleetview.View {
	if !o.Settings.HasLedger() {
		return nil
	}
	return &fleetview.View{Ledger: reports, Ask: reports.Ask, Now: o.Now}
}

// errNotRead is the error for a report that comes before it is known what clusters there may be: it
// would be filed under no environment.
var errNotRead = errors.New("the control plane was not read yet")

// newAgentReports returns the handler of what agents report; nil where clusters have no keys.
func newAgentReports(s *config.Settings, r *recorder.Recorder, a agentReports) http.Handler {
	if !s.HasLedger() {
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

func (a agentReports) findPlaces() []agents.Place {
	var all []agents.Place
	for _, e := range a.store.Snapshot().Environments {
		if e.Output.Repo != "" {
			all = append(all, agents.Place{Environment: e.Name, Repo: e.Output.Repo, Branch: e.Output.Branch, Folder: e.Output.Folder})
		}
	}
	return all
}
