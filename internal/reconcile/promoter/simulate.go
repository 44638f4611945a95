package promoter

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/parallel"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// SimulateArrivals returns when a commit of the base would reach each environment under the current
// gates, from what a cycle has found, at the time of [Promoter.StartRound]. It changes nothing.
func (m *Promoter) SimulateArrivals(ctx context.Context, src *source.Source, environments map[string]status.Environment, revision string) ([]promote.Arrival, error) {
	m.source, m.environments = src, environments
	base, chain, problems, err := m.loadPromotion(ctx, src)
	if err != nil {
		return nil, err
	}
	if base.Repo == nil {
		return nil, fmt.Errorf("the base is a folder, and has no commits")
	}
	commit, err := ResolvePromotable(base, revision)
	if err != nil {
		return nil, err
	}
	all, more := m.newStages(chain, base)
	problems = append(problems, more...)
	if problems.Stops() {
		return nil, &BlockedError{problems.Sorted()}
	}
	h, err := m.readBranches(ctx, base, all)
	if err != nil {
		return nil, err
	}
	if !h.Contains(commit) {
		return nil, fmt.Errorf("commit %s is not in the line of the base's branch", promote.ShortID(commit))
	}
	parallel.Each(m.options.Settings.Parallel, all, func(_ int, s *stageState) { m.evaluateStageIsolated(ctx, s, h) })
	m.loadEarlierProofs(ctx, all, h)
	stages := make([]promote.Stage, len(all))
	for i, s := range all {
		stages[i] = s.stage
	}
	find := func(environment string) *stageState {
		return all[slices.IndexFunc(all, func(s *stageState) bool { return s.spec.Name == environment })]
	}
	enter := func(environment string, from time.Time) gate.Forecast {
		return m.forecastGates(ctx, find(environment), commit, from)
	}
	proof := func(environment string, from time.Time) gate.Forecast {
		return find(environment).forecastProof(commit, from)
	}
	return promote.SimulateArrivals(h, stages, commit, enter, proof, m.now), nil
}

// BlockedError means that problems stop all promotions.
type BlockedError struct{ Problems problem.List }

// Error returns how many there are.
func (e *BlockedError) Error() string {
	n, _ := e.Problems.Count()
	return fmt.Sprintf("nothing is promoted until %s mended", map[bool]string{true: "1 problem is", false: fmt.Sprintf("%d problems are", n)}[n == 1])
}

func (m *Promoter) forecastGates(ctx context.Context, s *stageState, commit string, from time.Time) gate.Forecast {
	f := gate.Facts{Now: m.now, Environment: s.spec.Name, Commit: commit, Freezes: gate.ReadFreezes(s.base.Progress)}
	if err := m.readCandidateFacts(ctx, s, &f); err != nil {
		return gate.Forecast{WaitsFor: err.Error()}
	}
	f = m.answerNeeds(ctx, s, &s.enterGates, f)
	forecast := s.enterGates.Forecast(f, from)
	if frozen := gate.EvaluateFreezes(f); frozen.Status == gate.Wait {
		if frozen.ValidUntil.After(forecast.Time) {
			forecast = s.enterGates.Forecast(f, frozen.ValidUntil)
		}
		if frozen.ValidUntil.IsZero() {
			forecast.WaitsFor = frozen.Reason
		}
	}
	return forecast
}

// forecastProof uses the facts of the commit if the environment has it.
func (s *stageState) forecastProof(commit string, from time.Time) gate.Forecast {
	f := gate.Facts{Now: s.facts.Now, Environment: s.spec.Name, Commit: commit}
	if s.stage.Commit == commit {
		f = s.facts
	}
	running := s.running.Forecast(f, from)
	soaking := s.soaking.Forecast(f, running.Time)
	soaking.WaitsFor = running.WaitsFor
	if running.Time.After(soaking.Time) {
		soaking.Time = running.Time
	}
	return soaking
}
