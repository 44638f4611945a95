// Package publish makes a branch hold a tree, by one stable pull request for each environment.
//
// Invariants:
//   - It does nothing if the branch already holds the tree.
//   - It owns the folders in its record ([RecordFile]), and keeps the rest byte for byte.
//   - The same inputs on the same branch give the same commit, even in concurrent processes.
//     Commits that the forge makes are compared by tree, parent and message.
//   - It moves only branches with its trailers. Another author's commit stops it, with a notice; so
//     does a closed pull request, until the content changes.
//   - It pushes pinned root modules before it proposes the output, and never removes them.
//   - After a kill at any point, the next call has the same result.
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
	"github.com/fairlead-io/fairlead/internal/change/inside"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
)

// Proposal is the wanted content of a branch.
type Proposal struct {
	Environment string
	Branch      string // of the GitOps repository
	Folder      string // "" for the root
	// Rendered has only folders at the top. Dot folders overlay the existing ones, others replace
	// them.
	Rendered tree.Tree
	// Modules are the root modules that Rendered pins; nil for none.
	Modules  *stackfiles.Modules
	Inputs   []source.Commit
	Stopped  []string     // stopped by something other than the inputs
	Problems problem.List // that do not stop it
	// Followed returns what reaches clusters without a change of the output; nil for nothing.
	Followed func() []model.Followed
	// Costs returns a paragraph about what plans cost that the change from one output to another approves, or "";
	// nil for none.
	Costs    func(before, after tree.Tree) string
	Workload func(target string) string
	// see [impact.Options]
	Chosen func(target string) bool
	// Contents returns what the sources hold that a change moves, and whether a later call may know
	// more; nil for none.
	Contents func(ctx context.Context, before, after tree.Tree) (found map[inside.Place]inside.Contents, isOpen bool)
	Merge    Merge // "" for Manual
	// Withheld has the caller's reasons why only a person may merge.
	Withheld []Withholding
	// Recheck returns the current Withheld before each merge; nil skips it.
	Recheck func(ctx context.Context) ([]Withholding, error)
	// IsCurrent reads the repositories again and reports whether the inputs are the newest; nil
	// means yes. It is called before a proposal from other inputs is withdrawn, because another
	// daemon may be ahead.
	IsCurrent func(ctx context.Context) (bool, error)
	// CommitsSince returns an input's commits since the id before, for the body; nil shows none.
	CommitsSince func(input source.Commit, before string) Commits
	// Limits is nil for the defaults.
	Limits *model.Limits
	// Acknowledged returns the acknowledged [Withholding.ChangeID]s; nil for none. It is called
	// only if the limits are exceeded.
	Acknowledged func() ([]string, error)
	// LocationChosen is set if Fairlead chose the location for a cloned environment. Its first
	// write needs no person.
	LocationChosen bool
	// DeletedHead is the last commit of a deleted output branch; "" if unknown.
	DeletedHead string
	// MovedFrom has previous folders in the branch, whose output the change removes if IsOurs
	// agrees.
	MovedFrom []string
	// Step is the wave that Rendered is about; nil for none.
	Step   *Step
	IsOurs func(Written) (bool, error) // nil without MovedFrom
}

// Options apply to all proposals to one repository.
type Options struct {
	Remote *git.Remote // synced by the caller
	Forge  forge.Forge
	Prefix string // of our branches: "fairlead/"
	Author git.Signature
	// Through commits the author's edits; zero for the author.
	Through git.Signature
	Sign    git.Signer // nil for none
	// Committer creates proposed commits, so that the forge signs them; nil for local commits.
	Committer forge.Committer
	// Listed has our open pull requests, listed in this cycle; nil to list them.
	Listed []forge.Pull
	Create bool // create a missing branch
	Write  bool // false for a dry run
	// Records caches records; nil for no cache.
	Records *Records
	// Witness detects another Fairlead that proposes the same; nil for none.
	Witness *Witness
	// BeforeEffect is called before each side effect; may be nil. Tests end the process there.
	BeforeEffect func(what string)
}

// State is the state of a proposal.
type State string

// The states of a proposal.
const (
	InSync   State = "in-sync"
	Proposed State = "proposed"
	Declined State = "declined"
	Edited   State = "edited"  // our branch has another author's commit
	Foreign  State = "foreign" // the branch is not ours
	DryRun   State = "dry-run" // there would be a change
	// Advancing means that the branch has the output of a wave, and the next one waits.
	Advancing State = "waiting"
)

// Result is the result of a publication.
type Result struct {
	State  State
	Reason string // one sentence, or ""
	Head   string // of the output branch
	Commit string // proposed commit; "" for none
	Pull   *forge.Pull
	Report impact.Report
	Change string
	// Again asks for a retry even if no reference moves: to merge, or to read newer inputs.
	Again bool
	// LeftToPeople is set if the forge cannot merge as configured, or refuses.
	LeftToPeople bool
	Adoption     Adoption
	Withheld     []Withholding
}

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

func isOutdated(err error) bool {
	for _, kind := range []error{git.ErrStale, forge.ErrExists, forge.ErrMoved, forge.ErrChanged, forge.ErrNotFound} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

type attempt struct {
	options Options
	p       Proposal
	ours    string

	repo      *git.Repository
	target    string // head of the output branch
	whole     *git.View
	next      composed
	movedFrom []formerFolder
	report    impact.Report
	contents  map[inside.Place]inside.Contents
	changelog []layerCommits

	excess   excess
	withheld []Withholding
	first    bool // no record in the place names this environment
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
	if w.p.Step != nil && w.p.Step.Head != w.target {
		return Result{State: Advancing, Reason: "the output branch has moved", Head: w.target, Again: true}, nil
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
	isOpen := false
	if w.p.Contents != nil {
		w.contents, isOpen = w.p.Contents(ctx, w.next.before, withoutDotFolders(w.p.Rendered))
	}
	w.report = impact.Compare(w.next.before, withoutDotFolders(w.p.Rendered), impact.Options{Workload: w.p.Workload, Chosen: w.p.Chosen, Contents: w.contents})
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
	result, err := w.proposeCommit(ctx, commit)
	result.Again = result.Again || isOpen
	return result, err
}

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
		if s := w.p.Step; s != nil {
			written.Tree, written.Older, written.Advance = s.Target, s.Older, s.Advance
		}
		w.next, err = composeFolder(w.options.Records, now, written, w.p.Rendered, w.wasOurs)
	}
	if failed := w.whole.Err(); failed != nil { // nothing found is certain
		return failed
	}
	if err != nil {
		return fmt.Errorf("%s: %w", locationName(w.p.Branch, folder), err)
	}
	return nil
}

// commonFolders returns the entries to read for the comparison: common ones, and the record's
// folder.
func commonFolders(now, rendered tree.Tree) tree.Tree {
	var entries []tree.Entry
	for old, fresh := range tree.ZipChanged(now, rendered) {
		if old.Name != "" && (fresh.Name != "" || old.Name == path.Dir(RecordFile)) {
			entries = append(entries, old)
		}
	}
	return tree.FromEntries(entries)
}

// expandChanged loads changed folders, which both the report and the pack read.
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
	if !w.options.writes(ctx) { // all of it would be new
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

func (w *attempt) restoreCommand() string {
	return fmt.Sprintf("git push %s %s:%s", shellWord(w.options.Remote.URL()), w.p.DeletedHead, shellWord(heads+w.p.Branch))
}

const heads = "refs/heads/"

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

// checkName refuses conflicting names: Git cannot have both a and a/b.
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
