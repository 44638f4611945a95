package promoter

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/lane"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/render/output"
)

// ExplainLanes returns what lanes could do in an environment, from what a cycle has found, at the time of
// [Promoter.StartRound]: with other lanes than those of the Promotion, before the gates, unless they are nil. It is nil if there
// are none. It changes nothing.
func (m *Promoter) ExplainLanes(ctx context.Context, policy Policy, environments map[string]Environment, environment string, lanes *model.Lanes) (*lane.Report, error) {
	m.source, m.environments, m.simulates = policy.source, environments, true
	defer func() { m.simulates = false }()
	if policy.base.Repo == nil {
		return nil, errNoCommits
	}
	isWritten := lanes == nil
	if isWritten {
		lanes = policy.lanes()
	}
	if lanes == nil {
		return nil, nil
	}
	all, line, err := m.observeAll(ctx, policy)
	if err != nil {
		return nil, err
	}
	e, err := m.newLaneDecider(*lanes, all, line)
	if err != nil {
		return nil, err
	}
	problems, err := e.check()
	switch {
	case err != nil:
		return nil, err
	case problems.Stops():
		return nil, &BlockedError{problems}
	case !isWritten && len(problems) > 0:
		return nil, refuseUnmatched(e.base, lanes.Each, problems[0].Summary)
	}
	i := slices.IndexFunc(all, func(s *stageState) bool { return s.spec.Name == environment })
	var enter func(lane, version string) gate.Verdict
	if isWritten {
		enter = e.evaluateGates(ctx, all[i])
	}
	return e.decide(ctx, all[i], enter)
}

func (o Policy) lanes() *model.Lanes { return DefinedLanes(o.base) }

// DefinedLanes returns the lanes of the Promotion in a base; nil if there are none.
func DefinedLanes(base source.Base) *model.Lanes {
	if base.Progress == nil || len(base.Progress.Promotions) != 1 {
		return nil
	}
	return base.Progress.Promotions[0].Lanes
}

// findCeiling returns the oldest commit that a base has a lane of, if that is older than the platform's; otherwise "".
func findCeiling(line promote.Line, base lane.Composition) string {
	ceiling := ""
	for _, commit := range base.Lanes {
		if line.IsNewer(base.Platform, commit) && (ceiling == "" || line.IsNewer(ceiling, commit)) {
			ceiling = commit
		}
	}
	return ceiling
}

// findFloor returns the newest commit that a base has a lane of; "" if it has none of its own.
func findFloor(line promote.Line, base lane.Composition) string {
	floor := ""
	for _, commit := range base.Lanes {
		switch {
		case !line.Contains(commit): // nothing is known to be newer
			return commit
		case floor == "" || line.IsNewer(commit, floor):
			floor = commit
		}
	}
	return floor
}

// decideLanes decides for each stage that does not move as a whole whether its lanes move by themselves, and changes the decisions
// about those that do.
func (m *Promoter) decideLanes(ctx context.Context, policy Policy, all []*stageState, line promote.Line, decisions []promote.Decision) error {
	lanes := policy.lanes()
	if lanes == nil {
		return nil
	}
	var e *laneDecider
	for i, s := range all {
		d := &decisions[i]
		fails := len(s.lanes) > 0 && s.stage.Proof.Status == gate.Fail && !s.stage.External
		has := d.State == promote.Current && s.stage.Commit == line.Head() && len(s.lanes) == 0
		stays := has || d.State == promote.Held || d.State == promote.Stopped || d.State == promote.Promotes && len(s.laneHolds) == 0
		if stays && !fails || !s.movesByLanes() {
			continue
		}
		if e == nil {
			var err error
			e, err = m.newLaneDecider(*lanes, all, line)
			if err != nil {
				return err
			}
		}
		if fails {
			err := m.runIsolated(ctx, "look at the lanes", s, func(ctx context.Context) error { return e.judgeLanes(ctx, s) })
			if err != nil {
				s.recordError(err)
			}
		}
		if stays {
			continue
		}
		held := e.findHeldLane(s, d.Candidate)
		if d.State == promote.Promotes && held == "" {
			continue
		}
		err := m.runIsolated(ctx, "decide about the lanes", s, func(ctx context.Context) (err error) {
			s.laneReport, err = e.decide(ctx, s, e.evaluateGates(ctx, s))
			return err
		})
		if err != nil {
			s.recordError(err)
			continue
		}
		moving := s.laneReport.Moving()
		switch {
		case len(moving) > 0:
			s.next, s.written = &s.laneReport.Next, lanes
			*d = e.newDecision(*d, moving)
		case d.State == promote.Promotes:
			reason := fmt.Sprintf("lane %s is held: %s", held, s.laneHolds[held])
			d.State, d.Verdict = promote.Waiting, gate.Verdict{Gate: d.Environment, Status: gate.Wait, Reason: reason, Parts: []gate.Verdict{{Gate: "hold", Status: gate.Wait, Reason: reason}}}
		}
	}
	if e == nil { // all move as a whole
		for _, s := range all {
			s.memory.laneCache = nil
		}
	}
	return ctx.Err()
}

