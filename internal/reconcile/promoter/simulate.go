package promoter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/lane"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/promotion/wave"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

// SimulateArrivals returns when a commit of the base would reach each environment under the current
// gates, from what a cycle has found, at the time of [Promoter.StartRound]. It changes nothing.
func (m *Promoter) SimulateArrivals(ctx context.Context, policy Policy, environments map[string]Environment, revision string) ([]promote.Arrival, error) {
	m.source, m.environments, m.simulates = policy.source, environments, true
	defer func() { m.simulates = false }()
	if policy.base.Repo == nil {
		return nil, errNoCommits
	}
	commit, err := ResolvePromotable(policy.base, revision)
	if errors.Is(err, git.ErrNoRevision) {
		releases, release, err := findNamedRelease(policy.base, revision)
		switch {
		case err != nil:
			return nil, err
		case release == "" && releases.Line.Head() != "":
			return nil, &UnknownCommitError{fmt.Sprintf("lane %s has no release %s", releases.Lane, revision), "fairlead versions shows the newest one"}
		case release != "":
			return simulateRelease(ctx, m, policy, releases, release)
		}
		return nil, &UnknownCommitError{fmt.Sprintf("the base has no revision %s", revision), "check the name, and that it was pushed"}
	}
	if err != nil {
		return nil, err
	}
	all, h, err := m.observeAll(ctx, policy)
	if err != nil {
		return nil, err
	}
	if !h.Contains(commit) { // a round looks back no further than to the oldest commit that an environment has
		h, err = ReadHistory(policy.base, list.Convert(all, func(s *stageState) string { return s.stage.Commit })...)
	}
	if err != nil {
		return nil, err
	}
	if !h.Contains(commit) {
		return nil, &UnknownCommitError{fmt.Sprintf("commit %s is not on the base's branch %s", text.ShortCommit(commit), policy.base.Branch), "merge it there first: only commits of that branch are promoted"}
	}
	byName := map[string]*stageState{}
	for _, s := range all {
		byName[s.spec.Name] = s
	}
	enter := func(environment, commit string, from time.Time) gate.Forecast {
		return m.forecastGates(ctx, byName[environment], commit, "", from)
	}
	proof := func(environment, commit string, from time.Time) gate.Forecast {
		s := byName[environment]
		if s.stage.Commit == commit {
			return s.forecastProof(s.facts, from)
		}
		return s.forecastProof(gate.Facts{Now: s.facts.Now, Environment: environment, Commit: commit}, from)
	}
	stages, lanes := stagesOf(all), (*laneDecider)(nil)
	if defined := policy.lanes(); defined != nil {
		lanes, err = m.newLaneDecider(*defined, all, h)
		if err != nil {
			return nil, err
		}
		for i, s := range all {
			if held := lanes.findHeldLane(s, commit); held != "" && s.movesByLanes() && stages[i].HoldReason == "" {
				stages[i].HoldReason = fmt.Sprintf("lane %s is held: %s", held, s.laneHolds[held])
			}
		}
	}
	arrivals := promote.SimulateArrivals(h, stages, commit, enter, proof, m.now)
	for i, a := range arrivals {
		s := byName[a.Environment]
		if a.State == promote.ArrivalReached && s.stage.Merged && m.isLeftOut(policy, s, commit) {
			arrivals[i].State, arrivals[i].Time = promote.ArrivalLeftOut, time.Time{}
			arrivals[i].Reason = fmt.Sprintf("it never had it by itself: the newer %s contains it", text.ShortCommit(s.stage.Commit))
		}
	}
	if lanes != nil {
		err = lanes.simulate(ctx, commit, arrivals)
	}
	return arrivals, err
}

func findNamedRelease(base source.Base, name string) (Releases, string, error) {
	i := strings.LastIndexByte(name, '-')
	if i < 0 {
		return Releases{}, "", nil
	}
	r, _, err := FindReleases(base, name[:i])
	for _, commit := range r.Line.Commits() {
		if r.Name(commit) == name {
			return r, commit, err
		}
	}
	return r, "", err
}

