package loop

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/change/explain"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/history"
	"github.com/fairlead-io/fairlead/internal/reconcile/promoter"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

type loggedErrors struct {
	mu  sync.Mutex
	all []error
}

func (l *loggedErrors) add(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, err)
}

func (l *loggedErrors) take() []error {
	l.mu.Lock()
	defer l.mu.Unlock()
	taken := l.all
	l.all = nil
	return taken
}

func (o *outcome) newReport() status.Environment {
	r := status.Environment{
		State: cmp.Or(status.State(o.result.State), status.Waiting), Problems: o.problems,
		Reason: strings.TrimPrefix(strings.Join(append([]string{o.result.Reason}, o.notes...), "; "), "; "), Notes: o.notes, Teardowns: o.teardowns,
		Output: newOutput(o.output), Pull: newPull(o.result.Pull), StalePull: newPull(o.stale), Withheld: list.Convert(o.result.Withheld, promoter.ReportWithholding),
		Change: o.result.Change, Impact: o.impact, Proposed: o.proposed, Assignments: o.assignments, ClusterTypes: len(o.clusterTypes), HasStacks: o.hasStacks, HasClusters: o.hasClusters,
	}
	if !o.failed && (o.result.State == publish.Proposed || o.result.State == publish.DryRun) {
		r.MergeReason, r.LeftToPeople = o.result.Reason, o.result.LeftToPeople
	}
	if r.State == status.InSync && r.Pull == nil {
		r.Pull, r.Change = newPull(o.merged.pull), o.merged.change
	}
	for _, c := range o.commits {
		in := status.Input{Layer: c.Layer, Repo: c.Repo, Commit: c.Commit, Folder: c.Folder}
		if info, known := o.infos[c.Commit]; known {
			in.About, in.Promotes = promoter.DescribeCommit(info), history.IsPromotion(info)
		}
		r.Inputs = append(r.Inputs, in)
	}
	r.Output.Head, r.Output.Wanted, r.Output.Commit = o.result.Head, o.wanted, o.result.Commit
	if o.failed {
		r.State, r.Error, r.Unreachable = status.Failed, o.result.Reason, o.unreachable
	} else if o.isStopped() {
		r.State = status.Problems
	}
	return r
}

func newOutput(at model.RepoRef) status.Output {
	return status.Output{Repo: at.Repo, Branch: at.Branch, Folder: at.Path}
}

func newPull(p *forge.Pull) *status.Pull {
	if p == nil {
		return nil
	}
	pull := &status.Pull{Number: p.Number, Title: p.Title, URL: p.URL, Head: p.Commit}
	if p.State == forge.Closed {
		pull.Closed = strings.Join(strings.Fields(p.Reason), " ")
	}
	return pull
}

func (l *Loop) reportEnvironment(ctx context.Context, e *environment, took time.Duration, quiet bool, err error) {
	r := e.outcome.newReport()
	r.Name, r.Checked, r.Took = e.name, l.options.Now(), took
	for component, pull := range e.planPulls {
		if r.PlanPulls == nil {
			r.PlanPulls = map[string]*status.Pull{}
		}
		r.PlanPulls[component] = newPull(&pull)
	}
	l.options.Store.SetEnvironment(r)
	l.options.Metrics.RecordEnvironment(r)
	args := []any{"environment", r.Name, "state", r.State, "took", r.Took.Round(time.Millisecond)}
	if r.Change != "" {
		args = append(args, "change", r.Change)
	}
	if r.Pull != nil {
		args = append(args, "pull", r.Pull.Number)
	}
	if first, stops := r.Problems.FirstStopping(); stops {
		problems, _ := r.Problems.Count()
		args = append(args, "problems", problems, "first", first.String())
	} else if r.Reason != "" && err == nil {
		args = append(args, "reason", r.Reason)
	}
	level := slog.LevelInfo
	if err != nil {
		level, args = slog.LevelError, append(args, "error", err)
		l.logged.add(err)
	} else if e.unreachable != nil {
		level, args = slog.LevelWarn, append(args, "error", e.unreachable)
		l.logged.add(e.unreachable)
	} else if quiet {
		level = slog.LevelDebug
	}
	l.options.Logger.Log(ctx, level, "environment", args...)
}

