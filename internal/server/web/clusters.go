package web

import (
	"context"
	"errors"
	"log/slog"
	"slices"

	"github.com/fairlead-io/fairlead/internal/reconcile/fleetview"
	"github.com/fairlead-io/fairlead/internal/server/answer"
)

func findClusterType(src answer.Source, q request) found {
	one, ok := src.ClusterType(q.names[0])
	if !ok {
		return answerUnknown("cluster type", q.names[0], src.ClusterTypeNames(), "cluster-types")
	}
	return newFound(one)
}

func findCluster(src answer.Source, q request) found {
	one, ok := src.Cluster(q.names[0])
	if !ok {
		return answerUnknown("cluster", q.names[0], src.ClusterNames(), "clusters")
	}
	return newFound(one)
}

// maxReleased is of how many deployment targets of a workload the releases are shown.
const maxReleased = 12

func (s *site) addReleases(ctx context.Context, src answer.Source, q request) answer.Source {
	if !src.Ledger || src.LedgerFails {
		return src
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ledgerTimeout)
	defer cancel()
	names := src.TargetNames(q.names[0])
	src.MoreReleases = len(names) > maxReleased
	for _, target := range names[:min(len(names), maxReleased)] {
		found, more, err := s.options.Fleet.FindReleases(ctx, target)
		if err != nil {
			s.options.Logger.WarnContext(ctx, "the ledger cannot be asked", slog.Any("error", err))
			src.LedgerFails = true
			return src
		}
		src.Releases, src.MoreReleases = append(src.Releases, found...), src.MoreReleases || more
	}
	slices.SortStableFunc(src.Releases, func(a, b fleetview.Release) int { return b.Since.Compare(a.Since) })
	return src
}

func (s *site) addReportedNames(_ context.Context, src answer.Source, _ request) answer.Source {
	if src.Ledger && !src.LedgerFails {
		src.ReportedNames = s.options.Fleet.ClusterNames()
	}
	return src
}

func (s *site) addReportedOfType(ctx context.Context, src answer.Source, q request) answer.Source {
	return s.addReported(ctx, src, fleetview.Query{Limit: fleetview.MaxItems, Type: q.names[0]})
}

func (s *site) addReportedOfCluster(ctx context.Context, src answer.Source, q request) answer.Source {
	return s.addReported(ctx, s.addReportedNames(ctx, src, q), fleetview.Query{Limit: fleetview.MaxItems, Cluster: q.names[0]})
}

func (s *site) addReportedAll(ctx context.Context, src answer.Source, _ request) answer.Source {
	var all []fleetview.Cluster
	for after := ""; ; {
		src.Reported = nil
		src, after = s.addReportedPage(ctx, src, fleetview.Query{Limit: fleetview.MaxItems, After: after})
		all = append(all, src.Reported...)
		if after == "" {
			src.Reported = all
			return src
		}
	}
}

func (s *site) addReported(ctx context.Context, src answer.Source, q fleetview.Query) answer.Source {
	src, _ = s.addReportedPage(ctx, src, q)
	return src
}

// addReportedPage adds to a source one page of what clusters have reported, and returns what comes after it; "" for
// nothing.
func (s *site) addReportedPage(ctx context.Context, src answer.Source, q fleetview.Query) (_ answer.Source, next string) {
	if !src.Ledger || src.LedgerFails {
		return src, ""
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ledgerTimeout)
	defer cancel()
	all, err := s.options.Fleet.FindClusters(ctx, q)
	var unknown *fleetview.UnknownError
	switch {
	case errors.As(err, &unknown): // none of them has reported
		return src, ""
	case err != nil:
		s.options.Logger.WarnContext(ctx, "the ledger cannot be asked", slog.Any("error", err))
		src.LedgerFails = true
		return src, ""
	}
	neverSeen := func(c fleetview.Cluster) bool { return c.LastSeen.IsZero() }
	src.Reported = slices.DeleteFunc(all.Items, neverSeen)
	for _, c := range src.Reported {
		if q.Cluster != "" && c.Standing != fleetview.Moved {
			src.Objects = append(src.Objects, s.options.Fleet.FindObjects(c.Environment, c.Name)...)
		}
	}
	return src, all.Next
}