func (s *stageState) movesByLanes() bool {
	lanes := DefinedLanes(s.base)
	return lanes != nil && len(s.spec.After) > 0 && s.spec.Record != recordByPull && s.branch.Commit != "" && HasLanesOf(s.branch, *lanes)
}

// HasLanesOf reports whether the lanes that a branch lists have the paths that they have in a definition.
func HasLanesOf(b source.Branch, lanes model.Lanes) bool {
	return b.Lanes == nil || lane.NewPartition(lanes).Defines(b.Lanes.Lanes, slices.Collect(maps.Keys(b.Lanes.Commits)))
}

func (e *laneDecider) findHeldLane(s *stageState, commit string) string {
	for _, name := range slices.Sorted(maps.Keys(s.laneHolds)) {
		has := lane.Stage{Stage: s.stage, Lanes: s.lanes}.Has(name)
		if commit != "" && e.history.Version(name, commit) != e.history.Version(name, has) {
			return name
		}
	}
	return ""
}

func (m *Promoter) findUnknownLanes(policy Policy, all []*stageState) (problems problem.List) {
	var defined lane.Partition
	hint := "it moves as a whole, with the next commit that contains all that it has"
	if lanes := policy.lanes(); lanes != nil {
		defined = lane.NewPartition(*lanes)
	}
	for _, s := range all {
		for _, name := range slices.Sorted(maps.Keys(s.lanes)) {
			if !defined.Defines(s.branch.Lanes.Lanes, []string{name}) {
				problems.Warnf(s.branch.Lanes.Pos, s.branch.Lanes.Subject(), hint, "%s has lane %s, which the Promotion does not define so", s.spec.Name, name)
			}
		}
	}
	return problems
}

func (e *laneDecider) newDecision(d promote.Decision, moving []lane.Decision) promote.Decision {
	d.State, d.Candidate, d.Skipped, d.Unmerged = promote.Promotes, "", nil, false
	d.Verdict = gate.Verdict{Gate: d.Environment, Status: gate.Pass}
	for _, one := range moving {
		if d.Candidate == "" || e.line.IsNewer(one.Candidate, d.Candidate) {
			d.Candidate = one.Candidate
		}
		reason := fmt.Sprintf("%s may have %s of lane %s", d.Environment, text.ShortCommit(one.Candidate), one.Lane)
		d.Verdict.Parts = append(d.Verdict.Parts, gate.Verdict{Gate: "lane " + one.Lane, Status: gate.Pass, Reason: reason})
	}
	d.Verdict.Reason = d.Verdict.Parts[0].Reason
	if more := len(moving) - 1; more > 0 {
		d.Verdict.Reason += fmt.Sprintf(", and %s", text.Count(more, "more lane"))
	}
	return d
}

func (m *Promoter) newLaneDecider(lanes model.Lanes, all []*stageState, line promote.Line) (*laneDecider, error) {
	e := &laneDecider{
		promoter: m, base: all[0].base, lanes: lanes, partition: lane.NewPartition(lanes), stages: all, line: line,
		events: map[string]map[string]laneReports{},
	}
	var err error
	e.history, err = lane.NewHistory(line, e.changedLanes)
	return e, err
}

func (e *laneDecider) decide(ctx context.Context, s *stageState, enter func(lane, version string) gate.Verdict) (*lane.Report, error) {
	report, err := lane.Decide(e.newInput(ctx, s.spec.Name, enter))
	return &report, err
}

func (e *laneDecider) newInput(ctx context.Context, environment string, enter func(lane, version string) gate.Verdict) lane.Input {
	stages := make([]lane.Stage, len(e.stages))
	for i, one := range e.stages {
		stages[i] = lane.Stage{Stage: one.stage, Lanes: one.lanes, Held: one.laneHolds}
		if !HasLanesOf(one.branch, e.lanes) {
			stages[i].StoppedReason = cmp.Or(one.stage.StoppedReason, "it has lanes that the Promotion does not define so; it moves as a whole until it has none")
		}
	}
	return lane.Input{
		History: e.history, Stages: stages, Environment: environment, Now: e.promoter.now, Enter: enter, VerifiedOnly: !e.promoter.simulates,
		Proof:  func(environment, name string) (gate.Verdict, bool) { return e.evaluateProof(ctx, environment, name) },
		Render: func(c lane.Composition) (lane.Output, error) { return e.render(ctx, environment, c) },
	}
}

