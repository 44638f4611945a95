// Package publish makes a branch hold a tree, by one stable pull request for each
// environment.
//
// What the package keeps true:
//   - It does nothing when the branch holds the tree already: no commit, no pull
//     request, whatever else has changed.
//   - It owns the folders that its record names ([RecordFile]), and leaves everything
//     else byte for byte.
//   - The same inputs on the same branch give the same commit, so that two that race
//     do the same.
//   - It moves only branches that carry its trailers. A commit of somebody else on
//     its branch stops it, and it says so; so does a pull request that somebody has
//     closed, until the content changes.
//   - Killed at any point and called again, it comes to the same end.
package publish

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/impact"
	"github.com/fairlead-io/fairlead/internal/output"
	"github.com/fairlead-io/fairlead/internal/problem"
	"github.com/fairlead-io/fairlead/internal/source"
	"github.com/fairlead-io/fairlead/internal/tree"
)

// Proposal is what a branch should hold.
type Proposal struct {
	Environment string
	Branch      string // of the GitOps repository
	Folder      string // in it; "" for the root
	Rendered    tree.Tree
	Inputs      []source.Commit
	Problems    problem.List // that do not stop it
	Workload    func(target string) string
}

// Options are the same for all proposals to one repository.
type Options struct {
	Remote *git.Remote // synced by the caller
	Forge  forge.Forge
	Prefix string // of our branches: "fairlead/"
	Author git.Signature
	Sign   git.Signer // nil for none
	Create bool       // a branch that does not exist
	Write  bool       // or else only say what would be done
	// Step is told before each thing that changes the world; nil for nobody. Tests
	// end the process there.
	Step func(what string)
}

// State is what has become of a proposal.
type State string

// The states of a proposal.
const (
	InSync   State = "in-sync"  // the branch holds it
	Proposed State = "proposed" // a pull request is open
	Declined State = "declined" // somebody closed the pull request
	Edited   State = "edited"   // somebody else's commit is on our branch
	Foreign  State = "foreign"  // the branch that should be ours is somebody else's
	DryRun   State = "dry-run"  // there would be a change
)

// Result says what has become of a proposal.
type Result struct {
	State  State
	Reason string // one sentence; "" where the state says it all
	Head   string // the commit at the head of the output branch
	Commit string // that proposes the change; "" if there is none
	Held   tree.Tree
	Pull   *forge.Pull
	Report impact.Report
	// Adoption says how existing files came to be ours.
	Adoption Adoption
}

// MissingBranch says that an output branch is not there, and is not to be made.
type MissingBranch struct{ Repo, Branch string }

func (e *MissingBranch) Error() string { return fmt.Sprintf("%s has no branch %s", e.Repo, e.Branch) }

// Hint says what to do about it.
func (e *MissingBranch) Hint() string {
	return fmt.Sprintf("set output.create: true, or make it: git push %s $(git commit-tree -m Begin %s):refs/heads/%s", e.Repo, tree.EmptyID, e.Branch)
}

// maxRounds bounds how often we look again when somebody else was faster.
const maxRounds = 4

// Publish makes a branch hold a tree, or proposes it.
func Publish(ctx context.Context, o Options, p Proposal) (Result, error) {
	for range maxRounds {
		w := &work{Options: o, p: p, ours: o.Prefix + p.Environment}
		result, err := w.run(ctx)
		if !errors.Is(err, git.ErrStale) && !errors.Is(err, forge.ErrExists) {
			return result, err
		}
		if _, err := o.Remote.Sync(ctx); err != nil {
			return Result{}, err
		}
	}
	return Result{}, fmt.Errorf("publish %s: %w, again and again", p.Environment, git.ErrStale)
}

// work is one attempt.
type work struct {
	Options
	p    Proposal
	ours string // our branch

	repo   *git.Repository
	target string // the head of the output branch
	next   composed
	report impact.Report
	digest string
}

func (w *work) step(what string) {
	if w.Step != nil {
		w.Step(what)
	}
}

