package publish

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
)

func (w *attempt) newResult(s State, reason string) Result {
	return Result{State: s, Reason: reason, Head: w.target, Report: w.report, Adoption: w.next.adoption, Withheld: w.withheld, Change: w.changeSummary()}
}

func (w *attempt) withdrawProposal(ctx context.Context) (Result, error) {
	done := w.newResult(InSync, "")
	head, err := w.repo.FindBranch(w.ours)
	if err != nil || head == "" || !w.options.writes(ctx) {
		return done, err
	}
	whose, err := w.outputOwnership().ownerOf(head)
	if err != nil || whose != ownerUs {
		return done, err
	}
	if superseded, err := w.isSuperseded(ctx, head); err != nil || superseded {
		done.Again = superseded
		return done, err
	}
	open, _, err := w.options.findProposals(ctx, w.ours, w.p.Branch, withoutDigest)
	if err != nil {
		return Result{}, err
	}
	if open != nil {
		if err := w.checkUnmoved(ctx, w.ours, head); err != nil {
			return Result{}, err
		}
		if err := w.options.closePull(ctx, *open, withoutDigest, reasonWithdrawn); err != nil {
			return Result{}, err
		}
	}
	w.options.Announce("remove our branch")
	err = w.options.Remote.Push(ctx, nil, git.RefUpdate{Ref: heads + w.ours, Old: head})
	return done, err
}

// checkUnmoved fetches and fails if a branch has moved: the forge's answers may be newer.
func (w *attempt) checkUnmoved(ctx context.Context, branch, head string) error {
	_, err := w.options.Remote.Sync(ctx)
	if err != nil {
		return err
	}
	now, err := w.options.Remote.Mirror().FindBranch(branch)
	if err == nil && now != head {
		return fmt.Errorf("%s moved meanwhile: %w", branch, git.ErrStale)
	}
	return err
}

// isSuperseded reports whether our branch proposes other inputs that may be newer, because the
// repositories moved since we read them. The next cycle reads them.
func (w *attempt) isSuperseded(ctx context.Context, head string) (bool, error) {
	merged, err := w.outputOwnership().isMerged(head)
	if err != nil || merged || w.p.IsCurrent == nil {
		return false, err
	}
	proposed, err := w.repo.Commit(head)
	if err != nil || strings.Contains(proposed.Message, inputTrailers(w.p)+trailerDigest+": ") {
		return false, err
	}
	current, err := w.p.IsCurrent(ctx)
	if err != nil {
		return false, fmt.Errorf("ask for newer inputs before the proposal is withdrawn: %w", err)
	}
	return !current, nil
}

const reasonWithdrawn = "There is nothing left to propose: the branch holds what was rendered."

func (w *attempt) proposeCommit(ctx context.Context, c git.Commit) (Result, error) {
	head, err := w.repo.FindBranch(w.ours)
	if err != nil {
		return Result{}, err
	}
	id, err := w.expectedCommit(c, head)
	if err != nil {
		return Result{}, err
	}
	whose := ownerUs
	if head == "" {
		err = w.checkName(w.ours)
	} else if head != id {
		whose, err = w.outputOwnership().ownerOf(head)
	}
	if err != nil {
		return Result{}, err
	}
	if whose == ownerForeign {
		return w.newResult(Foreign, fmt.Sprintf("the branch %s is not ours: none of its commits has our trailers; rename it", w.ours)), nil
	}
	if !w.options.writes(ctx) {
		r := w.reportDryRun(ctx, id)
		if w.options.Write {
			return observeProposal(r, whose), nil
		}
		return r, nil
	}
	if err := w.witnessHead(head, whose); err != nil {
		return Result{}, err
	}
	open, ended, err := w.options.findProposals(ctx, w.ours, w.p.Branch, withoutDigest)
	if err != nil {
		return Result{}, err
	}
	if whose == ownerEdited {
		return w.reportEdited(ctx, open, head)
	}
	if declined := w.findDeclined(ended); declined != nil {
		return *declined, nil
	}
	if err := w.cancelAutoMerge(ctx, open); err != nil {
		return Result{}, err
	}
	if head == "" || head != id {
		id, err = w.commitTo(ctx, c, head)
	}
	if err == nil && open == nil { // another daemon's equal pull request may have been merged
		err = w.checkUnmoved(ctx, w.p.Branch, w.target)
	}
	if err != nil {
		return Result{}, err
	}
	pull, err := w.options.putPull(ctx, open, forge.Proposal{
		Mark: w.p.Environment, Head: w.ours, Base: w.p.Branch, Title: w.changeTitle(), Body: w.pullBody(), Labels: w.pullLabels(),
	})
	if err != nil {
		return Result{}, err
	}
	r := w.newResult(Proposed, "")
	r.Commit, r.Pull = id, &pull
	return w.mergePull(ctx, r)
}

