package promoter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/parallel"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
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
			m.memoryOf(name).synced = e.base()
		}
	}
	if m.options.Settings.Promotion != managedPromotion {
		m.reportChain(Policy{chain: model.Chain{External: true}}, chainState{})
		return false
	}
	m.source, m.environments = policy.source, environments
	m.schedule.start(m.now)
	var found chainState
	err := m.options.Barrier.Run("promote", "", func() (err error) {
		m.placeClusters(policy.clusterKeys())
		found, err = m.reconcile(ctx, policy)
		if err == nil && ctx.Err() == nil {
			m.reportChain(policy, found)
		}
		return err
	})
	if ctx.Err() != nil || errors.Is(err, errMoved) {
		return true
	}
	if err != nil {
		m.schedule.planFailed(err, m.now, m.options.Random)
		m.options.Logger.Warn("promotions could not be looked at", "error", err, "next", m.schedule.next)
		return false
	}
	return found.promoted
}

type chainState struct {
	problems  problem.List // of the order of promotion and of its gates
	stages    []*stageState
	decisions []promote.Decision // of the stages, as they were settled; none while problems stop all
	releases  []*releaseLine
	history   promote.Line
	// promoted reports that we pushed a promotion, or that a verdict on a wave has changed: the remote
	// reports neither as news.
	promoted bool
}

// managedPromotion is the setting that makes Fairlead promote.
const managedPromotion = "managed"

// reconcile evaluates every stage once and applies the decisions: it observes all stages, decides,
// applies, and plans the next round.
func (m *Promoter) reconcile(ctx context.Context, policy Policy) (found chainState, err error) {
	base := policy.base
	if policy.chain.External || base.Repo == nil {
		found.problems = policy.problems.Sorted()
		return found, nil
	}
	found.stages, found.problems = m.newStages(policy)
	m.logProblems(found.problems)
	if found.problems.Stops() {
		return found, nil
	}
	found.history, err = m.observeStages(ctx, base, found.stages)
	if err != nil {
		return found, err
	}
	found.problems = append(found.problems, m.findUnknownLanes(policy, found.stages)...).Sorted()
	found.decisions, err = m.decideStages(ctx, policy, found.stages, found.history)
	if err != nil {
		return found, err
	}
	if err := m.applyDecisions(ctx, base, found.stages, found.decisions); err != nil {
		return found, err
	}
	for i, s := range found.stages {
		m.logError(s)
		found.promoted = found.promoted || s.promoted || s.wavesChanged
		found.decisions[i] = s.settleDecision(found.decisions[i])
	}
	var cut bool
	var more problem.List
	found.releases, more, cut, err = promoteReleases(ctx, m, policy, found.stages)
	if err != nil {
		return found, err
	}
	found.promoted, found.problems = found.promoted || cut, append(found.problems, more...).Sorted()
	m.schedule.planNext(m.now, found.summarize(), m.options.Settings.Schedule.Interval, m.options.Random)
	return found, nil
}

func (s *stageState) settleDecision(d promote.Decision) promote.Decision {
	var blocked *problem.Refusal
	if errors.Is(s.err, publish.ErrBlocked) && errors.As(s.err, &blocked) && (d.State == promote.Promotes || d.State == promote.Waiting) { // by a person, until a person acts
		d.State, d.Verdict.Status, d.Verdict.Reason = promote.Waiting, gate.Wait, fmt.Sprintf("%s; %s", s.err, blocked.Hint())
	} else if s.err != nil && d.State == promote.Promotes {
		d.State, d.Error = promote.Waiting, s.err.Error()
		d.Verdict.Status, d.Verdict.Reason = gate.Wait, "it is tried again: "+d.Error
	}
	if s.proposed != 0 && d.State == promote.Promotes {
		d.State, d.Verdict.Status = promote.Waiting, gate.Wait
		d.Verdict.Reason = fmt.Sprintf("pull request %d of the control plane, which proposes it, is not merged", s.proposed)
	}
	if s.declined != 0 && d.State != promote.Held {
		d.State, d.Verdict.Status = promote.Waiting, gate.Wait
		d.Verdict.Reason = fmt.Sprintf("pull request %d, which proposes %s, was closed; open it again, or promote another commit", s.declined, text.ShortCommit(d.Candidate))
	}
	return d
}

