package web

import (
	"context"
	"log/slog"
	"time"

	"github.com/fairlead-io/fairlead/internal/reconcile/fleetview"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/answer"
)

const (
	// maxLaggards is how many clusters of an environment are named that are not ready.
	maxLaggards = 100
	// refusedFor is for how long reports are counted that were refused.
	refusedFor = 24 * time.Hour
	// ledgerTimeout bounds the questions about clusters for one answer.
	ledgerTimeout = 10 * time.Second
)

// readState returns what answers are made from, without clusters but for what they say of stacks.
func (s *site) readState() answer.Source {
	now := s.options.Store.Snapshot()
	reasons, overdue := s.checkReadiness(now)
	src := answer.Source{Snapshot: now, Now: s.options.Now(), Viewers: int(s.streams.open.Load()), Version: s.options.Version, Reasons: reasons, Overdue: overdue}
	src.StackReports = s.readStackReports(src)
	return src
}

// readSource returns what answers are made from. They are there although the ledger cannot be asked.
func (s *site) readSource(ctx context.Context) answer.Source {
	src := s.readState()
	if s.options.Fleet == nil {
		return src
	}
	// Another reader may get the same answer after this one has gone.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ledgerTimeout)
	defer cancel()
	src.Ledger = true
	all, err := s.options.Fleet.FindOverviews(ctx, maxLaggards)
	var refusals fleetview.Page[fleetview.Refusal]
	if err == nil {
		refusals, err = s.options.Fleet.FindRefusals(ctx, fleetview.Query{Since: s.options.Now().Add(-refusedFor), Limit: fleetview.MaxItems})
	}
	if err != nil {
		s.options.Logger.WarnContext(ctx, "the ledger cannot be asked", slog.Any("error", err))
		src.LedgerFails = true
		return src
	}
	src.Clusters = all
	for _, r := range refusals.Items {
		src.Refused += r.Count
	}
	return src
}

func (s *site) loadSource(ctx context.Context, q request) answer.Source {
	src := s.readSource(ctx)
	if q.row == nil {
		return src
	}
	for _, load := range q.row.loads {
		src = load(ctx, src, q)
	}
	return src
}

func (s *site) addGroups(ctx context.Context, src answer.Source, q request) answer.Source {
	stage, promoted := src.Snapshot.Chain.FindStage(q.names[0])
	if !promoted || stage.Groups == nil || !src.Ledger || src.LedgerFails {
		return src
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ledgerTimeout)
	defer cancel()
	var err error
	src.Groups, err = s.options.Fleet.FindGroups(ctx, q.names[0], stage.Groups)
	if err != nil {
		s.options.Logger.WarnContext(ctx, "the ledger cannot be asked", slog.Any("error", err))
		src.LedgerFails = true
	}
	return src
}

// checkReadiness returns why the daemon is not ready, and the environments that are overdue,
// which do not make it unready.
func (s *site) checkReadiness(now status.Snapshot) (reasons []string, overdue []status.Unfinished) {
	_, reasons = now.CheckReadiness()
	overdue = []status.Unfinished{}
	if s.options.OverdueAfter > 0 {
		var loop string
		overdue, loop = now.FindOverdue(s.options.Now(), s.options.OverdueAfter)
		if loop != "" {
			reasons = append(reasons, loop)
		}
	}
	return reasons, overdue
}
