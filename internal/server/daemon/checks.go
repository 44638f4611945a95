package daemon

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/internal/config/access"
	"github.com/fairlead-io/fairlead/internal/reconcile/doctor"
	"github.com/fairlead-io/fairlead/internal/reconcile/recorder"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

const (
	// checkInterval is how long there is between two checks of the set-up, and recheckInterval after one in
	// which something failed.
	checkInterval, recheckInterval = time.Hour, 10 * time.Minute
	// checkTimeout bounds one of them.
	checkTimeout = 2 * time.Minute
)

// runChecks checks the set-up once the first cycle has ended, and again and again until ctx ends, for
// people to see. No cycle and no request waits for it.
func runChecks(ctx context.Context, o Options, keys *access.Keyring, reports *recorder.Recorder, store *status.Store, logger *slog.Logger) {
	for waitForCycle(ctx, store) {
		found, err := checkSetup(ctx, o, keys, reports, store.Snapshot())
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			logger.Warn("the set-up could not be checked", "error", err)
		default:
			store.SetExamination(status.Examination{When: o.Now(), Findings: found})
		}
		next := checkInterval
		if err != nil || slices.ContainsFunc(found, func(f status.Finding) bool { return f.Level == status.LevelFail }) {
			next = recheckInterval
		}
		timer := time.NewTimer(next)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
}

func checkSetup(ctx context.Context, o Options, keys *access.Keyring, reports *recorder.Recorder, known status.Snapshot) ([]status.Finding, error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	options := doctor.Options{Settings: o.Settings, Now: o.Now, Keyring: keys}
	for _, c := range reports.Clusters() {
		if c.HeldUp != "" {
			options.HeldUp = append(options.HeldUp, doctor.HeldUp{Cluster: c.Name(), Object: c.HeldUp, Seen: c.HeldUpSeen})
		}
	}
	return doctor.ExamineRunning(ctx, options, known)
}

// waitForCycle waits until a cycle has ended. It reports whether one has before ctx ended.
func waitForCycle(ctx context.Context, store *status.Store) bool {
	for ctx.Err() == nil {
		_, changed := store.Version()
		if store.Snapshot().Cycle.Outcome != "" {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
	return false
}
