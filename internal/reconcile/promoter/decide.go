package promoter

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/fairlead-io/fairlead/internal/base/parallel"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
)

// decideStages evaluates the gates of all candidates, and decides.
func (m *Promoter) decideStages(ctx context.Context, all []*stageState, h promote.History) ([]promote.Decision, error) {
	stages := stagesOf(all)
	candidates := promote.CandidateCommits(h, stages)
	verdicts := map[string]gate.Verdict{}
	var mu sync.Mutex
	parallel.Each(m.options.Settings.Parallel, all, func(_ int, s *stageState) {
		to := candidates[s.spec.Name]
		if to == "" {
			return
		}
		v := m.evaluateGatesIsolated(ctx, s, to)
		mu.Lock()
		defer mu.Unlock()
		verdicts[s.spec.Name] = v
	})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return promote.DecideStages(h, stages, func(environment, _ string) gate.Verdict { return verdicts[environment] }, m.now), nil
}

// evaluateGates returns whether a commit may enter an environment.
func (m *Promoter) evaluateGates(ctx context.Context, s *stageState, to string) gate.Verdict {
	f := gate.Facts{Now: m.now, Environment: s.spec.Name, Commit: to, Freezes: s.base.Progress.Freezes}
	err := m.readCandidateFacts(ctx, s, &f)
	if err != nil {
		s.recordError(err)
		return gate.Verdict{Gate: "gates", Status: gate.Wait, Reason: "it cannot be found out: " + err.Error()}
	}
	f = m.answerNeeds(ctx, s, &s.enterGates, f)
	gates := s.enterGates.Evaluate(f)
	return gate.CombineVerdicts("gates", append([]gate.Verdict{gate.EvaluateFreezes(f)}, gates.Parts...))
}

func (m *Promoter) readCandidateFacts(ctx context.Context, s *stageState, f *gate.Facts) (err error) {
	if len(s.enterGates.Gates) == 0 {
		return nil
	}
	f.Approvals, err = ReadApprovals(s.branch, f.Commit)
	if err != nil {
		return err
	}
	coming, err := s.promotedCommits(f.Commit)
	if err != nil {
		return err
	}
	f.Authors = authorNames(coming)
	if s.spec.Record == recordByPull {
		f.Pull, err = m.findRecordPull(ctx, s, f.Commit)
	}
	return err
}

// maxAuthors bounds the commits whose authors are read.
const maxAuthors = 100

// promotedCommits returns the commits in (current, candidate]; nil, and so no authors, if there are
// more than maxAuthors.
func (s *stageState) promotedCommits(commit string) ([]git.CommitInfo, error) {
	if s.candidateCommits.commit == commit {
		return s.candidateCommits.coming, nil
	}
	coming, err := s.base.Repo.CommitsBetween(s.stage.Commit, commit, maxAuthors+1)
	if err != nil {
		return nil, err
	}
	if len(coming) > maxAuthors {
		coming = nil
	} else if coming == nil {
		coming = []git.CommitInfo{}
	}
	s.candidateCommits.commit, s.candidateCommits.coming = commit, coming
	return coming, nil
}

// authorNames returns the names and addresses of commits' authors.
func authorNames(commits []git.CommitInfo) []string {
	var all []string
	for _, c := range commits {
		for _, name := range []string{c.Author.Email, c.Author.Name} {
			if name != "" && !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	slices.Sort(all)
	return all
}

// evaluateGatesIsolated is evaluateGates where a panic keeps the commit waiting.
func (m *Promoter) evaluateGatesIsolated(ctx context.Context, s *stageState, to string) (v gate.Verdict) {
	err := m.runIsolated("ask the gates", s, func() error { v = m.evaluateGates(ctx, s, to); return nil })
	if err != nil {
		s.recordError(err)
		v = gate.Verdict{Gate: "gates", Status: gate.Wait, Reason: fmt.Sprintf("it cannot be found out: %v", err)}
	}
	return v
}

// stagesOf returns what decisions need to know of stages.
func stagesOf(all []*stageState) []promote.Stage {
	stages := make([]promote.Stage, len(all))
	for i, s := range all {
		stages[i] = s.stage
	}
	return stages
}
