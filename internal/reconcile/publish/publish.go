// Package publish makes a branch hold a tree, by one stable pull request for each
// environment.
//
// What the package keeps true:
//   - It does nothing when the branch holds the tree already: no commit, no pull
//     request, whatever else has changed.
//   - It owns the folders that its record names ([RecordFile]), and leaves everything
//     else byte for byte.
//   - The same inputs on the same branch give the same commit, so that two that race
//     do the same. If the forge makes it, there is one commit for them all the same:
//     what our branch is at is compared by tree, parent and message.
//   - It moves only branches that carry its trailers. A commit of another author on
//     its branch stops it, with a notice in the pull request; so does a pull request that
//     a person has closed, until the content changes.
//   - The root modules that the output pins clusters to are pushed before the output is
//     proposed, and what was pinned once stays where clusters find it.
//   - Killed at any point and called again, it comes to the same end.
package publish

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/change/impact"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
)

// Proposal is what a branch should hold.
type Proposal struct {
	Environment string
	Branch      string // of the GitOps repository
	Folder      string // in it; "" for the root
	// Rendered has folders, and files below them only. Those that begin with a dot are put over
	// what is there, the others take its place.
	Rendered tree.Tree
	// Modules are the root modules that Rendered pins clusters to; nil if there are none.
	Modules  *stackfiles.Modules
	Inputs   []source.Commit
	Stopped  []string     // stacks that something beside the inputs stops
	Problems problem.List // that do not stop it
	// Followed returns what gets to the clusters without a change of the output, for the text of the pull request; nil for
	// nothing.
	Followed func() []model.Followed
	Workload func(target string) string
	// Chosen is that of [impact.Options].
	Chosen func(target string) bool
	Merge  Merge // "" for Manual
	// Withheld are the caller's reasons why only a person may merge it.
	Withheld []Withholding
	// Recheck returns the caller's reasons as they are now. It is called before each
	// merge; nil for no look.
	Recheck func(ctx context.Context) ([]Withholding, error)
	// IsCurrent asks the repositories of the inputs once more, and reports whether the inputs are
	// still the newest. It is called before a proposal that was made from other inputs is
	// withdrawn: another daemon may be ahead of this one. nil: they are.
	IsCurrent func(ctx context.Context) (bool, error)
	// CommitsSince returns the commits that an input has and the one that was rendered before,
	// which is named by its id, has not: for the text of the pull request. nil shows none.
	CommitsSince func(input source.Commit, before string) Commits
	// Limits are those of the environment; nil for the default ones.
	Limits *model.Limits
	// Acknowledged returns the changes that people have acknowledged though they exceed
	// the limits, by the names that [Withholding.ChangeID] has. It is asked only where
	// one does; nil for none.
	Acknowledged func() ([]string, error)
	// LocationChosen reports whether Fairlead itself chose the location, for an environment that is made from
	// one whose place is established: its first write does not wait for a person.
	LocationChosen bool
	// DeletedHead is the last commit of the output branch before somebody deleted it; "" if nobody is known to have.
	DeletedHead string
	// MovedFrom are folders of the branch that the output was in before: what is there of this
	// environment, and IsOurs, goes with the change.
	MovedFrom []string
	IsOurs    func(Written) (bool, error) // nil if there are none
}

// Options are the same for all proposals to one repository.
type Options struct {
	Remote *git.Remote // synced by the caller
	Forge  forge.Forge
	Prefix string // of our branches: "fairlead/"
	Author git.Signature
	// Through commits the edits of the author; the zero value is the author.
	Through git.Signature
	Sign    git.Signer // nil for none
	// Committer makes the commits that are proposed, so that the forge signs them; nil
	// if we make them.
	Committer forge.Committer
	// Listed are our open pull requests as the caller has listed them in this cycle; nil to list them.
	// What changes meanwhile is noticed as if it had changed after a listing of our own.
	Listed []forge.Pull
	Create bool // a branch that does not exist
	Write  bool // or else only say what would be done
	// Records are those of outputs; nil to read each anew.
	Records *Records
	// Witness notices another Fairlead that proposes the same; nil for none.
	Witness *Witness
	// BeforeEffect is called before each side effect; nil for no call. Tests end the process
	// there.
	BeforeEffect func(what string)
}

// State is what has become of a proposal.
type State string

// The states of a proposal.
const (
	InSync   State = "in-sync"  // the branch holds it
	Proposed State = "proposed" // a pull request is open
	Declined State = "declined" // a person closed the pull request
	Edited   State = "edited"   // a commit of another author is on our branch
	Foreign  State = "foreign"  // the branch that should be ours is not
	DryRun   State = "dry-run"  // there would be a change
)

