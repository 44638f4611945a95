package promoter

import (
	"context"
	"sync"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/parallel"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
)

func (m *Promoter) decideStages(ctx context.Context, policy Policy, all []*stageState, h promote.Line) ([]promote.Decision, error) {
	decisions, err := decideLine(ctx, m, all, h, "")
	if err != nil {
		return nil, err
	}
	return decisions, m.decideLanes(ctx, policy, all, h, decisions)
}

func decideLine(ctx context.Context, m *Promoter, all []*stageState, h promote.Line, lane string) ([]promote.Decision, error) {
	stages := stagesOf(all)
	candidates := promote.CandidateCommits(h, stages)
	verdicts := map[string]gate.Verdict{}
	var mu sync.Mutex
	for _, s := range all {
		s.stages = all
	}
	parallel.Each(m.options.Settings.Parallel, all, func(_ int, s *stageState) {
		to := candidates[s.spec.Name]
		if to == "" {
			return
		}
		var v gate.Verdict
		err := m.runIsolated(ctx, "ask the gates", s, func(ctx context.Context) (err error) { v, err = m.evaluateGates(ctx, s, to, lane); return err })
		if err != nil {
			s.recordError(err)
			v = gate.Verdict{Gate: "gates", Status: gate.Wait, Reason: "it cannot be found out: " + err.Error()}
		}
		mu.Lock()
		defer mu.Unlock()
		verdicts[s.spec.Name] = v
	})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return promote.DecideStages(h, stages, func(environment, _ string) gate.Verdict { return verdicts[environment] }, m.now), nil
}

func (m *Promoter) evaluateGates(ctx context.Context, s *stageState, to, lane string) (gate.Verdict, error) {
	f, err := m.readCandidateFacts(ctx, s, to, lane)
	if err != nil {
		return gate.Verdict{}, err
	}
	m.answerNeeds(ctx, s, &s.enterGates, &f)
	gates := s.enterGates.Evaluate(f)
	return gate.CombineVerdicts("gates", append([]gate.Verdict{gate.EvaluateFreezes(f)}, gates.Parts...)), nil
}

func (m *Promoter) readCandidateFacts(ctx context.Context, s *stageState, to, lane string) (gate.Facts, error) {
	f := gate.Facts{Now: m.now, Environment: s.spec.Name, Commit: to, Lane: lane, Freezes: s.base.Progress.Freezes}
	if len(s.enterGates.Gates) == 0 {
		return f, nil
	}
	var err error
	f.Approvals, err = readTrustedApprovals(m, s, to, lane)
	if err != nil {
		return f, err
	}
	coming, err := s.readCandidateCommits(to)
	if err != nil {
		return f, err
	}
	f.Authors, _ = m.readAuthors(coming.commits, func(string) (string, error) { return "", nil })
	if _, soaking := s.enterGates.SplitSoak(); len(soaking.Gates) > 0 {
		f.DeployedAt, err = m.deployedBefore(ctx, s, to)
		if err != nil {
			return f, err
		}
	}
	if s.spec.Record == recordByPull {
		f.Pull, err = m.findRecordPull(ctx, s, to)
	}
	return f, err
}

func (m *Promoter) deployedBefore(ctx context.Context, s *stageState, commit string) (time.Time, error) {
	said, err := m.readStatuses(ctx, m.options.Remotes.ControlPlane(), commit)
	if err != nil {
		return time.Time{}, err
	}
	var last time.Time
	for _, name := range s.spec.After {
		since := deployedSince(said, DeployContext(name), time.Time{})
		if since.IsZero() {
			return time.Time{}, nil
		}
		if since.After(last) {
			last = since
		}
	}
	return last, nil
}

const maxAuthors = 100

// candidateCommits are the commits in (current, candidate], but for those that change nothing that is rendered: a
// freeze makes nobody an author of what is approved.
type candidateCommits struct {
	candidate string
	commits   []git.CommitInfo // none if there are too many
	tooMany   bool             // more than maxAuthors
}

func (s *stageState) readCandidateCommits(candidate string) (candidateCommits, error) {
	if s.candidate.candidate == candidate {
		return s.candidate, nil
	}
	coming, err := s.base.Repo.CommitsBetween(s.stage.Commit, candidate, maxAuthors+1)
	if err != nil {
		return candidateCommits{}, err
	}
	if len(coming) > maxAuthors {
		s.candidate = candidateCommits{candidate: candidate, tooMany: true}
		return s.candidate, nil
	}
	found := candidateCommits{candidate: candidate}
	for _, c := range coming {
		isAction, err := IsActionCommit(s.base, c.ID)
		if err != nil {
			return candidateCommits{}, err
		}
		if !isAction {
			found.commits = append(found.commits, c)
		}
	}
	s.candidate = found
	return found, nil
}

func stagesOf(all []*stageState) []promote.Stage {
	stages := make([]promote.Stage, len(all))
	for i, s := range all {
		stages[i] = s.stage
	}
	return stages
}