func simulateRelease(ctx context.Context, m *Promoter, policy Policy, r Releases, commit string) ([]promote.Arrival, error) {
	all, _, err := m.observeAll(ctx, policy)
	if err != nil {
		return nil, err
	}
	l := &releaseLine{Releases: r}
	if err := decideReleases(ctx, m, policy, all, l); err != nil {
		return nil, err
	}
	enter := func(environment, commit string, from time.Time) gate.Forecast {
		return m.forecastGates(ctx, findStage(l.stages, environment), commit, r.Lane, from)
	}
	proof := func(environment, commit string, from time.Time) gate.Forecast {
		s := findStage(l.stages, environment)
		if s.stage.Commit == commit {
			return s.forecastProof(s.facts, from)
		}
		return s.forecastProof(gate.Facts{Now: s.facts.Now, Environment: environment, Commit: commit}, from)
	}
	return promote.SimulateArrivals(r.Line.Barring(r.findSkipped(policy.base.Progress.Skips)), stagesOf(l.stages), commit, enter, proof, m.now), nil
}

// simulate replaces the arrivals at environments where the lanes that a commit changes get there before the whole does.
func (e *laneDecider) simulate(ctx context.Context, commit string, arrivals []promote.Arrival) (err error) {
	changed := e.history.Changed(commit)
	byLane := map[string][]promote.Arrival{}
	for _, name := range changed {
		enter := func(environment, version string, from time.Time) gate.Forecast {
			return e.promoter.forecastGates(ctx, findStage(e.stages, environment), version, name, from)
		}
		proof := func(environment, version string, from time.Time) gate.Forecast { // what is known of the whole is not that of the lane
			s := findStage(e.stages, environment)
			return s.forecastProof(gate.Facts{Now: s.facts.Now, Environment: environment, Commit: version}, from)
		}
		byLane[name] = lane.SimulateArrivals(e.newInput(ctx, "", nil), name, commit, enter, proof)
	}
	for i, s := range e.stages {
		if len(changed) == 0 || !s.movesByLanes() {
			continue
		}
		worst := byLane[changed[0]][i]
		for _, name := range changed[1:] {
			if one := byLane[name][i]; worst.Better(one) {
				worst = one
			}
		}
		if !worst.Better(arrivals[i]) {
			continue
		}
		obstacle := ""
		if worst.State == promote.ArrivalExpected || worst.State == promote.ArrivalWaits {
			obstacle, err = e.findObstacle(ctx, s, changed)
			if err != nil {
				return err
			}
		}
		if obstacle == "" {
			worst.Lanes = changed
			worst.AddReason("by itself, as " + text.Join(list.Convert(changed, func(name string) string { return "lane " + name }), " and "))
			arrivals[i] = worst
		} else {
			arrivals[i].AddReason(obstacle)
		}
	}
	return nil
}

func (e *laneDecider) findObstacle(ctx context.Context, s *stageState, lanes []string) (string, error) {
	report, err := e.decide(ctx, s, nil)
	if err != nil {
		return "", err
	}
	for _, d := range report.Decisions {
		isAlone := d.Reason.Kind == "" || d.Reason.Kind == lane.NotProven || d.Reason.Kind == lane.Held || d.Reason.Kind == lane.Unreported
		if slices.Contains(lanes, d.Lane) && !isAlone {
			return fmt.Sprintf("lane %s: %s", d.Lane, d.Explain()), nil
		}
	}
	return "", nil
}

func findStage(all []*stageState, environment string) *stageState {
	return all[slices.IndexFunc(all, func(s *stageState) bool { return s.spec.Name == environment })]
}

var errNoCommits = errors.New("the base is a folder, and has no commits")

// UnknownCommitError means that a revision names no commit that can be promoted.
type UnknownCommitError struct{ reason, advice string }

// Error returns why it does not.
func (e *UnknownCommitError) Error() string { return e.reason }

// Hint returns what to do about it.
func (e *UnknownCommitError) Hint() string { return e.advice }

// BlockedError means that problems stop all promotions.
type BlockedError struct{ Problems problem.List }

