package loop

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/panics"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/reconcile/ephemeral"
	"github.com/fairlead-io/fairlead/internal/reconcile/promoter"
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

// retirement withdraws what environments have left: those that are gone from the control plane,
// those whose time is over, and those that have their output elsewhere now. It remembers nothing
// that a search of the repositories does not find again.
type retirement struct {
	options      Options
	remotes      *repos.Set
	author       git.Signature
	sign         git.Signer
	barrier      panics.Barrier
	promoter     *promoter.Promoter
	ephemerals   *ephemeralLife
	environments map[string]*environment // those of the loop
	// recordNames reports whether the record in a location names an environment.
	recordNames func(ctx context.Context, environment string, to model.RepoRef) (bool, error)

	source   *source.Source  // the control plane, as this round has read it
	retired  []retiredOutput // that are not cleared yet
	searched bool            // there is no more than is known of that
	complete bool            // all environments that there are were read
	undone   bool            // something has to be tried again though no reference moves
}

// noteRetired remembers an environment that is gone. If it is not known where its output went, that
// is looked for.
func (r *retirement) noteRetired(e *environment) {
	if e.output.Repo == "" {
		r.searched = false
		return
	}
	output := e.output
	output.Commit = e.report.Output.Commit
	r.retired = append(r.retired, retiredOutput{name: e.name, output: output, whole: e.ephemeral != nil, merge: r.ephemerals.mergeOf(e.name)})
	for _, o := range e.leftBehind {
		r.retired = append(r.retired, retiredOutput{name: e.name, output: o})
	}
}

// retireEnvironments withdraws statuses, issues and proposals of environments that have left the control plane:
// they would not be updated any more. That their output goes as well is proposed, and that of ephemeral ones
// goes; of those whose time is over the branch goes too. One that fails is tried again.
func (r *retirement) retireEnvironments(ctx context.Context) (again bool) {
	r.undone = false
	r.retireMoved()
	r.withdrawRemovals(ctx)
	err := r.barrier.Run("withdraw records", "", func() error { return r.withdrawRecords(ctx) })
	if err != nil && ctx.Err() == nil {
		r.options.Logger.Warn("the records that are proposed for environments that are gone could not be withdrawn", "error", err)
		r.undone = true
	}
	var left []retiredOutput
	removals := map[string][]status.Removal{}
	for _, e := range slices.Concat(r.retired, r.ephemerals.ended) {
		if r.isWantedAgain(e) {
			continue
		}
		var done ephemeral.Cleared
		err := r.barrier.Run("withdraw", e.name, func() (err error) {
			done, err = r.withdrawEnvironment(ctx, e)
			return err
		})
		if err != nil && ctx.Err() == nil {
			r.options.Logger.Warn("an environment that is gone could not be withdrawn", "environment", e.name, "error", err)
			r.undone = true
			done = ephemeral.Cleared{Reason: err.Error()}
		}
		if done.Done {
			continue
		}
		r.undone = r.undone || done.Again
		why := "it is no longer in the control plane: "
		if e.ended != nil {
			why = "its time is over: "
		}
		if e.moved {
			removals[e.name] = append(removals[e.name], status.Removal{
				Repo: e.output.Repo, Branch: e.output.Branch, Folder: e.output.Folder, Reason: done.Reason, Pull: pullOf(done.Pull),
			})
		} else {
			r.options.Store.SetEnvironment(status.Environment{Name: e.name, State: status.Waiting, Reason: why + done.Reason, Output: e.output, Pull: pullOf(done.Pull), Checked: r.options.Now()})
		}
		e.ended = nil // if a person removes its branch meanwhile, the rest goes all the same
		left = append(left, e)
	}
	r.retired = left
	for name, e := range r.environments {
		if e.report.Name != "" && !reflect.DeepEqual(e.report.Removals, removals[name]) {
			e.report.Removals = removals[name]
			r.options.Store.SetEnvironment(e.report)
		}
	}
	return r.undone
}

// withdrawEnvironment withdraws the proposals of an environment, and removes its output if it was
// ephemeral.
func (r *retirement) withdrawEnvironment(ctx context.Context, e retiredOutput) (ephemeral.Cleared, error) {
	done := ephemeral.Cleared{Done: true}
	if !r.options.Settings.Write {
		return ephemeral.Cleared{Done: e.ended == nil, Reason: "writing is off; write: true has it removed"}, nil
	}
	if e.ended != nil {
		if done, err := r.ephemerals.hasEnded(ctx, e.ended); err != nil || !done.Done {
			return done, err
		}
	}
	if e.output.Repo != "" {
		out, err := r.openRetired(ctx, e)
		if err != nil {
			return ephemeral.Cleared{}, err
		}
		if out != nil {
			done, err = r.clearOutput(ctx, e, out)
			if err != nil || !done.Done {
				return done, err
			}
		}
	}
	if e.ended != nil {
		return done, r.ephemerals.removeBranch(ctx, e.ended)
	}
	return done, nil
}