func (w *attempt) witnessHead(head string, whose owner) error {
	made := false
	if head != "" && whose == ownerUs {
		info, err := w.repo.Commit(head)
		if err != nil {
			return err
		}
		made = IsOurs(info, w.p.Environment) // not an update merge
	}
	w.options.Witness.noticeCommit(w.branchURL(), head, made)
	return nil
}

func (w *attempt) branchURL() string { return w.options.Remote.URL() + "#" + w.ours }

func (w *attempt) reportDryRun(ctx context.Context, id string) Result {
	r := w.newResult(DryRun, "it is not proposed yet: a daemon with write: true proposes it")
	r.Commit = id
	if w.options.Forge == nil {
		return r
	}
	all, err := w.options.Forge.Pulls(ctx, w.ours, w.p.Branch)
	all = slices.DeleteFunc(all, func(p forge.Pull) bool { return strings.HasSuffix(p.Reason, reasonOlder) })
	open := slices.DeleteFunc(slices.Clone(all), func(p forge.Pull) bool { return p.State != forge.Open })
	switch {
	case err != nil: // the rest does not depend on it
		r.Reason += "; its pull requests are not known: " + err.Error()
	case len(open) > 0:
		r.Pull, r.Reason = &open[len(open)-1], "" // the oldest
		if len(w.withheld) > 0 {
			return w.reportWithheld(r)
		} else if w.p.Merge != "" && w.p.Merge != Manual {
			r.Reason = fmt.Sprintf("the daemon merges it (merge: %s)", w.p.Merge)
		}
	case len(all) > 0:
		if declined := w.findDeclined(&all[0]); declined != nil {
			return *declined
		}
	}
	return r
}

// observeProposal returns what a replica reports that does not write for the environment.
func observeProposal(r Result, whose owner) Result {
	switch {
	case r.State != DryRun:
	case r.Pull == nil:
		r.Reason, r.Again = "another replica proposes it", true
	case whose == ownerEdited:
		r.State, r.Reason = Edited, "a commit on its branch is not ours"
	default:
		r.State = Proposed
	}
	return r
}

func (w *attempt) findDeclined(ended *forge.Pull) *Result {
	if ended == nil || ended.State != forge.Closed {
		return nil
	}
	if digest, _ := cutMark(ended.Body); digest != contentDigest(w.p) {
		return nil
	}
	r := w.newResult(Declined, fmt.Sprintf("pull request %d with this content was closed; open it again, or change something", ended.Number))
	r.Pull = ended
	return &r
}

// pushCommit fails if the output branch has moved: another process may have merged the same.
func (w *attempt) pushCommit(ctx context.Context, c git.Commit, head string) error {
	if head != "" { // avoids sending its content again
		known, err := w.repo.LocalTree(head)
		if err != nil {
			return err
		}
		c.Known = append(c.Known, known)
	}
	pack, err := w.options.Remote.Write(ctx, c)
	if err != nil {
		return err
	}
	if err := w.whole.Err(); err != nil { // the pack may be incomplete
		pack.Discard()
		return err
	}
	w.options.Announce("push our branch")
	updates := []git.RefUpdate{{Ref: heads + w.ours, Old: head, New: pack.Commits[0]}}
	if w.target != "" {
		updates = append(updates, git.RefUpdate{Ref: heads + w.p.Branch, Old: w.target, New: w.target})
	}
	return w.options.Remote.Push(ctx, pack, updates...)
}

// promotedLabel marks a promotion, as in Kalypso.
const promotedLabel = "promoted"

func (w *attempt) reportEdited(ctx context.Context, open *forge.Pull, head string) (Result, error) {
	reason := fmt.Sprintf("commit %.12s on %s is not ours; merge the pull request, or remove the commit or the branch, and updates go on", head, w.ours)
	r := w.newResult(Edited, reason)
	if open == nil {
		return r, nil
	}
	edited := open.Proposal
	edited.Body = withNotice(withoutDigest(open.Body), reason) // removing the branch must not decline the content
	pull, err := w.options.putPull(ctx, open, edited)
	r.Pull = &pull
	return r, err
}
