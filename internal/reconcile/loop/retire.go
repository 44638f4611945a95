package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/panics"
	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/ephemeral"
	"github.com/fairlead-io/fairlead/internal/reconcile/promoter"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/repos"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// retiredOutput is an environment that has left the control plane, or whose time is over.
type retiredOutput struct {
	name     string
	output   model.RepoRef
	proposed string // the commit that its output was proposed with last; "" if none
	// whole is set if its output goes too: the environment was ephemeral.
	whole bool
	merge publish.Merge
	// moved is set if the environment is still there, and has its output elsewhere now.
	moved bool
	// ended is the one whose branch is still in the control plane, and goes last; nil
	// if it has gone.
	ended *source.Ephemeral
	// reason is what its removal waits for, in one sentence, and pull the pull request for that.
	reason string
	pull   *forge.Pull
	hint   string // what people have to change before it is removed; "" for nothing
}

// retirement withdraws what environments have left: those that are gone from the control plane,
// those whose time is over, and those that have their output elsewhere now. It remembers nothing
// that a search of the repositories does not find again.
type retirement struct {
	settings       *config.Settings
	remotes        *repos.Set
	publishOptions func(*repos.Remote, forge.Forge) publish.Options
	barrier        panics.Barrier
	logger         *slog.Logger
	store          *status.Store
	now            func() time.Time
	promoter       *promoter.Promoter
	ephemerals     *ephemeralLife
	environments   map[string]*environment // those of the loop

	source   *source.Source    // the control plane, as this round has read it
	retired  []retiredOutput   // that are not cleared yet
	searched bool              // there is no more than is known of that
	complete bool              // all environments that there are were read
	failures map[string]string // by environment and place, why it could not be cleared last
	undone   bool              // something has to be tried again though no reference moves
}

// noteRetired remembers an environment that is gone. If it is not known where its output went, that
// is looked for.
func (r *retirement) noteRetired(e *environment) {
	if e.output.Repo == "" {
		r.searched = false
		return
	}
	r.retired = append(r.retired, retiredOutput{
		name: e.name, output: e.output, proposed: e.outcome.result.Commit, whole: e.ephemeral != nil && !e.hasCopiedStacks(), merge: r.ephemerals.mergeOf(e.name),
	})
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
		r.logger.Warn("the records that are proposed for environments that are gone could not be withdrawn", "error", err)
		r.undone = true
	}
	var left []retiredOutput
	before := r.failures
	r.failures = map[string]string{}
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
			key, log := fmt.Sprint(e.name, " ", e.output), r.logger.Warn
			r.failures[key] = err.Error()
			if before[key] == err.Error() {
				log = r.logger.Debug
			}
			log("what an environment has left could not be removed", "environment", e.name, "error", err)
			r.undone = true
			done = ephemeral.Cleared{Reason: err.Error()}
		}
		if done.Done {
			continue
		}
		r.undone = r.undone || done.Again
		e.reason, e.pull, e.hint = done.Reason, done.Pull, done.Hint
		if e.ended != nil {
			e.reason = "its time is over: " + e.reason
		} else if !e.moved {
			e.reason = "it is no longer in the control plane: " + e.reason
		}
		e.ended = nil // if a person removes its branch meanwhile, the rest goes all the same
		left = append(left, e)
	}
	r.retired = left
	r.reportRetired()
	return r.undone
}

// withdrawEnvironment withdraws the proposals of an environment, and removes its output if it was
// ephemeral.
func (r *retirement) withdrawEnvironment(ctx context.Context, e retiredOutput) (ephemeral.Cleared, error) {
	done := ephemeral.Cleared{Done: true}
	if !mayWrite(ctx, r.settings) {
		return ephemeral.Cleared{Done: e.ended == nil, Reason: "writing is off; write: true has it removed"}, nil
	}
	if e.ended != nil {
		if done, err := r.ephemerals.hasEnded(ctx, e.ended); err != nil || !done.Done {
			return done, err
		}
	}
	if e.output.Repo != "" {
		place := r.remotes.ReadLocation(e.output.Repo)
		out, err := r.remotes.OpenOutput(ctx, place)
		if failure := cmp.Or(r.remotes.RemoteError(place), err); failure != nil {
			done, err = r.awaitRepository(e, failure), nil
		} else if out.Mirror() != nil { // or else it is empty
			done, err = r.clearOutput(ctx, e, out)
		}
		if err != nil || !done.Done {
			return done, err
		}
	}
	if e.ended != nil {
		return done, r.ephemerals.removeBranch(ctx, e.ended)
	}
	return done, nil
}

// awaitRepository returns what is left to do in a repository that cannot be read: nothing, if it was
// never read or had nothing of the environment when it was read last. Otherwise a person has to
// act; when it answers again, there is another round.
func (r *retirement) awaitRepository(e retiredOutput, failure error) ephemeral.Cleared {
	out := r.remotes.KnownRemote(r.remotes.ReadLocation(e.output.Repo))
	if out == nil || out.Mirror() == nil || !r.mayHold(out.Mirror(), e) {
		return ephemeral.Cleared{Done: true}
	}
	return ephemeral.Cleared{Reason: fmt.Sprintf("Fairlead cannot read the repository of that output (%s): restore its access, or restart Fairlead if the repository is gone for good", failure)}
}