// openRetired returns the repository of an environment's output; nil if it was never read.
func (r *retirement) openRetired(ctx context.Context, e retiredOutput) (*repos.Remote, error) {
	out, err := r.remotes.OpenOutput(ctx, r.remotes.ReadLocation(e.output.Repo))
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
func (r *retirement) clearOutput(ctx context.Context, e retiredOutput, out *repos.Remote) (ephemeral.Cleared, error) {
	f, err := out.Forge()
	if err != nil {
		return ephemeral.Cleared{}, err
	}
	if !e.moved || !r.proposesTo(e.name, e.output) {
		if err := r.closePulls(ctx, f, e); err != nil {
			return ephemeral.Cleared{}, err
		}
	}
	if e.moved { // its branch and its issue are those of what is there now
		if there := r.environments[e.name]; there != nil {
			holds, err := r.recordNames(ctx, e.name, model.RepoRef{Repo: there.output.Repo, Branch: there.output.Branch, Path: there.output.Folder})
			if err != nil || !holds { // it has no other place yet
				return ephemeral.Cleared{Reason: "its output is not in the new place yet"}, err
			}
		}
		return r.removeOutput(ctx, e, out, f)
	}
	if err := r.closeIssues(ctx, f, e.name); err != nil {
		return ephemeral.Cleared{}, err
	}
	if err := r.removeProposalBranch(ctx, e, out); err != nil {
		return ephemeral.Cleared{}, err
	}
	if !e.whole {
		return r.removeOutput(ctx, e, out, f)
	}
	done, err := ephemeral.ClearOutput(ctx, publish.Options{
		Remote: out.Remote, Forge: f, Prefix: r.options.Settings.Output.BranchPrefix, Author: r.author, Sign: r.sign, Write: true, BeforeEffect: r.options.BeforeEffect,
	}, e.name, e.output.Branch, e.output.Folder, e.merge)
	if err == nil && done.Done && done.Kept != "" {
		r.options.Logger.Warn("the output of an ephemeral environment is removed, and not its branch", "environment", e.name, "reason", done.Kept)
	}
	return done, err
}

// proposesTo reports whether the output of an environment goes to another folder of the same
// branch: what is open there is of that.
func (r *retirement) proposesTo(environment string, left status.Output) bool {
	e := r.environments[environment]
	return e != nil && e.output.Branch == left.Branch && giturl.Normalize(r.remotes.ReadLocation(e.output.Repo)) == giturl.Normalize(r.remotes.ReadLocation(left.Repo))
}

// closePulls closes the pull requests of an environment. Their text goes, with the mark that
// has content declined: an environment that comes back, or another one of its name, is not
// to find its content declined.
func (r *retirement) closePulls(ctx context.Context, f forge.Forge, e retiredOutput) error {
	pulls, err := f.Pulls(ctx, r.options.proposalBranch(e.name), e.output.Branch)
	if err != nil {
		return err
	}
	reason := r.removalReason(e) + "."
	for _, p := range pulls {
		if p.State != forge.Open {
			continue
		}
		r.options.BeforeEffect("edit the pull request of an environment that is gone")
		p.Body = reason + "\n"
		if _, err := f.EditPull(ctx, p.Number, p.Proposal); err != nil {
			return err
		}
		r.options.BeforeEffect("close the pull request of an environment that is gone")
		if err := f.ClosePull(ctx, p.Number, reason); err != nil {
			return err
		}
	}
	return nil
}

// removeProposalBranch removes the branch that the output was proposed from, if it is as we left it.
func (r *retirement) removeProposalBranch(ctx context.Context, e retiredOutput, out *repos.Remote) error {
	head, err := out.Mirror().Branch(r.options.proposalBranch(e.name))
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
			known, err = r.isProposal(ctx, out.Mirror(), head, e)
		}
		if err != nil {
			return err
		}
		if !known {
			r.options.Logger.Warn("a branch stays, since a commit on it is not ours", "environment", e.name, "branch", r.options.proposalBranch(e.name), "commit", head)
			return nil
		}
	}
	r.options.BeforeEffect("remove the branch of an environment that is gone")
	err = out.Push(ctx, nil, git.RefUpdate{Ref: "refs/heads/" + r.options.proposalBranch(e.name), Old: head})
	if errors.Is(err, git.ErrStale) {
		return nil
	}
	r.options.Logger.Info("an environment is gone", "environment", e.name)
	return err
}

// isProposal reports whether a commit has output that this control plane has written for an
// environment.
func (r *retirement) isProposal(ctx context.Context, repo *git.Repository, commit string, e retiredOutput) (bool, error) {
	view, err := repo.View(commit)
	if err != nil {
		return false, err
	}
	written, err := publish.FindWritten(view, e.output.Folder, e.name, r.isOurs(ctx))
	return written != nil, err
}

// closeIssues closes the issues of an environment's problems.
func (r *retirement) closeIssues(ctx context.Context, f forge.Forge, environment string) error {
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