// Error returns how many there are.
func (e *BlockedError) Error() string {
	n, _ := e.Problems.Count()
	return fmt.Sprintf("nothing is promoted until %s mended", map[bool]string{true: "1 problem is", false: fmt.Sprintf("%d problems are", n)}[n == 1])
}

func (m *Promoter) forecastGates(ctx context.Context, s *stageState, commit, lane string, from time.Time) gate.Forecast {
	f, err := m.readCandidateFacts(ctx, s, commit, lane)
	if err != nil {
		return gate.Forecast{WaitsFor: err.Error()}
	}
	m.answerNeeds(ctx, s, &s.enterGates, &f)
	return s.enterGates.ForecastWithFreezes(f, from)
}

func (s *stageState) forecastProof(f gate.Facts, from time.Time) gate.Forecast {
	waves := forecastWaves(s, f, from)
	running := s.running.Forecast(f, waves.Time)
	soaking := s.soaking.Forecast(f, running.Time)
	soaking.WaitsFor, soaking.Delays = running.WaitsFor, waves.Delays // how long it soaks is known when it runs
	if waves.WaitsFor != "" {                                         // its own proof begins after them
		soaking.WaitsFor = waves.WaitsFor
	}
	if running.Time.After(soaking.Time) {
		soaking.Time = running.Time
	}
	return soaking
}

func forecastWaves(s *stageState, f gate.Facts, from time.Time) gate.Forecast {
	all, waits := gate.Forecast{Time: from}, []string{}
	known, runs := s.memory.waves, s.stage.InWaves && s.stage.Commit == f.Commit
	waves := known.waves
	switch {
	case len(s.spec.Waves) == 0 || s.stage.Commit == f.Commit && s.stage.Merged && !runs:
		return all
	case !runs && s.spec.Advance.Of != nil && !slices.Contains(s.spec.Advance.Of, model.InputBase):
		return all
	case !runs:
		types := make(map[string]map[string]string, len(s.environment.ClusterTypes))
		for _, t := range s.environment.ClusterTypes {
			types[t.Name] = t.WaveLabels
		}
		waves = slices.DeleteFunc(wave.Partition(s.spec.Name, "", s.spec.Waves, types), func(m wave.Members) bool { return len(m.Folders) == 0 })
	}
	for i, one := range waves {
		verdict, isMerged := known.verdicts[one.Name]
		if runs && verdict.Status == gate.Pass {
			continue
		}
		spec := findWave(s.spec, one.Name)
		gates, _ := gate.CompileWaveGates(spec)
		proof, _ := gate.CompileWave(spec)
		running, soaking := proof.SplitSoak()
		facts := gate.Facts{Now: f.Now, Environment: f.Environment, Commit: f.Commit}
		parts := []gate.Set{gates, running, soaking}
		if runs && isMerged {
			parts, facts.DeployedAt = parts[1:], known.deployedAt[one.Name]
			if !facts.DeployedAt.IsZero() {
				parts = parts[1:]
			}
		} else if i == len(waves)-1 {
			parts = parts[:1]
		}
		if entry := s.memory.waveEntry; !isMerged && s.stage.Commit == f.Commit && entry.wave == one.Name && entry.verdict.Status == gate.Pass {
			parts[0].Gates = nil
		}
		for j, part := range parts {
			facts.Freezes = nil
			if part.Name == gates.Name {
				facts.Freezes = slices.DeleteFunc(slices.Clone(s.base.Progress.Freezes), func(z *model.Freeze) bool {
					return z.Scope == model.ScopePromotion || z.PassesWaves && i > 0
				})
			}
			next := part.ForecastWithFreezes(facts, all.Time)
			all.Time = next.Time
			if j < len(parts)-1 || i == len(waves)-1 { // not of soaking
				all.Delays = list.AddMissing(all.Delays, next.Delays...)
			}
			if next.WaitsFor != "" {
				waits = append(waits, fmt.Sprintf("wave %s: %s", one.Name, next.WaitsFor))
			}
		}
	}
	all.WaitsFor = strings.Join(waits, "; ")
	return all
}