// mayHold reports whether a mirror has something of an environment: its output, or a branch that
// its output is proposed from. It does if that cannot be read.
func (r *retirement) mayHold(mirror *git.Repository, e retiredOutput) bool {
	proposal, err := mirror.FindBranch(r.settings.Output.BranchPrefix + e.name)
	if err != nil || proposal != "" && !r.isElsewhereIn(e) {
		return true
	}
	holds, _, err := inspectMirror(mirror, nil, e.name, e.output)
	return holds || err != nil
}

// isElsewhereIn reports whether an environment has its output in another place of the repository
// that it has left: the branch that it is proposed from, and the issue, are those of that place.
func (r *retirement) isElsewhereIn(e retiredOutput) bool {
	there := r.environments[e.name]
	return e.moved && there != nil && r.remotes.IsSameRepository(there.output.Repo, e.output.Repo)
}

// clearOutput closes what is open, and removes our branch, and the output of what was there for
// a time. The output of what was there to stay is proposed to be removed.
func (r *retirement) clearOutput(ctx context.Context, e retiredOutput, out *repos.Remote) (ephemeral.Cleared, error) {
	f, err := out.Forge()
	if err != nil {
		return ephemeral.Cleared{}, err
	}
	o, there := r.publishOptions(out, f), r.environments[e.name]
	// If its output goes to another folder of the same branch now, what is open there is of that.
	if !e.moved || there == nil || !r.isSameBranch(there.output, e.output) {
		if err := r.closePulls(ctx, o, e); err != nil {
			return ephemeral.Cleared{}, err
		}
	}
	if !r.isElsewhereIn(e) {
		if err := closeIssues(ctx, o, issueMark(e.name)); err != nil {
			return ephemeral.Cleared{}, err
		}
		if err := r.removeProposalBranch(ctx, o, e); err != nil {
			return ephemeral.Cleared{}, err
		}
	}
	if e.moved {
		left, _, err := inspectMirror(out.Mirror(), nil, e.name, e.output)
		if err != nil {
			return ephemeral.Cleared{}, err
		}
		if there != nil && left {
			holds, _, err := inspectLocation(ctx, r.remotes, o.Records, e.name, there.output)
			if err != nil || !holds { // it has no other place yet
				return ephemeral.Cleared{Reason: "its output is not in the new place yet"}, err
			}
		}
	}
	if !e.whole {
		return r.removeOutput(ctx, o, e)
	}
	done, err := ephemeral.ClearOutput(ctx, o, e.name, e.output.Branch, e.output.Path, e.merge)
	if err == nil && done.Done && done.Kept != "" {
		r.logger.Warn("the output of an ephemeral environment is removed, and not its branch", "environment", e.name, "reason", done.Kept)
	}
	return done, err
}

// closePulls closes the pull requests of an environment. Their text goes, with the mark that
// has content declined: an environment that comes back, or another one of its name, is not
// to find its content declined.
func (r *retirement) closePulls(ctx context.Context, o publish.Options, e retiredOutput) error {
	pulls, err := o.Forge.Pulls(ctx, o.Prefix+e.name, e.output.Branch)
	if err != nil {
		return err
	}
	reason := r.removalReason(e) + "."
	for _, p := range pulls {
		if p.State != forge.Open {
			continue
		}
		o.Announce("edit the pull request of an environment that is gone")
		p.Body = reason + "\n"
		if _, err := o.Forge.EditPull(ctx, p.Number, p.Proposal); err != nil {
			return err
		}
		o.Announce("close the pull request of an environment that is gone")
		if err := o.Forge.ClosePull(ctx, p.Number, reason); err != nil {
			return err
		}
	}
	return nil
}

func (r *retirement) removeProposalBranch(ctx context.Context, o publish.Options, e retiredOutput) error {
	repo, branch := o.Remote.Mirror(), o.Prefix+e.name
	head, err := repo.FindBranch(branch)
	if err != nil || head == "" {
		return err
	}
	if head != e.proposed {
		target, err := repo.FindBranch(e.output.Branch)
		if err != nil {
			return err
		}
		known, err := publish.IsOutputOnly(repo, head, target, e.name)
		if err == nil && known && !e.whole {
			known, err = r.isProposal(ctx, repo, head, e)
		}
		if err != nil {
			return err
		}
		if !known {
			r.logger.Warn("a branch stays, since a commit on it is not ours", "environment", e.name, "branch", branch, "commit", head)
			return nil
		}
	}
	o.Announce("remove the branch of an environment that is gone")
	err = o.Remote.Push(ctx, nil, git.RefUpdate{Ref: "refs/heads/" + branch, Old: head})
	if errors.Is(err, git.ErrStale) {
		return nil
	}
	r.logger.Info("the branch that an environment's output was proposed from is removed", "environment", e.name, "repo", o.Remote.URL(), "branch", branch)
	return err
}

// isProposal reports whether a commit has output that this control plane has written for an
// environment.
func (r *retirement) isProposal(ctx context.Context, repo *git.Repository, commit string, e retiredOutput) (bool, error) {
	view, err := repo.View(commit)
	if err != nil {
		return false, err
	}
	written, err := publish.FindWritten(view, e.output.Path, e.name, r.isOurs(ctx))
	return written != nil, err
}
