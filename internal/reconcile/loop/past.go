package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/change/drift"
	"github.com/fairlead-io/fairlead/internal/change/explain"
	"github.com/fairlead-io/fairlead/internal/change/impact"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/schedule"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/history"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/repos"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/render/output"
)

const (
	// maxPast bounds the commits of an output branch among which a moment is looked for.
	maxPast = 5000
	// maxPastRecords bounds the records that are read to find the output of a commit of the base.
	maxPastRecords = 200
)

// ExplainPast answers a question about an environment as it was wanted at a moment: see [history.ParseMoment]. It waits
// as Explain does.
func (l *Loop) ExplainPast(ctx context.Context, environment string, at history.Moment, query string) (explain.Answer, history.Output, error) {
	var answer explain.Answer
	all, err := l.readPast(ctx, []history.Place{{Environment: environment, At: at}}, func(rendered []source.Rendered) error {
		var err error
		answer, err = explain.AnswerQuery(rendered[0].Model, query, explain.Options{Rendering: l.sourceOptions().Rendering, Environment: environment})
		return err
	})
	if err != nil {
		return answer, history.Output{}, err
	}
	return answer, all[0], nil
}

// ComparePast returns what differs between two environments, each at a moment or now. It waits as Explain does.
func (l *Loop) ComparePast(ctx context.Context, from, to history.Place) (drift.Report, []history.Output, error) {
	var report drift.Report
	all, err := l.readPast(ctx, []history.Place{from, to}, func(rendered []source.Rendered) error {
		var sides [2]drift.Side
		for i, place := range []history.Place{from, to} {
			sides[i] = newSide(rendered[i])
			sides[i].Name = place.String()
		}
		err := l.findAhead(ctx, &sides)
		if err == nil {
			report = drift.Compare(sides[0], sides[1])
		}
		return err
	})
	return report, all, err
}

// PlanPast returns the assignments of an environment as they were wanted at a moment. It waits as Explain does.
func (l *Loop) PlanPast(ctx context.Context, environment string, at history.Moment) (*schedule.Plan, history.Output, error) {
	var plan *schedule.Plan
	all, err := l.readPast(ctx, []history.Place{{Environment: environment, At: at}}, func(rendered []source.Rendered) error {
		plan = schedule.NewPlan(rendered[0].Model, nil)
		return nil
	})
	if err != nil {
		return nil, history.Output{}, err
	}
	return plan, all[0], nil
}

// ChangesPast returns what changed in the output of an environment between two moments, and the outputs. It waits as
// Explain does.
func (l *Loop) ChangesPast(ctx context.Context, environment string, from, to history.Moment) (report impact.Report, outputs []history.Output, err error) {
	endTurn, err := l.takeTurnWithForges(ctx)
	if err != nil {
		return report, nil, err
	}
	defer endTurn()
	err = l.barrier.Run("compare outputs of", environment, func() error {
		remote, at, err := l.findOutputOf(environment)
		if err != nil {
			return err
		}
		for _, moment := range []history.Moment{from, to} {
			found := history.Output{Place: history.Place{Environment: environment, At: moment}}
			if _, err := l.findPast(ctx, remote, at, &found); err != nil {
				return err
			}
			outputs = append(outputs, found)
		}
		if outputs[0].Commit == outputs[1].Commit {
			return nil
		}
		var opt impact.Options
		if plan := l.environments[environment].cache.Plan(); plan != nil {
			opt.Workload = model.WorkloadOf(plan.Model())
		}
		report, err = git.InspectTrees(remote.Mirror(), []string{outputs[0].Commit, outputs[1].Commit}, func(t []tree.Tree) (impact.Report, error) {
			folder := publish.CleanFolder(at.Path)
			return publish.CompareFolders(t[0].Sub(folder), t[1].Sub(folder), opt), nil
		})
		return err
	})
	return report, outputs, err
}

func (l *Loop) findOutputOf(environment string) (*repos.Remote, model.RepoRef, error) {
	e := l.environments[environment]
	if l.source == nil || e == nil || e.outcome.output.Repo == "" {
		return nil, model.RepoRef{}, ErrNotRead
	}
	remote := l.remotes.KnownRemote(l.remotes.ReadLocation(e.outcome.output.Repo))
	if remote == nil || remote.Mirror() == nil {
		return nil, model.RepoRef{}, ErrNotRead
	}
	return remote, e.outcome.output, nil
}

