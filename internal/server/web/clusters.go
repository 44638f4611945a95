package web

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/reconcile/fleetview"
	"github.com/fairlead-io/fairlead/internal/server/answer"
	"github.com/fairlead-io/fairlead/internal/server/page"
)

// findClusterAnswer returns what there is at the path of a page about cluster types and clusters.
func findClusterAnswer(src answer.Source, parts []string, query url.Values) found {
	switch {
	case len(parts) == 1 && parts[0] == "cluster-types":
		return found{src.ClusterTypes(page.ParseClusterTypeFilter(query)), http.StatusOK, ""}
	case len(parts) == 2 && parts[0] == "cluster-types":
		one, ok := src.ClusterType(parts[1])
		if !ok {
			return answerUnknown("cluster type", parts[1], src.ClusterTypeNames(), "cluster-types")
		}
		return found{one, http.StatusOK, ""}
	case len(parts) == 2 && parts[0] == "clusters":
		one, ok := src.Cluster(parts[1])
		if !ok {
			return answerUnknownIn("clusters", "cluster", parts[1], src.ClusterNames(), "cluster-types", api+"/cluster-types/NAME lists those of a type")
		}
		return found{one, http.StatusOK, ""}
	}
	return answerMissing(NothingHere, "")
}

// maxReleased is of how many deployment targets of a workload the releases are shown.
const maxReleased = 12

// addReleases adds to a source what clusters have reported of a workload.
func (s *site) addReleases(ctx context.Context, src answer.Source, workload string) answer.Source {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ledgerTimeout)
	defer cancel()
	names := src.TargetNames(workload)
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

// addReported adds to a source what clusters have reported by name, if the page at a path says it.
func (s *site) addReported(ctx context.Context, src answer.Source, path string) answer.Source {
	first, rest, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	name, err := url.PathUnescape(rest)
	if !src.Ledger || src.LedgerFails || err != nil {
		return src
	}
	q := fleetview.Query{Limit: fleetview.MaxItems}
	switch {
	case first == "cluster-types" && name != "":
		q.Type = name
	case first == "clusters" && name != "":
		q.Cluster, src.ReportedNames = name, s.options.Fleet.ClusterNames()
	case first == "workloads" && name != "":
		return s.addReleases(ctx, src, name)
	case first == "search":
		src.ReportedNames = s.options.Fleet.ClusterNames()
		return src
	default:
		return src
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ledgerTimeout)
	defer cancel()
	all, err := s.options.Fleet.FindClusters(ctx, q)
	var unknown *fleetview.UnknownError
	switch {
	case errors.As(err, &unknown): // none of them has reported
		return src
	case err != nil:
		s.options.Logger.WarnContext(ctx, "the ledger cannot be asked", slog.Any("error", err))
		src.LedgerFails = true
		return src
	}
	neverSeen := func(c fleetview.Cluster) bool { return c.LastSeen.IsZero() }
	src.Reported = slices.DeleteFunc(all.Items, neverSeen)
	for _, c := range src.Reported {
		if q.Cluster != "" && c.Standing != fleetview.Moved {
			src.Objects = append(src.Objects, s.options.Fleet.FindObjects(c.Environment, c.Name)...)
		}
	}
	return src
}