// reportRetired reports what is still to be removed: of an environment that is there with its
// report, and of one that is gone as a report.
func (r *retirement) reportRetired() {
	removals := map[string][]status.Removal{}
	for _, e := range r.retired {
		at := newOutput(e.output)
		if e.moved {
			removals[e.name] = append(removals[e.name], status.Removal{Repo: at.Repo, Branch: at.Branch, Folder: at.Folder, Reason: e.reason, Pull: newPull(e.pull)})
			continue
		}
		at.Commit = e.proposed
		report := status.Environment{Name: e.name, State: status.Waiting, Reason: e.reason, Output: at, Pull: newPull(e.pull), Checked: r.now()}
		if e.hint != "" {
			report.State = status.Problems
			report.Problems.Addf(problem.Pos{Layer: e.name}, "Environment/"+e.name, e.hint, "%s", e.reason)
		}
		r.store.SetEnvironment(report)
	}
	for name := range r.environments {
		r.store.SetRemovals(name, removals[name])
	}
}

func (l *Loop) reportCycle(started time.Time, err error) {
	c := status.Cycle{Number: l.number, Started: started, Took: l.options.Now().Sub(started), Next: l.nextPoll, Outcome: status.OutcomeOK}
	if reason := status.DescribeVanished(l.vanished); reason != "" {
		c.Outcome, c.Error = status.OutcomeFailed, reason
	}
	if l.unreadable != nil { // an old copy was used
		c.Outcome, c.Error = status.OutcomeFailed, l.unreadable.Error()
	}
	if err != nil {
		c.Outcome, c.Error = status.OutcomeFailed, err.Error()
		l.options.Logger.Error("the control plane could not be read", "error", err)
		l.logged.add(err)
	}
	l.remotes.LogFailures(l.logged.take())
	l.options.Store.SetCycle(c)
	l.options.Store.SetRemotes(l.remotes.Report())
	credentials := l.remotes.ReportCredentials()
	l.options.Store.SetCredentials(credentials)
	l.options.Metrics.SetTokenExpiries(credentials)
	l.options.Metrics.RecordCycle(started.Add(c.Took), c.Took, c.Outcome == status.OutcomeOK)
	l.options.Logger.Debug("cycle", "number", c.Number, "took", c.Took, "next", c.Next)
}

// ChainPast returns how far commits had been promoted at a time, as Git alone says, and the outputs of all environments that
// the base had then: without a commit where none is known. It waits as Explain does.
func (l *Loop) ChainPast(ctx context.Context, at time.Time) (chain status.Chain, outputs []history.Output, err error) {
	endTurn, err := l.takeTurnWithForges(ctx)
	if err != nil {
		return chain, nil, err
	}
	defer endTurn()
	err = l.barrier.Run("read the past", "", func() error {
		if l.source == nil {
			return ErrNotRead
		}
		chain, outputs, err = l.readChainPast(ctx, at)
		return err
	})
	return chain, outputs, err
}

func (l *Loop) readChainPast(ctx context.Context, at time.Time) (chain status.Chain, outputs []history.Output, err error) {
	missing := &explain.QueryError{Summary: "the control plane had no commit by " + at.UTC().Format(time.RFC3339), Hint: "ask about a later moment"}
	options := l.sourceOptions()
	options.At, options.Open = at, l.openKnown
	then, err := source.Open(ctx, options)
	if err != nil {
		return chain, nil, err
	}
	found, _, err := then.Environments(ctx)
	if errors.Is(err, git.ErrNoRevision) {
		return chain, nil, missing
	}
	if err != nil {
		return chain, nil, err
	}
	moment, merged := history.Moment{Text: at.UTC().Format(time.RFC3339), Time: at}, map[string]string{}
	for _, e := range found {
		output := history.Output{Place: history.Place{Environment: e.Name, At: moment}}
		remote, to, err := l.findOutputOf(e.Name)
		if err == nil {
			_, err = l.findPast(ctx, remote, to, &output)
		}
		var nothing *explain.QueryError
		switch {
		case err == nil, errors.As(err, &nothing):
			merged[e.Name] = output.Base
		case !errors.Is(err, ErrNotRead): // the environment of then has no output that is read now
			return chain, nil, err
		}
		outputs = append(outputs, output)
	}
	chain, err = l.promoter.ReportPast(ctx, then, at, merged)
	return chain, outputs, err
}
