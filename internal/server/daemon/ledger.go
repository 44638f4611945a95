package daemon

import (
	"context"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/reconcile/observe"
	"github.com/fairlead-io/fairlead/internal/reconcile/recorder"
)

// clusterReports has what clusters report, and keeps it for the next process.
type clusterReports interface {
	observe.ReportSource
	// Add takes an event in: see [observe.Inbox.Add].
	Add(observe.Event) (news bool, err error)
	// Run stores what is added until ctx ends.
	Run(ctx context.Context)
	// Check returns why what is added cannot be stored; nil if it can.
	Check() error
	Close() error
}

// openReports opens the reports of clusters: in the ledger, if the settings have one, or else in a file.
// With a new ledger, those in the file are the first.
func openReports(ctx context.Context, s *config.Settings, logger *slog.Logger) clusterReports {
	inbox, err := observe.NewInbox(filepath.Join(s.DataDir, "reports"))
	if err != nil {
		logger.Warn("some of what clusters have reported is lost; it is waited for", "error", err)
	}
	if !s.HasLedger() {
		return inboxReports{inbox}
	}
	r := recorder.Open(ctx, recorder.Options{Path: s.LedgerFile(), Now: time.Now, Logger: logger})
	r.Import(inbox)
	return r
}

// inboxReports is an Inbox, which stores all by itself but that objects have said the same again.
type inboxReports struct{ *observe.Inbox }

// Run waits for the end.
func (inboxReports) Run(ctx context.Context) { <-ctx.Done() }

// Check returns nil: an Inbox says with each event what it cannot store.
func (inboxReports) Check() error { return nil }

// Close stores when objects have reported last.
func (r inboxReports) Close() error { return r.Flush() }