// outputRemote is a repository with outputs, and its location as an environment names it.
type outputRemote struct {
	*repos.Remote
	url string
}

// listOutputRemotes returns the repositories with the outputs of environments that were read, each once.
func (l *Loop) listOutputRemotes(environments []string) (all []outputRemote) {
	for _, name := range environments {
		remote, to, err := l.findOutputOf(name)
		if err == nil && !slices.ContainsFunc(all, func(o outputRemote) bool { return o.Remote == remote }) {
			all = append(all, outputRemote{remote, to.Repo})
		}
	}
	return all
}

// readPast renders environments, each as it was at a moment or is now, and calls use with them. It returns the outputs
// of those of a moment.
func (l *Loop) readPast(ctx context.Context, places []history.Place, use func([]source.Rendered) error) (outputs []history.Output, err error) {
	endTurn, err := l.takeTurnWithForges(ctx)
	if err != nil {
		return nil, err
	}
	defer endTurn()
	err = l.barrier.Run("render the past of", places[0].Environment, func() error {
		rendered := make([]source.Rendered, len(places))
		for i, p := range places {
			var err error
			if p.At == (history.Moment{}) {
				rendered[i], err = l.renderAgain(ctx, p.Environment)
			} else {
				var found history.Output
				rendered[i], found, err = l.renderPast(ctx, p)
				outputs = append(outputs, found)
			}
			if err != nil {
				return err
			}
			if problem, stops := rendered[i].Problems.FirstStopping(); stops || rendered[i].Model == nil {
				return &explain.QueryError{Summary: fmt.Sprintf("%s cannot be rendered again: %s", p, problem), Hint: "ask about another moment"}
			}
		}
		return use(rendered)
	})
	return outputs, err
}

// renderPast renders an environment again from the commits that its output at a moment was rendered from.
func (l *Loop) renderPast(ctx context.Context, p history.Place) (source.Rendered, history.Output, error) {
	remote, to, err := l.findOutputOf(p.Environment)
	if err != nil {
		return source.Rendered{}, history.Output{}, err
	}
	found := history.Output{Place: p}
	written, err := l.findPast(ctx, remote, to, &found)
	if err != nil {
		return source.Rendered{}, found, err
	}
	at := recordedAt(p.Environment, written, "")
	if at.Base == "" || at.Environment == "" {
		return source.Rendered{}, found, &explain.QueryError{Summary: fmt.Sprintf("the output of %s does not name the commits that it was rendered from", p), Hint: "ask about another moment"}
	}
	r, err := l.source.Render(ctx, p.Environment, at, &output.Cache{})
	var unknown *source.UnknownRevisionError
	if errors.As(err, &unknown) || errors.Is(err, git.ErrNoRevision) {
		err = &explain.QueryError{Summary: fmt.Sprintf("a commit that %s was rendered from is no longer in its repository", p), Hint: "ask about a later moment"}
	}
	return r, found, err
}

// findPast finds the commit of an output branch that a moment means, and what its record says of the environment; of a
// commit of the base that changed nothing of the output, what the environment had while it was promoted to that.
func (l *Loop) findPast(ctx context.Context, remote *repos.Remote, to model.RepoRef, found *history.Output) (publish.Written, error) {
	asked := found.At
	written, err := l.findMerged(ctx, remote, to, found)
	var unknown *explain.QueryError
	if asked.Commit == "" || !errors.As(err, &unknown) {
		if err == nil && asked.Commit == "" {
			return l.adoptPromoted(ctx, found, written)
		}
		return written, err
	}
	moment, was, failed := l.findPromoted(ctx, found.Environment, asked)
	if failed != nil || !was {
		return written, cmp.Or(failed, err)
	}
	then := history.Output{Place: history.Place{Environment: found.Environment, At: moment}}
	written, failed = l.findMerged(ctx, remote, to, &then)
	if failed == nil {
		written, failed = l.adoptPromoted(ctx, &then, written)
	}
	if failed != nil || !strings.HasPrefix(then.Base, asked.Commit) {
		return written, err
	}
	then.At = asked
	*found = then
	return written, nil
}

