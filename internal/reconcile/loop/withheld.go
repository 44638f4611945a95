package loop

import (
	"context"
	"fmt"
	"time"

	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/repos"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// isOtherwiseWithheld reports whether an environment is held or frozen now and was not
// when it was published last, or the other way round: then it is not left alone, so that
// auto-merge is cancelled when a freeze begins, and merging goes on when it is over.
func (l *Loop) isOtherwiseWithheld(e *environment) bool {
	return e.withheld != fmt.Sprint(l.orders.Withheld[e.name])
}

// hasNewHeads reports whether an environment that has failed has other commits now than those
// that it failed with: people may have mended it, so it is not left alone.
func (l *Loop) hasNewHeads(ctx context.Context, e *environment) bool {
	heads := l.readHeads(ctx, e)
	return heads != "" && heads != e.failedHeads && !e.rateLimited
}

// readHeads returns the heads of the base and of an environment's branch as this round has
// read them; "" if they cannot be read.
func (l *Loop) readHeads(ctx context.Context, e *environment) string {
	base, err := l.source.Base(ctx)
	if err != nil {
		return ""
	}
	branch, err := l.source.Branch(ctx, e.name)
	if err != nil {
		return ""
	}
	return fmt.Sprint(base.Head, " ", branch.Head)
}

// recheckWithheld asks the control plane once more before a merge of ours: a hold or a
// freeze that is in it already counts.
func (l *Loop) recheckWithheld(ctx context.Context, e *environment) ([]publish.Withholding, error) {
	moved, err := l.hasMoved(ctx, e)
	if err != nil {
		return nil, fmt.Errorf("ask the control plane before a merge: %w", err)
	}
	if !moved {
		return l.orders.Withheld[e.name], nil
	}
	e.unread.Store(true) // the next round has to read what this one did not
	fresh, err := source.Open(ctx, l.sourceOptions())
	if err != nil {
		return nil, err
	}
	return l.promoter.FindWithholdings(ctx, fresh, e.name)
}

// hasMoved asks the repositories of the base and of an environment's branch whether one
// has moved since this round has read it.
func (l *Loop) hasMoved(ctx context.Context, e *environment) (bool, error) {
	branch, err := l.source.Branch(ctx, e.name)
	if err != nil {
		return false, err
	}
	base, err := l.source.Base(ctx)
	if err != nil {
		return false, err
	}
	asked, moved := map[*repos.Remote]bool{}, false
	for _, at := range []struct{ repo, branch, head string }{
		{l.options.Settings.ControlPlane.Repo, l.options.Settings.ControlPlane.Branch, base.Head}, {branch.URL, branch.Name, branch.Head},
	} {
		remote := l.remotes.RemoteOf(at.repo)
		if at.repo == "" || remote == nil || remote.Mirror() == nil {
			continue
		}
		if !asked[remote] {
			asked[remote] = true
			news, err := remote.Sync(ctx)
			if err != nil {
				return false, fmt.Errorf("%s: %w", giturl.Redact(at.repo), err)
			}
			if news { // of which the next round would not be told
				e.unread.Store(true)
			}
		}
		if head, err := remote.Mirror().Branch(at.branch); err != nil || head != at.head {
			moved = true
		}
	}
	return moved, nil
}

// isCurrent asks the repositories that an environment was rendered from once more, and reports
// whether all are as this round has read them. If not, the next round reads them.
func (l *Loop) isCurrent(ctx context.Context, e *environment, inputs []source.Commit) (bool, error) {
	moved, err := l.hasMoved(ctx, e)
	if err != nil {
		return false, err
	}
	branch, err := l.source.Branch(ctx, e.name)
	if err != nil {
		return false, err
	}
	asked := map[*repos.Remote]bool{l.remotes.ControlPlane(): true}
	for _, in := range inputs {
		remote := l.remotes.RemoteOf(in.Repo)
		if in.Layer == e.name && branch.Head != in.Commit { // it was fetched since this was rendered
			moved = true
		}
		if in.Repo == "" || asked[remote] {
			continue
		}
		asked[remote] = true
		news, err := remote.Sync(ctx)
		if err != nil {
			return false, fmt.Errorf("%s: %w", giturl.Redact(in.Repo), err)
		}
		moved = moved || news
	}
	if moved {
		e.unread.Store(true)
	}
	return !moved, nil
}

// earlierTime returns the earlier of two times of which the zero one is never.
func earlierTime(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// outcomeOf returns the outcome of the commit status for a report.
func outcomeOf(r *status.Environment) forge.Outcome {
	switch {
	case r.State == status.Problems || r.ExceededLimit() != "":
		return forge.Failure
	case len(r.Withheld) > 0:
		return forge.Pending
	}
	return forge.Success
}

// withheldOf returns why a proposal waits for a person, as reports have it.
func withheldOf(all []publish.Withholding) []status.Withheld {
	var withheld []status.Withheld
	for _, w := range all {
		withheld = append(withheld, status.Withheld{Cause: string(w.Cause), Reason: w.Reason, Acknowledge: w.ChangeID})
	}
	return withheld
}