func (c *chainState) summarize() roundResult {
	var r roundResult
	var observed strings.Builder
	stages, decisions := slices.Clone(c.stages), slices.Clone(c.decisions)
	for _, l := range c.releases {
		stages, decisions = append(stages, l.stages...), append(decisions, l.decisions...)
	}
	for i, d := range decisions {
		s := stages[i].stage
		fmt.Fprintln(&observed, s.Name, s.Commit, s.Merged, s.Proof.Status, s.Proof.Reason, d.State, d.Candidate, d.Verdict.Reason)
		r.waiting = r.waiting || stages[i].err != nil || stages[i].unmerged || d.State == promote.Waiting && stages[i].proposed == 0 || d.State == promote.Held || s.Commit != "" && s.Proof.Status != gate.Pass
		for _, v := range []gate.Verdict{s.Proof, d.Verdict} {
			r.nextChange = gate.EarlierTime(r.nextChange, v.NextChange())
		}
		r.nextChange = gate.EarlierTime(r.nextChange, stages[i].memory.waveEntry.verdict.NextChange())
	}
	r.observed = observed.String()
	return r
}

// observeStages reads the facts of all stages, and returns the history of the base's branch back to
// the oldest commit that they have. A panic in the work for one stage stops that stage, and no
// other.
func (m *Promoter) observeStages(ctx context.Context, base source.Base, stages []*stageState) (promote.Line, error) {
	history, err := m.readBranches(ctx, base, stages)
	if err != nil {
		return promote.Line{}, err
	}
	for _, s := range stages {
		s.stage.Floor, s.stage.Ceiling = findFloor(history, s.composition()), findCeiling(history, s.composition())
		if s.stage.Commit != "" && s.stage.StoppedReason == "" && !history.Contains(s.stage.Commit) {
			s.stage.StoppedReason = newRewriteLoss(base.Branch, s.stage.Commit, s.spec.Name).String()
		}
	}
	parallel.Each(m.options.Settings.Parallel, stages, func(_ int, s *stageState) {
		if err := m.runIsolated(ctx, "look at the commit", s, func(ctx context.Context) error { return m.evaluateStage(ctx, s, history) }); err != nil {
			s.stopUnknown(err)
		}
	})
	m.loadEarlierProofs(ctx, stages, history)
	return history, nil
}

// runIsolated runs work for one environment, so that a panic in it is that environment's error.
func (m *Promoter) runIsolated(ctx context.Context, work string, s *stageState, do func(context.Context) error) error {
	ctx, leave := m.options.Enter(ctx, s.spec.Name)
	defer leave()
	return m.options.Barrier.Run(work, s.spec.Name, func() error { return do(ctx) })
}

// newStages returns the states of a chain's stages, in which nothing is known yet, and the sorted
// problems of the order of promotion and of their gates. What is remembered of others is dropped.
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
			stage: promote.Stage{Name: spec.Name, After: spec.After, Queue: spec.Queue, External: !ours, Position: promote.Position{Proven: map[string]bool{}}},
		}
		problems = append(problems, all[i].compileGates(m.options.Settings.Costs.Limit)...)
		problems = append(problems, m.findUntrustable(spec)...)
	}
	m.memories = memories
	return all, problems.Sorted()
}

func (m *Promoter) readBranches(ctx context.Context, base source.Base, all []*stageState) (promote.Line, error) {
	var wanted []string
	for _, s := range all {
		if err := m.runIsolated(ctx, "read the branch", s, func(ctx context.Context) error { return m.readBranch(ctx, s) }); err != nil {
			s.recordError(err)
			s.stage.StoppedReason = "its branch cannot be read: " + err.Error()
			continue
		}
		m.noteListed(s)
		if s.stage.Commit != "" {
			wanted = append(wanted, s.stage.Commit)
		}
		for _, commit := range s.lanes {
			if onBase, err := base.Repo.Contains(base.Head, commit); err == nil && onBase {
				wanted = append(wanted, commit)
			}
		}
	}
	slices.Sort(wanted)
	return m.loadHistory(base, slices.Compact(wanted))
}
