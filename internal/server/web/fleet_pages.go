package web

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/fairlead-io/fairlead/internal/reconcile/fleetview"
	"github.com/fairlead-io/fairlead/internal/server/answer"
	"github.com/fairlead-io/fairlead/internal/server/page"
)

func findFleet(src answer.Source, q request) found {
	if q.table {
		return newFound(assignedTable(src.ListAssigned(page.ParseFleetFilter(q.query).AssignmentFilter)))
	}
	return newFound(src.Fleet(page.ParseFleetFilter(q.query)))
}

func findWorkload(src answer.Source, q request) found {
	one, ok := src.Workload(q.names[0])
	if !ok {
		return answerUnknown("workload", q.names[0], src.WorkloadNames(), "workloads")
	}
	return newFound(one)
}

func findAssignment(src answer.Source, q request) found {
	one, ok := src.Assignment(q.names[0], q.names[1], q.names[2])
	if !ok {
		sentence := fmt.Sprintf("environment %q has no %s", q.names[0], strings.Join(src.ListMissing(q.names[0], q.names[1], q.names[2]), " and no "))
		return found{answer: missingAnswer{errorAnswer{sentence, api + "/fleet shows what is assigned"}, "fleet", ""}, code: http.StatusNotFound}
	}
	return newFound(one)
}

// assignedCache keeps how clusters stand to what is assigned, and the clusters as they stood then. The zero value is
// ready.
type assignedCache struct {
	mu       sync.Mutex
	made     time.Time
	known    map[string]*fleetview.AssignedRuns
	clusters []fleetview.Overview
}

// addAssigned adds to a source the state of what is assigned, and the clusters as they were then.
func (s *site) addAssigned(ctx context.Context, src answer.Source, _ request) answer.Source {
	src, then := s.readAssigned(ctx, src)
	if src.Assigned != nil {
		src.Clusters = then
	}
	return src
}

func (s *site) addAssignedNow(ctx context.Context, src answer.Source, _ request) answer.Source {
	src, _ = s.readAssigned(ctx, src)
	return src
}

func (s *site) readAssigned(ctx context.Context, src answer.Source) (answer.Source, []fleetview.Overview) {
	if !src.Ledger || src.LedgerFails {
		return src, nil
	}
	s.assigned.mu.Lock()
	defer s.assigned.mu.Unlock()
	now := s.options.Now()
	if s.assigned.known != nil && now.Sub(s.assigned.made) < cachedFor {
		src.Assigned = s.assigned.known
		return src, s.assigned.clusters
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ledgerTimeout)
	defer cancel()
	known := map[string]*fleetview.AssignedRuns{}
	for _, o := range src.Clusters {
		runs, err := s.options.Fleet.FindAssigned(ctx, o.Environment)
		if err != nil {
			s.options.Logger.WarnContext(ctx, "the ledger cannot be asked", slog.Any("error", err))
			src.LedgerFails = true
			return src, nil
		}
		known[o.Environment] = runs
	}
	s.assigned.known, s.assigned.clusters, s.assigned.made, src.Assigned = known, src.Clusters, now, known
	return src, src.Clusters
}