func (w *work) run(ctx context.Context) (Result, error) {
	w.repo = w.Remote.Mirror()
	if err := w.findTarget(ctx); err != nil {
		return Result{}, err
	}
	view, err := w.repo.View(w.target)
	if err != nil {
		return Result{}, err
	}
	now := view.Tree.Sub(w.p.Folder)
	written := Written{
		Environment: w.p.Environment, Folder: cleanFolder(w.p.Folder), Tree: w.p.Rendered.ID().String(), From: Inputs(w.p.Inputs),
	}
	if w.next, err = compose(now, written, w.p.Rendered); err != nil {
		return Result{}, fmt.Errorf("branch %s: %w", w.p.Branch, err)
	}
	if err := view.Err(); err != nil {
		return Result{}, err
	}
	w.digest = digestOf(w.p.Environment, w.p.Folder, w.next.tree)
	if w.next.same {
		return w.settle(ctx)
	}
	w.report = impact.Of(w.next.before, visible(w.p.Rendered), impact.Options{Workload: w.p.Workload})
	commit := w.commit(view.Tree)
	if err := view.Err(); err != nil {
		return Result{}, err
	}
	return w.propose(ctx, commit)
}

// content names what is proposed, whatever else is on the branch.
func (w *work) content() string { return digestOf(w.p.Environment, w.p.Folder, w.p.Rendered) }

// visible gives the folders of cluster types.
func visible(t tree.Tree) tree.Tree {
	return tree.FromEntries(slices.DeleteFunc(slices.Clone(t.Entries()), func(e tree.Entry) bool { return strings.HasPrefix(e.Name, ".") }))
}

// findTarget finds the head of the output branch, or makes the branch.
func (w *work) findTarget(ctx context.Context) (err error) {
	w.target, err = w.repo.Branch(w.p.Branch)
	if !errors.Is(err, git.ErrNoRevision) {
		return err
	}
	if !w.Create {
		return &MissingBranch{w.Remote.URL(), w.p.Branch}
	}
	if !w.Write { // all of it would be new
		return nil
	}
	w.step("create the output branch")
	begin := git.Commit{
		Author: w.Author, When: time.Unix(0, 0).UTC(), Sign: w.Sign,
		Message: fmt.Sprintf("Begin the output of %s\n\n%s: %s\n", w.p.Environment, trailerEnvironment, w.p.Environment),
	}
	pack, err := w.Remote.Write(ctx, begin)
	if err != nil {
		return err
	}
	w.target = pack.Commits[0]
	return w.Remote.Push(ctx, pack, git.RefUpdate{Ref: heads + w.p.Branch, New: w.target})
}

const heads = "refs/heads/"

// commit gives the commit that holds what the branch should.
func (w *work) commit(whole tree.Tree) git.Commit {
	c := git.Commit{
		Tree: replaceFolder(whole, w.p.Folder, w.next.tree), Author: w.Author, Sign: w.Sign, When: commitTime(w.p.Inputs),
		Message: message(w.p, titleOf(w.p.Environment, w.report), w.digest), Known: []tree.Tree{whole},
	}
	if w.target != "" {
		c.Parents = []string{w.target}
	}
	return c
}

func (w *work) result(s State, reason string) Result {
	return Result{State: s, Reason: reason, Head: w.target, Held: w.next.tree, Report: w.report, Adoption: w.next.adoption}
}

// settle has nothing to propose: what we proposed before is withdrawn.
func (w *work) settle(ctx context.Context) (Result, error) {
	done := w.result(InSync, "")
	head, err := w.repo.Branch(w.ours)
	if errors.Is(err, git.ErrNoRevision) || !w.Write {
		return done, nil
	}
	if err != nil {
		return Result{}, err
	}
	whose, _, err := w.owner(head)
	if err != nil || whose != ownerUs {
		return done, err
	}
	pulls, err := w.Forge.Pulls(ctx, w.ours, w.p.Branch)
	if err != nil {
		return Result{}, err
	}
	if len(pulls) > 0 && pulls[0].State == forge.Open {
		if err := w.withdraw(ctx, pulls[0]); err != nil {
			return Result{}, err
		}
	}
	w.step("remove our branch")
	err = w.Remote.Push(ctx, nil, git.RefUpdate{Ref: heads + w.ours, Old: head})
	return done, err
}

// nothingLeft is why we close a pull request ourselves.
const nothingLeft = "There is nothing left to propose: the branch holds what was rendered."

// withdraw closes our pull request. Its digest goes first: that a pull request with a
// digest is closed means that somebody has declined the content.
func (w *work) withdraw(ctx context.Context, pull forge.Pull) error {
	body, _, _ := strings.Cut(pull.Body, "<!-- fairlead-digest:")
	if body != pull.Body {
		w.step("edit the pull request")
		edited := pull.Proposal
		edited.Body = body
		if _, err := w.Forge.Edit(ctx, pull.Number, edited); err != nil {
			return err
		}
	}
	w.step("close the pull request")
	return w.Forge.Close(ctx, pull.Number, nothingLeft)
}

