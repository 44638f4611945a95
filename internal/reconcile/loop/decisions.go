package loop

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

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
	if !l.options.Settings.Write || e.unreachable != nil || r.Model == nil || r.Problems.StopsEnvironment() {
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

// askSchedulers returns a plan with what external schedulers have answered, and what is wrong with their answers.
func (l *Loop) askSchedulers(ctx context.Context, plan *schedule.Plan, branch source.Branch) (*schedule.Plan, problem.List) {
	clusters := map[string]int{}
	listed, _ := branch.Progress.ListClusters() // problems are reported where the branch is read
	for _, c := range listed {
		clusters[c.Type]++
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
// they are there. What external schedulers decided is written as the model of the plan has it.
func newDecisionEdit(environment string, branch source.Branch, plan *schedule.Plan, written *model.Model) (publish.Edit, error) {
	edit := publish.Edit{Branch: branch.Name, Head: branch.Head, When: branch.When}
	wanted, files := &model.Model{Decisions: plan.Decisions()}, map[string][]byte{}
	for _, p := range plan.Model().Policies {
		if p.Choice != nil && p.Choice.Decider.IsExternal() {
			wanted = wanted.WithDecision(plan.Model().DecisionOf(p))
		}
	}
	rewritten := map[string]bool{} // the files that change
	for _, d := range written.Decisions {
		i, known := model.IndexOf(wanted.Decisions, d.Name)
		if !known || !d.Equal(wanted.Decisions[i]) {
			files[d.Pos.File], rewritten[d.Pos.File] = nil, true
		}
	}
	for _, d := range wanted.Decisions {
		i, known := model.IndexOf(written.Decisions, d.Name)
		if known && !rewritten[written.Decisions[i].Pos.File] || d.By == "" {
			continue
		}
		text, err := d.Encode()
		if err != nil {
			return edit, err
		}
		files[path.Join(branch.Folder, model.DecisionFolder, d.Name+".yaml")] = text
	}
	if len(files) > 0 {
		edit.Files = files
		edit.Message = fmt.Sprintf("Choose cluster types in %s\n\n%s\n%s\n", environment, describeMoves(plan, written), decisionTrailer(environment))
	}
	return edit, nil
}

// decisionTrailer returns the last line of the messages of our commits.
func decisionTrailer(environment string) string { return "Fairlead-Decisions: " + environment }

// maxMoves bounds the moves that a message lists.
const maxMoves = 100

// describeMoves returns a line for each move of a unit since what was written, with the reason, and the number of those
// that have new places only.
func describeMoves(plan *schedule.Plan, written *model.Model) string {
	var b strings.Builder
	moves, placed := 0, 0
	for _, change := range plan.ChangesSince(written) {
		if !slices.ContainsFunc(change.Moves, func(m schedule.Move) bool { return m.From != "" }) {
			placed++
			continue
		}
		for _, move := range change.Moves {
			moves++
			if moves <= maxMoves && move.From != "" {
				fmt.Fprintf(&b, "%s/%s: %s\n", change.Unit.Policy.Name, change.Unit.Name, move)
			}
		}
	}
	if moves > maxMoves {
		fmt.Fprintf(&b, "and %d more\n", moves-maxMoves)
	}
	if placed > 0 {
		fmt.Fprintf(&b, "%s placed\n", text.Count(placed, "unit"))
	}
	return b.String()
}