// findMerged finds the commit of an output branch that a moment means, or that was rendered from the commit of the base
// that it means, and what its record says of the environment.
func (l *Loop) findMerged(ctx context.Context, remote *repos.Remote, output model.RepoRef, found *history.Output) (publish.Written, error) {
	repo, branch, record := remote.Mirror(), output.Branch, path.Join(publish.CleanFolder(output.Path), publish.RecordFile)
	missing := func(what string) error {
		return &explain.QueryError{Summary: found.Place.String() + ": " + what, Hint: "fairlead history " + found.Environment + " lists the commits that it had, and when"}
	}
	head, err := repo.FindBranch(branch)
	if err != nil || head == "" {
		return publish.Written{}, errors.Join(err, missing("nothing was merged"))
	}
	line, err := repo.FirstParents(head, maxPast, func(string) bool { return false })
	if err != nil {
		return publish.Written{}, err
	}
	read, merges := 0, l.listMerges(ctx, remote, branch)
	for _, id := range line {
		info, err := repo.Commit(id)
		if err != nil {
			return publish.Written{}, err
		}
		merged := mergedAt(info, merges)
		isMeant := !found.At.Time.IsZero() && !merged.After(found.At.Time) || found.At.Commit != "" && strings.HasPrefix(id, found.At.Commit)
		if !isMeant && (found.At.Commit == "" || read >= maxPastRecords) {
			continue
		}
		read++
		written, isThere, err := readWritten(repo, id, record, found.Environment)
		if err != nil {
			return written, err
		}
		if isThere && (isMeant || hasBase(written, found.At.Commit)) {
			found.Commit, found.When, found.Inputs = id, merged, written.From
			for _, in := range written.From {
				if in.Layer == publish.BaseLayer {
					found.Base = in.Commit
				}
			}
			return written, nil
		}
		if isMeant {
			break
		}
	}
	if found.At.Commit != "" {
		return publish.Written{}, missing("no output that was merged is " + text.ShortCommit(found.At.Commit) + ", or was rendered from it")
	}
	return publish.Written{}, missing("nothing was merged before that")
}

// listMerges returns when commits were merged into a branch, by their ids, as far as the forge of its repository tells.
// A commit that was merged by a fast-forward is older than that: people may have let it wait.
func (l *Loop) listMerges(ctx context.Context, remote *repos.Remote, branch string) map[string]time.Time {
	events, err := l.listPullEvents(ctx, remote)
	if err != nil { // Git alone must be enough for an answer
		l.options.Logger.Warn("when our pull requests were merged could not be read", "repo", remote.URL(), "error", err)
	}
	merges := map[string]time.Time{}
	for _, e := range events {
		if e.Action == forge.MergeAction && e.Base == branch && !e.Time.IsZero() {
			merges[e.Commit] = e.Time
		}
	}
	return merges
}

// mergedAt returns when a commit of an output branch was merged: when it was committed, if that is later, as of another
// clock, or the forge does not tell.
func mergedAt(c git.CommitInfo, merges map[string]time.Time) time.Time {
	if merged := merges[c.ID]; merged.After(c.When) {
		return merged
	}
	return c.When
}

// readWritten returns what the record in a commit says of an environment, and whether it says anything.
func readWritten(repo *git.Repository, commit, file, environment string) (publish.Written, bool, error) {
	e, isThere, err := repo.FindEntry(commit, file)
	if err != nil || !isThere {
		return publish.Written{}, false, err
	}
	r, err := publish.ReadRecord(e.Data)
	if err != nil {
		return publish.Written{}, false, err
	}
	for _, w := range r.Environments {
		if w.Environment == environment && len(w.From) > 0 {
			return w, true, nil
		}
	}
	return publish.Written{}, false, nil
}

func hasBase(w publish.Written, commit string) bool {
	for _, in := range w.From {
		if in.Layer == publish.BaseLayer && strings.HasPrefix(in.Commit, commit) {
			return true
		}
	}
	return false
}
