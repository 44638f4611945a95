package promoter

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
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
		return m.forecastGates(ctx, byName[environment], commit, from)
	}
	proof := func(environment, commit string, from time.Time) gate.Forecast {
		return byName[environment].forecastProof(commit, from)
	}
	arrivals := promote.SimulateArrivals(h, stagesOf(all), commit, enter, proof, m.now)
	for i, a := range arrivals {
		s := byName[a.Environment]
		if a.State == promote.ArrivalReached && s.stage.Merged && m.isLeftOut(policy, s, commit) {
			arrivals[i].State, arrivals[i].Time = promote.ArrivalLeftOut, time.Time{}
			arrivals[i].Reason = fmt.Sprintf("it never had it by itself: the newer %s contains it", text.ShortCommit(s.stage.Commit))
		}
	}
	return arrivals, nil
}

// errNoCommits is the error for a base that is not in a repository.
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

func (m *Promoter) forecastGates(ctx context.Context, s *stageState, commit string, from time.Time) gate.Forecast {
	f, err := m.readCandidateFacts(ctx, s, commit, "")
	if err != nil {
		return gate.Forecast{WaitsFor: err.Error()}
	}
	m.answerNeeds(ctx, s, &s.enterGates, &f)
	return s.enterGates.ForecastWithFreezes(f, from)
}

// forecastProof uses the facts of the commit if the environment has it.
func (s *stageState) forecastProof(commit string, from time.Time) gate.Forecast {
	f := gate.Facts{Now: s.facts.Now, Environment: s.spec.Name, Commit: commit}
	if s.stage.Commit == commit {
		f = s.facts
	}
	running := s.running.Forecast(f, from)
	soaking := s.soaking.Forecast(f, running.Time)
	soaking.WaitsFor, soaking.Delays = running.WaitsFor, nil // how long it soaks is known when it runs
	if running.Time.After(soaking.Time) {
		soaking.Time = running.Time
	}
	return soaking
}
