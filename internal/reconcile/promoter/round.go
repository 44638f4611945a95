package promoter

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/parallel"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// StartRound starts a round. All decisions of the round use this time.
func (m *Promoter) StartRound(at time.Time) { m.now = at }

// NextRound returns when to run a round without an event; zero for never.
func (m *Promoter) NextRound() time.Time { return m.schedule.next }

// IsDue reports whether to run a round though no reference has moved, and whether an event has woken
// the loop.
func (m *Promoter) IsDue(woken bool) bool { return m.schedule.isDue(m.now, woken) }

// RunRound reads how far commits have been promoted, and promotes them further, by the policy that
// was loaded last. It runs after a cycle has rendered all environments, and decides from its
// results. again reports whether another round is needed though no reference moves.
func (m *Promoter) RunRound(ctx context.Context, policy Policy, environments map[string]Environment) (again bool) {
	for name, e := range environments { // where a commit changes nothing, the output does not name it
		if e.InSync && e.BaseCommit != "" {
			m.memoryOf(name).syncedCommit = e.BaseCommit
		}
	}
	if m.options.Settings.Promotion != managedPromotion {
		m.options.Store.SetPromotions(status.Chain{External: true, Checked: m.now})
		return false
	}
	m.source, m.environments = policy.source, environments
	m.schedule.start(m.now)
	var report status.Chain
	var promoted bool
	err := m.options.Barrier.Run("promote", "", func() (err error) {
		report, promoted, err = m.reconcile(ctx, policy)
		return err
	})
	if ctx.Err() != nil || errors.Is(err, errMoved) {
		return true
	}
	if err != nil {
		m.schedule.planFailed(m.now, m.options.Random)
		m.options.Logger.Warn("promotions could not be looked at", "error", err, "next", m.schedule.next)
		return false
	}
	report.Checked = m.now
	m.options.Store.SetPromotions(report)
	return promoted
}

// managedPromotion is the setting that makes Fairlead promote.
const managedPromotion = "managed"

// reconcile evaluates every stage once and applies the decisions: it observes all stages, decides,
// applies, reports, and plans the next round. promoted reports whether we pushed a promotion, which
// the remote does not report as news.
func (m *Promoter) reconcile(ctx context.Context, policy Policy) (report status.Chain, promoted bool, err error) {
	base, chain := policy.base, policy.chain
	report = status.Chain{Inferred: chain.Inferred, External: chain.External, Head: base.Head}
	if chain.External || base.Repo == nil {
		report.Problems = policy.problems.Sorted()
		return report, false, nil
	}
	stages, problems := m.newStages(policy)
	report.Problems = problems.Sorted()
	m.logProblems(report.Problems)
	if problems.Stops() {
		return report, false, nil
	}
	history, err := m.observeStages(ctx, base, stages)
	if err != nil {
		return report, false, err
	}
	decisions, err := m.decideStages(ctx, stages, history)
	if err != nil {
		return report, false, err
	}
	if err := m.applyDecisions(ctx, base, stages, decisions); err != nil {
		return report, false, err
	}
	for i, s := range stages {
		m.logError(s)
		promoted = promoted || s.promoted
		stage := s.newReport(decisions[i], history)
		m.options.Metrics.SetStage(stage, oldestWaiting(base, history, s.stage.Commit))
		report.Stages = append(report.Stages, stage)
	}
	m.schedule.planNext(m.now, summarizeRound(stages, report.Stages), m.options.Settings.Schedule.Interval, m.options.Random)
	return report, promoted, nil
}

// oldestWaiting returns when the oldest commit was made that an environment does not have; zero if
// it has all, or none yet.
func oldestWaiting(base source.Base, history promote.History, has string) time.Time {
	oldest := history.OldestNewer(has)
	if has == "" || oldest == "" {
		return time.Time{}
	}
	info, err := base.Repo.Commit(oldest)
	if err != nil { // the round has read it, and a figure is no reason to stop
		return time.Time{}
	}
	return info.When
}

// observeStages reads the facts of all stages, and returns the history of the base's branch back to
// the oldest commit that they have. A panic in the work for one stage stops that stage, and no
// other.
func (m *Promoter) observeStages(ctx context.Context, base source.Base, stages []*stageState) (promote.History, error) {
	history, err := m.readBranches(ctx, base, stages)
	if err != nil {
		return promote.History{}, err
	}
	parallel.Each(m.options.Settings.Parallel, stages, func(_ int, s *stageState) {
		if err := m.runIsolated("look at the commit", s, func() error { return m.evaluateStage(ctx, s, history) }); err != nil {
			s.stopUnknown(err)
		}
	})
	m.loadEarlierProofs(ctx, stages, history)
	return history, nil
}

// runIsolated runs work for one environment, so that a panic in it is that environment's error.
func (m *Promoter) runIsolated(work string, s *stageState, do func() error) error {
	return m.options.Barrier.Run(work, s.spec.Name, do)
}

// newStages returns the states of a chain's stages, in which nothing is known yet, and the problems
// of the order of promotion and of their gates. What is remembered of others is dropped.
func (m *Promoter) newStages(policy Policy) ([]*stageState, problem.List) {
	clear(m.statuses)
	problems := slices.Clip(policy.problems)
	all := make([]*stageState, len(policy.chain.Stages))
	memories := map[string]*memory{}
	for name := range m.environments {
		memories[name] = m.memoryOf(name)
	}
	for i, spec := range policy.chain.Stages {
		memories[spec.Name] = m.memoryOf(spec.Name)
		environment, ours := m.environments[spec.Name]
		all[i] = &stageState{
			spec: spec, base: policy.base, memory: memories[spec.Name], environment: environment,
			stage: promote.Stage{Name: spec.Name, After: spec.After, Queue: spec.Queue, Proven: map[string]bool{}, External: !ours},
		}
		problems = append(problems, all[i].compileGates()...)
	}
	m.memories = memories
	return all, problems
}

// readBranches reads the branches of all environments, and the history of the base back to the
// oldest commit that they have.
func (m *Promoter) readBranches(ctx context.Context, base source.Base, all []*stageState) (promote.History, error) {
	var wanted []string
	for _, s := range all {
		if err := m.runIsolated("read the branch", s, func() error { return m.readBranch(ctx, s) }); err != nil {
			s.recordError(err)
			s.stage.StoppedReason = "its branch cannot be read: " + err.Error()
			continue
		}
		if s.stage.Commit != "" {
			wanted = append(wanted, s.stage.Commit)
		}
	}
	slices.Sort(wanted)
	return m.loadHistory(base, slices.Compact(wanted))
}
