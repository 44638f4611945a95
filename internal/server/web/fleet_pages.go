package web

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/fairlead-io/fairlead/internal/reconcile/fleetview"
	"github.com/fairlead-io/fairlead/internal/server/answer"
	"github.com/fairlead-io/fairlead/internal/server/page"
)

// findFleetAnswer returns what there is at the path of a page about what is assigned.
func findFleetAnswer(src answer.Source, parts []string, query url.Values) found {
	switch {
	case len(parts) == 1 && parts[0] == "fleet":
		return found{src.Fleet(page.ParseFleetFilter(query)), http.StatusOK, ""}
	case len(parts) == 1 && "/"+parts[0] == mapPath:
		return findMap(src, query)
	case len(parts) == 1 && parts[0] == "workloads":
		return found{src.Workloads(page.ParseWorkloadFilter(query)), http.StatusOK, ""}
	case len(parts) == 2 && parts[0] == "workloads":
		one, ok := src.Workload(parts[1])
		if !ok {
			return answerUnknown("workload", parts[1], src.WorkloadNames(), "workloads")
		}
		return found{one, http.StatusOK, ""}
	case len(parts) == 4 && parts[0] == "assignments":
		one, ok := src.Assignment(parts[1], parts[2], parts[3])
		if !ok {
			sentence := fmt.Sprintf("environment %q has no %s", parts[1], strings.Join(src.ListMissing(parts[1], parts[2], parts[3]), " and no "))
			return found{missingAnswer{errorAnswer{sentence, api + "/fleet shows what is assigned"}, "fleet", ""}, http.StatusNotFound, ""}
		}
		return found{one, http.StatusOK, ""}
	}
	return findClusterAnswer(src, parts, query)
}

// assignedPages are the first parts of the paths of pages that say how clusters stand to what is assigned.
var assignedPages = map[string]bool{"fleet": true, "workloads": true, "cluster-types": true, "clusters": true, "assignments": true, "map": true}

// assignedCache keeps how clusters stand to what is assigned, and the clusters as they stood then. The zero value is
// ready.
type assignedCache struct {
	mu       sync.Mutex
	made     time.Time
	known    map[string]*fleetview.AssignedRuns
	clusters []fleetview.Overview
}

// addAssigned adds to a source how clusters stand to what is assigned, if the page at a path says it.
func (s *site) addAssigned(ctx context.Context, src answer.Source, path string) answer.Source {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	if !src.Ledger || src.LedgerFails || !assignedPages[first] {
		return src
	}
	s.assigned.mu.Lock()
	defer s.assigned.mu.Unlock()
	now := s.options.Now()
	if s.assigned.known != nil && now.Sub(s.assigned.made) < cachedFor {
		src.Assigned = s.assigned.known
		if first != "clusters" { // which says how one stands now
			src.Clusters = s.assigned.clusters
		}
		return src
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ledgerTimeout)
	defer cancel()
	known := map[string]*fleetview.AssignedRuns{}
	for _, o := range src.Clusters {
		runs, err := s.options.Fleet.FindAssigned(ctx, o.Environment)
		if err != nil {
			s.options.Logger.WarnContext(ctx, "the ledger cannot be asked", slog.Any("error", err))
			src.LedgerFails = true
			return src
		}
		known[o.Environment] = runs
	}
	s.assigned.known, s.assigned.clusters, s.assigned.made, src.Assigned = known, src.Clusters, now, known
	return src
}
