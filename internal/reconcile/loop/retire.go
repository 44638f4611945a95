package loop

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/reconcile/ephemeral"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/repos"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// retiredOutput is an environment that has left the control plane, or whose time is over.
type retiredOutput struct {
	name   string
	output status.Output
	// whole is set if its output goes too: the environment was ephemeral.
	whole bool
	merge publish.Merge
	// moved is set if the environment is still there, and has its output elsewhere now.
	moved bool
	// ended is the one whose branch is still in the control plane, and goes last; nil
	// if it has gone.
	ended *source.Ephemeral
}

// noteRetired remembers an environment that is gone. If it is not known where its output went, that
// is looked for.
func (l *Loop) noteRetired(e *environment) {
	if e.output.Repo == "" {
		l.searched = false
		return
	}
	output := e.output
	output.Commit = e.report.Output.Commit
	l.retired = append(l.retired, retiredOutput{name: e.name, output: output, whole: e.ephemeral != nil, merge: l.mergeOf(e.name)})
	for _, o := range e.leftBehind {
		l.retired = append(l.retired, retiredOutput{name: e.name, output: o})
	}
}

// retireEnvironments withdraws statuses, issues and proposals of environments that have left the control plane:
// they would not be updated any more. That their output goes as well is proposed, and that of ephemeral ones
// goes; of those whose time is over the branch goes too. One that fails is tried again.
func (l *Loop) retireEnvironments(ctx context.Context) {
	l.retireMoved()
	l.withdrawRemovals(ctx)
	err := l.barrier.Run("withdraw records", "", func() error { return l.withdrawRecords(ctx) })
	if err != nil && ctx.Err() == nil {
		l.options.Logger.Warn("the records that are proposed for environments that are gone could not be withdrawn", "error", err)
		l.undone = true
	}
	var left []retiredOutput
	removals := map[string][]status.Removal{}
	for _, e := range slices.Concat(l.retired, l.ephemerals.ended) {
		if l.isWantedAgain(e) {
			continue
		}
		var done ephemeral.Cleared
		err := l.barrier.Run("withdraw", e.name, func() (err error) {
			done, err = l.withdrawEnvironment(ctx, e)
			return err
		})
		if err != nil && ctx.Err() == nil {
			l.options.Logger.Warn("an environment that is gone could not be withdrawn", "environment", e.name, "error", err)
			l.undone = true
			done = ephemeral.Cleared{Reason: err.Error()}
		}
		if done.Done {
			continue
		}
		l.undone = l.undone || done.Again
		why := "it is no longer in the control plane: "
		if e.ended != nil {
			why = "its time is over: "
		}
		if e.moved {
			removals[e.name] = append(removals[e.name], status.Removal{
				Repo: e.output.Repo, Branch: e.output.Branch, Folder: e.output.Folder, Reason: done.Reason, Pull: pullOf(done.Pull),
			})
		} else {
			l.options.Store.Set(status.Environment{Name: e.name, State: status.Waiting, Reason: why + done.Reason, Output: e.output, Pull: pullOf(done.Pull), Checked: l.options.Now()})
		}
		e.ended = nil // if a person removes its branch meanwhile, the rest goes all the same
		left = append(left, e)
	}
	l.retired = left
	for name, e := range l.environments {
		if e.report.Name != "" && !reflect.DeepEqual(e.report.Removals, removals[name]) {
			e.report.Removals = removals[name]
			l.options.Store.Set(e.report)
		}
	}
}

// withdrawEnvironment withdraws the proposals of an environment, and removes its output if it was
// ephemeral.
func (l *Loop) withdrawEnvironment(ctx context.Context, e retiredOutput) (ephemeral.Cleared, error) {
	done := ephemeral.Cleared{Done: true}
	if !l.options.Settings.Write {
		return ephemeral.Cleared{Done: e.ended == nil, Reason: "writing is off; write: true has it removed"}, nil
	}
	if e.ended != nil {
		if done, err := l.hasEnded(ctx, e.ended); err != nil || !done.Done {
			return done, err
		}
	}
	if e.output.Repo != "" {
		out, err := l.openRetired(ctx, e)
		if err != nil {
			return ephemeral.Cleared{}, err
		}
		if out != nil {
			done, err = l.clearOutput(ctx, e, out)
			if err != nil || !done.Done {
				return done, err
			}
		}
	}
	if e.ended != nil {
		return done, l.removeBranch(ctx, e.ended)
	}
	return done, nil
}

// openRetired returns the repository of an environment's output; nil if it was never read.
func (l *Loop) openRetired(ctx context.Context, e retiredOutput) (*repos.Remote, error) {
	out, err := l.remotes.OpenOutput(ctx, l.readLocation(e.output.Repo))
	if err != nil {
		return nil, fmt.Errorf("read the GitOps repository: %w", err)
	}
	if out.Mirror() == nil {
		return nil, nil
	}
	return out, nil
}

