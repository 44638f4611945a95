package loop

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/history"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/render/output"
)

// adoptPromoted has an output that was found at a time be of the commit of the base that the environment had been
// promoted to by then, if that changed nothing of it: no output names such a commit.
func (l *Loop) adoptPromoted(ctx context.Context, found *history.Output, written publish.Written) (publish.Written, error) {
	base, err := l.source.Base(ctx)
	if err != nil || base.Repo == nil {
		return written, err
	}
	promoted, err := l.promotedAt(ctx, found.Environment, func(c git.CommitInfo, _ time.Time, _ string) bool { return !c.When.After(found.At.Time) })
	if err != nil || promoted.commit == "" {
		return written, err
	}
	commit, err := base.Repo.Resolve(promoted.commit)
	if err != nil || commit == found.Base { // the base may have lost it
		return written, nil
	}
	r, err := l.source.Render(ctx, found.Environment, recordedAt(found.Environment, written, commit), &output.Cache{})
	if err != nil || r.Problems.StopsEnvironment() || r.Tree.ID().String() != written.Tree {
		return written, nil // the output stays what is known of then
	}
	written.From = slices.Clone(written.From)
	for i, in := range written.From {
		if in.Layer == publish.BaseLayer {
			written.From[i].Commit = commit
		}
	}
	found.Base, found.Inputs = commit, written.From
	return written, nil
}

// recordedAt returns the revisions that an output was rendered from, with another commit of the base; "" for the one
// that it names.
func recordedAt(environment string, written publish.Written, base string) source.Revisions {
	at := publish.Revisions(environment, written.From)
	if base != "" {
		at.Base = base
	}
	return at
}

// promotedCommit is a commit of the base that an environment was promoted to, and until when it had that; the zero
// time is now.
type promotedCommit struct {
	commit string
	until  time.Time
}

// promotedAt returns what the record of an environment named at the newest commit of its branch that a function selects
// by the commit, until when the branch was at it, and what its record names; none if there is no such commit.
func (l *Loop) promotedAt(ctx context.Context, environment string, selects func(c git.CommitInfo, until time.Time, named string) bool) (promotedCommit, error) {
	branch, err := l.source.Branch(ctx, environment)
	if err != nil || branch.Repo == nil {
		return promotedCommit{}, err
	}
	line, err := branch.Repo.ListCommits(branch.Head, maxPastRecords)
	if err != nil {
		return promotedCommit{}, err
	}
	until := time.Time{}
	for _, c := range line {
		named, err := branch.CommitAt(c.ID)
		if err != nil {
			return promotedCommit{}, err
		}
		if selects(c, until, named) {
			return promotedCommit{named, until}, nil
		}
		until = c.When
	}
	return promotedCommit{}, nil
}

// findPromoted finds the output that an environment had while it was promoted to a commit of the base, of which none was
// rendered: false if it never was, or had another output then.
func (l *Loop) findPromoted(ctx context.Context, environment string, at history.Moment) (history.Moment, bool, error) {
	promoted, err := l.promotedAt(ctx, environment, func(_ git.CommitInfo, _ time.Time, named string) bool { return strings.HasPrefix(named, at.Commit) })
	if err != nil || promoted.commit == "" {
		return at, false, err
	}
	when := l.options.Now()
	if !promoted.until.IsZero() {
		when = promoted.until.Add(-time.Second)
	}
	return history.Moment{Text: at.Text, Time: when}, true, nil
}