// Result is what has become of a proposal.
type Result struct {
	State  State
	Reason string // one sentence; "" where the state says it all
	Head   string // the commit at the head of the output branch
	Commit string // that proposes the change; "" if there is none
	Pull   *forge.Pull
	Report impact.Report
	// Change is the change in one line; "" if nothing changes.
	Change string
	// Again reports whether to try again though no reference moves: merging is not possible
	// yet, or newer inputs are to be read.
	Again bool
	// LeftToPeople reports that the pull request waits for a person because the forge cannot merge it as the environment
	// wants, or does not let us.
	LeftToPeople bool
	// Adoption is how existing files came to be ours.
	Adoption Adoption
	// Withheld are the reasons why only a person may merge the pull request.
	Withheld []Withholding
}

// maxRounds bounds how often a publication begins anew because another process was faster.
const maxRounds = 4

// Publish makes a branch hold a tree, or proposes it.
func Publish(ctx context.Context, o Options, p Proposal) (Result, error) {
	var err error
	for range maxRounds {
		var result Result
		w := &attempt{options: o, p: p, ours: o.Prefix + p.Environment}
		result, err = w.publishOnce(ctx)
		if !isOutdated(err) {
			return result, err
		}
		o.Listed = nil
		if _, err := o.Remote.Sync(ctx); err != nil {
			return Result{}, err
		}
	}
	if errors.Is(err, forge.ErrExists) {
		err = newBlocked("close it", "another account has opened a pull request from %s%s to %s", o.Prefix, p.Environment, p.Branch)
	}
	return Result{}, err
}

