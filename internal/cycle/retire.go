package cycle

import (
	"context"
	"errors"
	"fmt"

	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
)

// retire withdraws what we said for environments that have left the control plane
// while this process ran: nobody would update it any more. Their output stays. One
// that fails is tried again.
func (l *Loop) retire(ctx context.Context) {
	var left []*environment
	for _, e := range l.gone {
		if err := l.withdraw(ctx, e); err != nil && ctx.Err() == nil {
			l.Logger.Warn("an environment that is gone could not be withdrawn", "environment", e.name, "error", err)
			left = append(left, e)
		}
	}
	l.gone = left
	l.undone = l.undone || len(left) > 0
}

func (l *Loop) withdraw(ctx context.Context, e *environment) error {
	out := l.remotes.Known(l.place(e.report.Output.Repo))
	if out == nil || out.Mirror() == nil || !l.Settings.Write {
		return nil
	}
	f, err := out.Forge()
	if err != nil {
		return err
	}
	ours := l.Settings.Output.BranchPrefix + e.name
	pulls, err := f.Pulls(ctx, ours, e.report.Output.Branch)
	if err != nil {
		return err
	}
	for _, p := range pulls {
		if p.State != forge.Open {
			continue
		}
		l.Step("close the pull request of an environment that is gone")
		if err := f.Close(ctx, p.Number, fmt.Sprintf("The environment %s is no longer in the control plane.", e.name)); err != nil {
			return err
		}
	}
	if err := l.closeIssues(ctx, f, e.name); err != nil {
		return err
	}
	head, err := out.Mirror().Branch(ours)
	if errors.Is(err, git.ErrNoRevision) || err == nil && head != e.report.Output.Commit { // it is gone, or not what we pushed
		return nil
	}
	if err != nil {
		return err
	}
	l.Step("remove the branch of an environment that is gone")
	err = out.Push(ctx, nil, git.RefUpdate{Ref: "refs/heads/" + ours, Old: head})
	if errors.Is(err, git.ErrStale) {
		return nil
	}
	l.Logger.Info("an environment is gone", "environment", e.name)
	return err
}

// closeIssues closes the issues of an environment's problems.
func (l *Loop) closeIssues(ctx context.Context, f forge.Forge, environment string) error {
	known, err := f.Issues(ctx, issueMark(environment))
	if err != nil {
		return err
	}
	for _, i := range known {
		if !i.Open {
			continue
		}
		i.Open = false
		if _, err := f.PutIssue(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// issueMark is the mark of the issue of an environment's problems.
func issueMark(environment string) string { return "problems of " + environment }
