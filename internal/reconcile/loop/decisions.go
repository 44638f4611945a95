package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/schedule"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/repos"
	"github.com/fairlead-io/fairlead/internal/reconcile/scheduler"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

// recordDecisions writes what was chosen for an environment to its branch, if that differs from what is there, and
// reports whether it did. The output does not change by it, so that the rest of the round can go on with either. Where
// records are written by pull request, so are decisions.
func (l *Loop) recordDecisions(ctx context.Context, e *environment) (written bool, err error) {
	r := e.attempt.rendered
	if r.Model != nil {
		e.attempt.schedulers = scheduler.FindUnknown(r.Model, l.options.Settings, false)
	}
	if !mayWrite(ctx, l.options.Settings) || e.unreachable != nil || r.Model == nil || r.Problems.StopsEnvironment() {
		return false, nil
	}
	plan := e.cache.Plan()
	if plan.Units() == nil && r.Model.Decisions == nil {
		return false, nil
	}
	branch, err := l.source.Branch(ctx, e.name)
	if err != nil || branch.Repo == nil || !slices.ContainsFunc(r.Commits, func(c source.Commit) bool { return c.Layer == e.name && c.Commit == branch.Head }) {
		return false, err // it has moved, and the next round reads it
	}
	remote := l.remotes.RemoteOf(branch.URL)
	if remote == nil || remote.Mirror() == nil {
		return false, nil
	}
	base, err := l.source.Base(ctx)
	if err != nil {
		return false, err
	}
	plan, problems := l.askSchedulers(ctx, plan, branch)
	e.attempt.schedulers = append(e.attempt.schedulers, problems...)
	edit, err := newDecisionEdit(e.name, branch, plan, r.Model)
	if err != nil {
		return false, err
	}
	if base.Progress.ProposesRecord(e.name) {
		return false, l.proposeDecisions(ctx, e, remote, edit)
	}
	if edit.Files == nil {
		return false, nil
	}
	head, err := publish.Apply(ctx, l.publishOptions(remote, nil), edit)
	if errors.Is(err, git.ErrStale) {
		return false, nil // another process was faster: the next round looks again
	}
	if err != nil {
		return false, fmt.Errorf("write the decisions of %s: %w", e.name, err)
	}
	l.options.Logger.Info("wrote decisions", "environment", e.name, "commit", head)
	return true, nil
}

// findStalePlacements warns of policies that follow a Placement whose decisions in Git are older than a limit; 0 for none.
// next is when more of them will be; zero for never.
func findStalePlacements(m *model.Model, branch source.Branch, limit time.Duration, now time.Time) (problems problem.List, next time.Time) {
	changedLast := source.ChangedLast(branch)
	if limit == 0 || m == nil || changedLast == nil {
		return nil, next
	}
	for _, p := range m.Policies {
		if p.Choice == nil || len(p.Choice.Decider.Pages) == 0 {
			continue
		}
		var last time.Time
		for _, page := range p.Choice.Decider.Pages {
			if _, _, at := changedLast(page.File); at.After(last) {
				last = at
			}
		}
		switch due := last.Add(limit); {
		case last.IsZero():
		case due.After(now):
			next = findEarliest(next, due)
		default:
			problems.Warnf(p.Choice.Decider.Pages[0], p.Subject(), "commit what the hub has decided since, or mend what does",
				"the decisions of the Placement %s are of %s, which is more than %s ago", p.Choice.Decider.Placement, last.UTC().Format("2006-01-02 15:04 UTC"), text.FormatDuration(limit))
		}
	}
	return problems, next
}

// findEarliest returns the earlier of two times, of which the zero one is never.
func findEarliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// proposeDecisions proposes decisions by pull request, or withdraws what is proposed when there is nothing to write.
func (l *Loop) proposeDecisions(ctx context.Context, e *environment, remote *repos.Remote, edit publish.Edit) error {
	ours := l.options.Settings.Output.BranchPrefix + "decisions/" + e.name
	head, err := remote.Mirror().FindBranch(ours)
	if err != nil || head == "" && edit.Files == nil {
		return err
	}
	f, err := remote.Forge()
	if err != nil {
		return err
	}
	o := l.publishOptions(remote, f)
	if edit.Files == nil {
		return publish.Withdraw(ctx, o, ours, edit.Branch, decisionTrailer(e.name), "The environment has these decisions, or others were made.")
	}
	title := fmt.Sprintf("Choose cluster types in %s", e.name)
	_, err = edit.Propose(ctx, o, forge.Proposal{
		Mark: "decisions of " + e.name, Head: ours, Base: edit.Branch, Title: forge.FitTitle(title),
		Body: "Merging this writes down which cluster types were chosen, so that they stay. Until then they are chosen in memory, with the same result.\n",
	})
	if errors.Is(err, git.ErrStale) {
		return nil
	}
	return err
}

func (l *Loop) askSchedulers(ctx context.Context, plan *schedule.Plan, branch source.Branch) (*schedule.Plan, problem.List) {
	clusters := map[string]int{}
	listed, _ := branch.Progress.ListClusters() // problems are reported where the branch is read
	for _, c := range listed {
		clusters[plan.Model().FolderOf(c.Name, c.Type)]++
	}
	answered, problems := l.schedulers.Decide(ctx, plan, clusters)
	if len(answered) == 0 {
		return plan, problems
	}
	m := plan.Model()
	for _, d := range answered {
		m = m.WithDecision(d)
	}
	return schedule.NewPlan(m, plan), problems
}

// newDecisionEdit returns the edit of an environment's branch that writes the decisions of a plan; without files if
// they are there.
func newDecisionEdit(environment string, branch source.Branch, plan *schedule.Plan, written *model.Model) (publish.Edit, error) {
	edit := publish.Edit{Branch: branch.Name, Head: branch.Head, When: branch.When}
	files, err := plan.DecisionFiles(branch.Folder, written)
	if err != nil {
		return edit, err
	}
	if len(files) > 0 {
		edit.Files = files
		edit.Message = fmt.Sprintf("Choose cluster types in %s\n\n%s\n%s\n", environment, schedule.DescribeChanges(plan.ChangesSince(written)), decisionTrailer(environment))
	}
	return edit, nil
}

func decisionTrailer(environment string) string { return "Fairlead-Decisions: " + environment }