// isOutdated reports whether an error means that the repository or the forge has changed since
// it was read: another process was faster.
func isOutdated(err error) bool {
	for _, kind := range []error{git.ErrStale, forge.ErrExists, forge.ErrMoved, forge.ErrChanged, forge.ErrNotFound} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

// attempt is one attempt.
type attempt struct {
	options Options
	p       Proposal
	ours    string // our branch

	repo      *git.Repository
	target    string    // the head of the output branch
	whole     *git.View // what the output branch holds
	next      composed
	movedFrom []formerFolder // folders of the branch that have output from before
	report    impact.Report
	changelog []layerCommits // that the change brings

	excess   excess
	withheld []Withholding
	first    bool // no record at the place names this environment
}

func (w *attempt) publishOnce(ctx context.Context) (Result, error) {
	w.repo = w.options.Remote.Mirror()
	w.p.Inputs = sortedInputs(w.p.Environment, w.p.Inputs)
	if w.p.Branch == w.ours {
		return Result{}, newBlocked("have the output go to another branch", "branch %s is the one that the output of %s is proposed from", w.ours, w.p.Environment)
	}
	if err := w.findTarget(ctx); err != nil {
		return Result{}, err
	}
	var err error
	w.whole, err = w.repo.View(w.target)
	if err != nil {
		return Result{}, err
	}
	now := w.whole.Tree.Sub(CleanFolder(w.p.Folder))
	if err := w.options.Remote.Prefetch(ctx, commonFolders(now, w.p.Rendered), w.p.Rendered, 1); err != nil {
		return Result{}, err
	}
	if err := w.checkPlace(); err != nil {
		return Result{}, err
	}
	if err := w.composeOutput(); err != nil {
		return Result{}, err
	}
	if err := w.findMovedFrom(); err != nil {
		return Result{}, err
	}
	if err := w.publishModules(ctx); err != nil {
		return Result{}, err
	}
	if w.next.same && len(w.movedFrom) == 0 {
		return w.withdrawProposal(ctx)
	}
	if err := w.options.Remote.Prefetch(ctx, w.next.before, w.p.Rendered, 0); err != nil {
		return Result{}, err
	}
	w.report = impact.Compare(w.next.before, withoutDotFolders(w.p.Rendered), impact.Options{Workload: w.p.Workload, Chosen: w.p.Chosen})
	if err := w.checkLimits(); err != nil {
		return Result{}, err
	}
	w.withheld = w.findWithholdings()
	if err := w.findCommits(); err != nil {
		return Result{}, err
	}
	commit := w.newCommit()
	if err := w.whole.Err(); err != nil {
		return Result{}, err
	}
	return w.proposeCommit(ctx, commit)
}

// composeOutput finds out what the folder is to hold.
func (w *attempt) composeOutput() (err error) {
	folder := CleanFolder(w.p.Folder)
	if folder != "" {
		if err := tree.CheckPath(folder); err != nil {
			return newBlocked("mend spec.path of the GitOpsRepo", "the output cannot go to %s: %s", folder, err)
		}
	}
	err = checkFolder(w.whole.Tree, folder)
	if err == nil {
		now := w.whole.Tree.Sub(folder)
		w.p.Rendered = expandChanged(w.p.Rendered, now)
		written := Written{Environment: w.p.Environment, Tree: w.p.Rendered.ID().String(), From: Inputs(w.p.Inputs), Stopped: w.p.Stopped}
		w.next, err = composeFolder(w.options.Records, now, written, w.p.Rendered, w.wasOurs)
	}
	if failed := w.whole.Err(); failed != nil { // nothing that was found is certain then
		return failed
	}
	if err != nil {
		return fmt.Errorf("%s: %w", locationName(w.p.Branch, folder), err)
	}
	return nil
}

// commonFolders returns the entries of a folder that must be read to compare it with what was
// rendered: those that both have, and the folder of the record.
func commonFolders(now, rendered tree.Tree) tree.Tree {
	var entries []tree.Entry
	for old, fresh := range tree.ZipChanged(now, rendered) {
		if old.Name != "" && (fresh.Name != "" || old.Name == path.Dir(RecordFile)) {
			entries = append(entries, old)
		}
	}
	return tree.FromEntries(entries)
}

// expandChanged loads the entries of changed folders of what was rendered: the report and the
// pack both read them.
func expandChanged(rendered, now tree.Tree) tree.Tree {
	entries, next := slices.Clone(rendered.Entries()), 0
	for old, fresh := range tree.ZipChanged(now, rendered) {
		if !old.IsDir() || !fresh.IsDir() {
			continue
		}
		for entries[next].Name != fresh.Name || !entries[next].IsDir() {
			next++
		}
		entries[next] = tree.Dir(fresh.Name, fresh.Tree().Expand())
	}
	return rendered.WithEntries(entries)
}

// findTarget finds the head of the output branch, or makes the branch.
func (w *attempt) findTarget(ctx context.Context) (err error) {
	w.target, err = w.repo.FindBranch(w.p.Branch)
	if err != nil || w.target != "" {
		return err
	}
	if !w.options.Create {
		repo := w.options.Remote.URL()
		if w.p.DeletedHead != "" {
			return newBlocked("to have it back, in a clone: "+w.restoreCommand(), "branch %s of %s was deleted", w.p.Branch, repo)
		}
		return newBlocked(fmt.Sprintf("set output.create: true, or make it, in any clone: git push %s $(git commit-tree -m Begin %s):%s",
			shellWord(repo), tree.EmptyID, shellWord(heads+w.p.Branch)), "%s has no branch %s", repo, w.p.Branch)
	}
	if !w.options.Write { // all of it would be new
		return nil
	}
	if err := errors.Join(w.checkName(w.p.Branch), w.checkSpelling()); err != nil {
		return err
	}
	w.options.Announce("create the output branch")
	begin := git.Commit{
		Author: w.options.Author, When: time.Unix(0, 0).UTC(), Sign: w.options.Sign,
		Message: fmt.Sprintf("Begin the output of %s\n\n%s: %s\n", w.p.Environment, trailerEnvironment, w.p.Environment),
	}
	pack, err := w.options.Remote.Write(ctx, begin)
	if err != nil {
		return err
	}
	w.target = pack.Commits[0]
	return w.options.Remote.Push(ctx, pack, git.RefUpdate{Ref: heads + w.p.Branch, New: w.target})
}

// restoreCommand returns the command that makes a deleted branch again as it was.
func (w *attempt) restoreCommand() string {
	return fmt.Sprintf("git push %s %s:%s", shellWord(w.options.Remote.URL()), w.p.DeletedHead, shellWord(heads+w.p.Branch))
}

const heads = "refs/heads/"

// newCommit returns the commit that the output branch is to be at.
func (w *attempt) newCommit() git.Commit {
	next := replaceFolder(w.whole.Tree, w.p.Folder, w.next.tree)
	for _, l := range w.movedFrom {
		next, _ = withoutOutput(next, l.folder, l.written, CleanFolder(w.p.Folder))
	}
	c := git.Commit{
		Tree: next, Author: w.options.Author, Sign: w.options.Sign, When: commitTime(w.p.Inputs), Known: []tree.Tree{w.whole.Tree},
		Message: commitMessage(w.p, w.changeTitle(), treeDigest(w.p.Environment, next.ID().String())),
	}
	if w.target != "" {
		c.Parents = []string{w.target}
	}
	return c
}

// checkName reports a branch that keeps another from being made: Git has no branch
// a beside a/b.
func (w *attempt) checkName(branch string) error {
	refs, err := w.repo.Refs(heads)
	if err != nil {
		return err
	}
	for _, ref := range slices.Sorted(maps.Keys(refs)) {
		other := strings.TrimPrefix(ref, heads)
		if strings.HasPrefix(branch, other+"/") || strings.HasPrefix(other, branch+"/") {
			return newBlocked("rename or remove one of them; output.branchPrefix of the settings is what the names of our branches begin with",
				"there can be no branch %s beside the branch %s", branch, other)
		}
	}
	return nil
}