// propose pushes the commit to our branch, and makes the pull request say what it
// means.
func (w *work) propose(ctx context.Context, c git.Commit) (Result, error) {
	id, err := c.ID()
	if err != nil {
		return Result{}, err
	}
	head, err := w.repo.Branch(w.ours)
	if err != nil && !errors.Is(err, git.ErrNoRevision) {
		return Result{}, err
	}
	whose, who := ownerUs, ""
	if head != "" && head != id {
		if whose, who, err = w.owner(head); err != nil {
			return Result{}, err
		}
	}
	if whose == ownerForeign {
		return w.result(Foreign, fmt.Sprintf("the branch %s is not ours: none of its commits has our trailers; rename it", w.ours)), nil
	}
	if !w.Write {
		r := w.result(DryRun, "writing is off; write: true proposes it")
		r.Commit = id
		return r, nil
	}
	pulls, err := w.Forge.Pulls(ctx, w.ours, w.p.Branch)
	if err != nil {
		return Result{}, err
	}
	var last *forge.Pull
	if len(pulls) > 0 {
		last = &pulls[0]
	}
	if whose == ownerEdited {
		return w.stopped(ctx, last, who)
	}
	if last != nil && last.State == forge.Closed && strings.Contains(last.Body, digestMark(w.content())) {
		r := w.result(Declined, fmt.Sprintf("pull request %d with this content was closed; open it again, or change something", last.Number))
		r.Pull = last
		return r, nil
	}
	if head != id {
		if err := w.push(ctx, c, head); err != nil {
			return Result{}, err
		}
	}
	pull, err := w.pull(ctx, last)
	if err != nil {
		return Result{}, err
	}
	r := w.result(Proposed, "")
	r.Commit, r.Pull = id, &pull
	return r, nil
}

func (w *work) push(ctx context.Context, c git.Commit, head string) error {
	if head != "" { // what is on our branch was sent before, and need not be sent again
		view, err := w.repo.View(head)
		if err != nil {
			return err
		}
		c.Known = append(c.Known, view.Tree)
	}
	pack, err := w.Remote.Write(ctx, c)
	if err != nil {
		return err
	}
	w.step("push our branch")
	return w.Remote.Push(ctx, pack, git.RefUpdate{Ref: heads + w.ours, Old: head, New: pack.Commits[0]})
}

// promotedLabel marks a pull request that brings another commit of the base, as
// Kalypso does.
const promotedLabel = "promoted"

// pull opens the pull request, or makes the open one say what it should.
func (w *work) pull(ctx context.Context, last *forge.Pull) (forge.Pull, error) {
	want := forge.Proposal{
		Mark: w.p.Environment, Head: w.ours, Base: w.p.Branch, Title: titleOf(w.p.Environment, w.report), Body: w.body(),
	}
	if w.promotes() {
		want.Labels = []string{promotedLabel}
	}
	if last == nil || last.State != forge.Open {
		w.step("open the pull request")
		return w.Forge.Open(ctx, want)
	}
	if last.Title == want.Title && last.Body == want.Body && slices.Equal(last.Labels, want.Labels) {
		return *last, nil
	}
	w.step("edit the pull request")
	return w.Forge.Edit(ctx, last.Number, want)
}

// promotes reports whether the proposal has another promoted commit than the branch.
func (w *work) promotes() bool {
	next, ok := w.next.tree.Lookup(output.TrackingFile)
	if !ok {
		return false
	}
	view, err := w.repo.View(w.target)
	if err != nil {
		return false
	}
	now, _ := view.Tree.Sub(w.p.Folder).Lookup(output.TrackingFile)
	return strings.TrimSpace(string(now.Data)) != strings.TrimSpace(string(next.Data))
}

// stopped leaves our branch to somebody who works on it, and says so in the pull
// request.
func (w *work) stopped(ctx context.Context, last *forge.Pull, who string) (Result, error) {
	reason := fmt.Sprintf("commit %s on %s is not ours; merge the pull request, or remove the commit or the branch, and updates go on", short(who), w.ours)
	r := w.result(Edited, reason)
	if last == nil || last.State != forge.Open {
		return r, nil
	}
	r.Pull = last
	notice := "> [!WARNING]\n> Fairlead does not update this pull request: " + reason + ".\n\n"
	if strings.HasPrefix(last.Body, notice) {
		return r, nil
	}
	edited := last.Proposal
	edited.Body = notice + last.Body
	w.step("edit the pull request")
	pull, err := w.Forge.Edit(ctx, last.Number, edited)
	r.Pull = &pull
	return r, err
}
