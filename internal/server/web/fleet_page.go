package web

import (
	"context"
	"log/slog"
	"time"

	"github.com/fairlead-io/fairlead/internal/reconcile/fleetview"
)

// maxLaggards is how many clusters of an environment are named that are not ready.
const maxLaggards = 100

// fleetPart is what the page shows of the clusters of an environment.
type fleetPart struct {
	fleetview.Standing
	Laggards []fleetview.Laggard
	More     int // how many others are not ready
}

// refusedFor is for how long the page counts reports that were refused.
const refusedFor = 24 * time.Hour

// findFleet returns what the page shows of clusters, and how many reports were refused lately; nothing if
// there is no ledger, or no cluster yet. The page is there although the ledger cannot be asked.
func (s *site) findFleet(ctx context.Context) (parts []fleetPart, refused int, failed bool) {
	if s.options.Fleet == nil {
		return nil, 0, false
	}
	all, err := s.options.Fleet.FindOverviews(ctx, maxLaggards)
	for _, one := range all {
		if one.Expected == 0 {
			continue
		}
		part := fleetPart{one.Standing, one.Laggards.Items, one.Expected - one.Ready}
		for _, l := range part.Laggards {
			part.More -= l.Clusters
		}
		parts = append(parts, part)
	}
	refusals := fleetview.Page[fleetview.Refusal]{}
	if err == nil {
		refusals, err = s.options.Fleet.FindRefusals(ctx, fleetview.Query{Since: s.options.Now().Add(-refusedFor), Limit: fleetview.MaxItems})
	}
	for _, r := range refusals.Items {
		refused += r.Count
	}
	if err != nil {
		s.options.Logger.WarnContext(ctx, "the ledger cannot be asked", slog.String("path", "/"), slog.Any("error", err))
		return nil, 0, true
	}
	return parts, refused, false
}