// clearOutput closes what is open, and removes our branch, and the output of what was there for
// a time. The output of what was there to stay is proposed to be removed.
func (l *Loop) clearOutput(ctx context.Context, e retiredOutput, out *repos.Remote) (ephemeral.Cleared, error) {
	f, err := out.Forge()
	if err != nil {
		return ephemeral.Cleared{}, err
	}
	if !e.moved || !l.proposesTo(e.name, e.output) {
		if err := l.closePulls(ctx, f, e); err != nil {
			return ephemeral.Cleared{}, err
		}
	}
	if e.moved { // its branch and its issue are those of what is there now
		if there := l.environments[e.name]; there != nil {
			holds, err := l.recordNames(ctx, e.name, model.RepoRef{Repo: there.output.Repo, Branch: there.output.Branch, Path: there.output.Folder})
			if err != nil || !holds { // it has no other place yet
				return ephemeral.Cleared{Reason: "its output is not in the new place yet"}, err
			}
		}
		return l.removeOutput(ctx, e, out, f)
	}
	if err := l.closeIssues(ctx, f, e.name); err != nil {
		return ephemeral.Cleared{}, err
	}
	if err := l.removeProposalBranch(ctx, e, out); err != nil {
		return ephemeral.Cleared{}, err
	}
	if !e.whole {
		return l.removeOutput(ctx, e, out, f)
	}
	done, err := ephemeral.ClearOutput(ctx, publish.Options{
		Remote: out.Remote, Forge: f, Prefix: l.options.Settings.Output.BranchPrefix, Author: l.author, Sign: l.sign, Write: true, BeforeEffect: l.options.BeforeEffect,
	}, e.name, e.output.Branch, e.output.Folder, e.merge)
	if err == nil && done.Done && done.Kept != "" {
		l.options.Logger.Warn("the output of an ephemeral environment is removed, and not its branch", "environment", e.name, "reason", done.Kept)
	}
	return done, err
}

// proposesTo reports whether the output of an environment goes to another folder of the same
// branch: what is open there is of that.
func (l *Loop) proposesTo(environment string, left status.Output) bool {
	e := l.environments[environment]
	return e != nil && e.output.Branch == left.Branch && giturl.Normalize(l.readLocation(e.output.Repo)) == giturl.Normalize(l.readLocation(left.Repo))
}

// closePulls closes the pull requests of an environment. Their text goes, with the mark that
// has content declined: an environment that comes back, or another one of its name, is not
// to find its content declined.
func (l *Loop) closePulls(ctx context.Context, f forge.Forge, e retiredOutput) error {
	pulls, err := f.Pulls(ctx, l.proposalBranch(e.name), e.output.Branch)
	if err != nil {
		return err
	}
	reason := l.removalReason(e) + "."
	for _, p := range pulls {
		if p.State != forge.Open {
			continue
		}
		l.options.BeforeEffect("edit the pull request of an environment that is gone")
		p.Body = reason + "\n"
		if _, err := f.EditPull(ctx, p.Number, p.Proposal); err != nil {
			return err
		}
		l.options.BeforeEffect("close the pull request of an environment that is gone")
		if err := f.ClosePull(ctx, p.Number, reason); err != nil {
			return err
		}
	}
	return nil
}

// proposalBranch returns the branch that the output of an environment is proposed from.
func (l *Loop) proposalBranch(environment string) string {
	return l.options.Settings.Output.BranchPrefix + environment
}

// removeProposalBranch removes the branch that the output was proposed from, if it is as we left it.
func (l *Loop) removeProposalBranch(ctx context.Context, e retiredOutput, out *repos.Remote) error {
	head, err := out.Mirror().Branch(l.proposalBranch(e.name))
	if errors.Is(err, git.ErrNoRevision) {
		return nil
	}
	if err != nil {
		return err
	}
	if head != e.output.Commit {
		target, err := out.Mirror().Branch(e.output.Branch)
		if err != nil && !errors.Is(err, git.ErrNoRevision) {
			return err
		}
		known, err := publish.IsOutputOnly(out.Mirror(), head, target, e.name)
		if err == nil && known && !e.whole {
			known, err = l.isProposal(ctx, out.Mirror(), head, e)
		}
		if err != nil {
			return err
		}
		if !known {
			l.options.Logger.Warn("a branch stays, since a commit on it is not ours", "environment", e.name, "branch", l.proposalBranch(e.name), "commit", head)
			return nil
		}
	}
	l.options.BeforeEffect("remove the branch of an environment that is gone")
	err = out.Push(ctx, nil, git.RefUpdate{Ref: "refs/heads/" + l.proposalBranch(e.name), Old: head})
	if errors.Is(err, git.ErrStale) {
		return nil
	}
	l.options.Logger.Info("an environment is gone", "environment", e.name)
	return err
}

// isProposal reports whether a commit has output that this control plane has written for an
// environment.
func (l *Loop) isProposal(ctx context.Context, repo *git.Repository, commit string, e retiredOutput) (bool, error) {
	view, err := repo.View(commit)
	if err != nil {
		return false, err
	}
	written, err := publish.FindWritten(view, e.output.Folder, e.name, l.isOurs(ctx))
	return written != nil, err
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