func (e *laneDecider) evaluateGates(ctx context.Context, s *stageState) func(lane, version string) gate.Verdict {
	known := map[string]gate.Verdict{}
	differs := len(s.approvalGates()) > 0 || slices.ContainsFunc(s.enterGates.Gates, gate.IsOfLanes)
	s.decider = e
	return func(lane, version string) gate.Verdict {
		key := version
		if differs {
			key += " " + lane
		}
		v, isKnown := known[key]
		if isKnown {
			return v
		}
		v, err := e.promoter.evaluateGates(ctx, s, version, lane)
		if err != nil {
			s.recordError(err)
			v = gate.Verdict{Gate: "gates", Status: gate.Wait, Reason: "the gates cannot be evaluated: " + err.Error()}
		}
		known[key] = v
		return v
	}
}

func (e *laneDecider) findOwner(ctx context.Context, environment, stack string) string {
	i := slices.IndexFunc(e.stages, func(s *stageState) bool { return s.spec.Name == environment })
	return cmp.Or(e.findObjects(ctx, e.stages[i]).owners[stackFolder(stack)], lane.Platform)
}

// laneDecider reads what decisions about lanes need.
type laneDecider struct {
	promoter  *Promoter
	base      source.Base
	lanes     model.Lanes
	partition lane.Partition
	stages    []*stageState
	line      promote.Line
	history   lane.History
	events    map[string]map[string]laneReports // by environment and cluster
}

func (e *laneDecider) check() (problem.List, error) {
	of := &model.Object{Kind: "lanes", Name: e.lanes.Each, Pos: e.lanes.Pos}
	return git.InspectTree(e.base.Repo, e.base.Head, func(files tree.Tree) (problem.List, error) {
		return e.promoter.source.CheckLanes(e.lanes, files, of), nil
	})
}

func refuseUnmatched(base source.Base, each, reason string) error {
	folders, err := git.InspectTree(base.Repo, base.Head, func(files tree.Tree) (names []string, _ error) {
		for _, f := range files.Entries() {
			if f.IsDir() {
				names = append(names, f.Name)
			}
		}
		return names, nil
	})
	if err != nil {
		return err
	}
	return problem.Refusef(cmp.Or(problem.DidYouMean(path.Dir(each), folders), "name a folder of the base, as in workloads/*"), "%s", reason)
}

type laneStep struct {
	lineStep
	partition string
}

func (e *laneDecider) changedLanes(commit, before string) ([]string, error) {
	cache := &e.promoter.laneSteps
	key := laneStep{lineStep{commit, before}, e.partition.Key() + strings.Join(e.base.Own, "\n")}
	changed, known := (*cache)[key]
	if known {
		return changed, nil
	}
	changed, err := ReadChangedLanes(e.base, e.partition, commit, before)
	if *cache == nil || len(*cache) > maxCachedSteps {
		*cache = map[laneStep][]string{}
	}
	if err == nil {
		(*cache)[key] = changed
	}
	return changed, err
}

// ReadChangedLanes returns the lanes whose files differ between two commits of the base, sorted.
func ReadChangedLanes(base source.Base, partition lane.Partition, commit, before string) ([]string, error) {
	own := append([]string{source.OwnFolder}, base.Own...)
	return git.InspectTrees(base.Repo, []string{before, commit}, func(t []tree.Tree) ([]string, error) { return partition.ChangedLanes(t[0], t[1], own), nil })
}

func (e *laneDecider) render(ctx context.Context, environment string, c lane.Composition) (lane.Output, error) {
	known := findStage(e.stages, environment).memory
	cache := known.laneCache
	if cache == nil {
		cache = &output.Cache{}
	}
	known.laneCache = nil // a panic leaves half a cache
	at := source.Revisions{Base: c.Platform, Lanes: source.Lanes{Partition: e.partition, Commits: c.Lanes}}
	r, err := e.promoter.source.Render(ctx, environment, at, cache)
	if err != nil {
		return lane.Output{}, err
	}
	known.laneCache = cache
	if p, stops := r.Problems.FirstStopping(); stops {
		return lane.Output{Problem: p.String()}, nil
	}
	return lane.Output{Tree: r.Tree, Owners: e.partition.NewOwners(r.Model, listStackFolders)}, nil
}

func (m *Promoter) observeAll(ctx context.Context, policy Policy) ([]*stageState, promote.Line, error) {
	all, problems := m.newStages(policy)
	if problems.Stops() {
		return nil, promote.Line{}, &BlockedError{problems}
	}
	line, err := m.observeStages(ctx, policy.base, all)
	return all, line, err
}
