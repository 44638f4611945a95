package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/cost"
	"github.com/fairlead-io/fairlead/internal/reconcile/ledgerdb"
	"github.com/fairlead-io/fairlead/internal/reconcile/recorder"
	"github.com/fairlead-io/fairlead/internal/reconcile/stackview"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/render/tfplan"
)

// sentPlans keeps the plans that clusters send in memory and in the ledger.
type sentPlans struct {
	store   *status.Store
	reports *recorder.Recorder
	logger  *slog.Logger
	now     func() time.Time
	due     chan struct{} // the ledger may have plans that were not read

	mu      sync.Mutex
	written map[stackview.PlanKey]string // the plan that was written last, with its cost
	read    time.Time                    // when the newest plan was received that was read
}

func newSentPlans(store *status.Store, logger *slog.Logger, now func() time.Time) *sentPlans {
	return &sentPlans{store: store, logger: logger, now: now, due: make(chan struct{}, 1), written: map[stackview.PlanKey]string{}}
}

// expect has run read the ledger. It does not wait.
func (s *sentPlans) expect() {
	select {
	case s.due <- struct{}{}:
	default:
	}
}

// run reads the plans that others store until ctx ends, and calls wake for new ones.
func (s *sentPlans) run(ctx context.Context, wake func()) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.due:
			if s.restore(ctx) {
				wake()
			}
		}
	}
}

func (s *sentPlans) receive(ctx context.Context, wake func()) func(cluster string, r tfplan.Report) bool {
	return func(cluster string, r tfplan.Report) bool { return s.add(ctx, cluster, r, wake) }
}

// add returns whether a plan is one of a component, and stored. A gate may wait for its cost.
func (s *sentPlans) add(ctx context.Context, cluster string, r tfplan.Report, wake func()) bool {
	p := stackview.NewReportedPlan(cluster, r, s.now())
	if !s.store.AddPlan(p) {
		return false
	}
	if r.Costs != nil {
		wake()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, kept := range s.store.FindPlans(p.Namespace, p.Object) {
		if kept.ID == p.ID {
			err := s.write(ctx, kept)
			if err != nil {
				s.logger.Warn("a plan could not be stored; it is stored when it is sent again", "cluster", cluster, "object", p.Object, "error", err)
				return false
			}
		}
	}
	return true
}

func (s *sentPlans) write(ctx context.Context, p stackview.ReportedPlan) error {
	now := p.ID + cost.Text(p.Costs)
	if s.written[p.PlanKey] == now {
		return nil
	}
	content, err := json.Marshal(p)
	if err == nil {
		err = recorder.WritePlan(ctx, s.reports, ledgerdb.SentPlan{ID: p.ID, Cluster: p.Cluster, Namespace: p.Namespace, Object: p.Object, Received: p.When, Content: string(content)})
	}
	if err == nil {
		s.written[p.PlanKey] = now
	}
	return err
}

// maxPlanDelay is the longest time from the receipt of a plan until other daemons can read it, with the difference of
// their clocks.
const maxPlanDelay = 10 * time.Minute

// restore reads the plans that this daemon does not know: from before it began, or sent to another one.
func (s *sentPlans) restore(ctx context.Context) (changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	since := s.read
	if !since.IsZero() {
		since = since.Add(-maxPlanDelay)
	}
	rows, err := recorder.ReadPlans(ctx, s.reports, since)
	var all []stackview.ReportedPlan
	for _, row := range rows {
		var p stackview.ReportedPlan
		failed := json.Unmarshal([]byte(row.Content), &p)
		if failed == nil {
			all = append(all, p)
		}
		err, s.read = errors.Join(err, failed), row.Received
	}
	if err != nil {
		s.logger.Warn("plans that clusters have sent could not be read", "error", err)
	}
	return s.store.RestorePlans(all)
}
