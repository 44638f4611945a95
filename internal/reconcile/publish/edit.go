package publish

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/shares"
)

// Edit changes files or whole folders of a branch that people also edit.
type Edit struct {
	Branch string
	// IsNew means that the branch does not exist yet.
	IsNew bool
	Head  string // parent commit
	// Files has contents by path; nil removes a file.
	Files map[string][]byte
	// Folders has contents by path; "" is the root. Content that the branch already has at the same
	// path may be missing.
	Folders map[string]tree.Tree
	// Message ends with a trailer, by which [Propose] finds its own commits.
	Message string
	When    time.Time
	// Independent is a folder that does not affect the edit. While only it changes, an open
	// proposal and its reviews stay. With "" every move renews the proposal.
	Independent string
}

func (e Edit) newCommit(o Options) (*git.Commit, error) {
	view, err := o.Remote.Mirror().View(e.Head)
	if err != nil {
		return nil, err
	}
	t := view.Tree
	for _, folder := range slices.Sorted(maps.Keys(e.Folders)) {
		t = replaceFolder(t, folder, e.Folders[folder])
	}
	for _, file := range slices.Sorted(maps.Keys(e.Files)) {
		t = withFile(t, file, e.Files[file])
	}
	if err := view.Err(); err != nil {
		return nil, err
	}
	if t.ID() == view.Tree.ID() {
		return nil, nil
	}
	return &git.Commit{Tree: t, Parents: []string{e.Head}, Author: o.Author, Committer: o.Through, Sign: o.Sign, When: e.When, Message: e.Message, Known: []tree.Tree{view.Tree}}, nil
}

// Draft stores the commit of an edit in the mirror without a branch and returns its id, so that the result can be read
// before it is pushed.
func (e Edit) Draft(ctx context.Context, o Options) (string, error) {
	c, err := e.newCommit(o)
	if err != nil || c == nil {
		return e.Head, err
	}
	return o.Remote.Draft(ctx, *c)
}

// Apply commits an edit and returns the branch's head. The error is git.ErrStale if it has moved.
func Apply(ctx context.Context, o Options, e Edit) (string, error) {
	c, err := e.newCommit(o)
	if err != nil || c == nil {
		return e.Head, err
	}
	o.Announce("commit to " + e.Branch)
	pack, err := o.Remote.Write(ctx, *c)
	if err != nil {
		return "", err
	}
	id, old := pack.Commits[0], e.Head
	if e.IsNew {
		old = ""
	}
	return id, o.Remote.Push(ctx, pack, git.RefUpdate{Ref: heads + e.Branch, Old: old, New: id})
}

// Propose pushes an edit to our branch and opens or edits its pull request, or returns an equal
// closed one. e.When must be a function of the edit, so that concurrent calls make the same commit.
// The error is git.ErrStale if the base branch has moved. The message gets a digest of the tree to
// detect amendments.
func (e Edit) Propose(ctx context.Context, o Options, p forge.Proposal) (forge.Pull, error) {
	c, err := e.newCommit(o)
	if err != nil || c == nil {
		return forge.Pull{}, err
	}
	trailer := lastLine(e.Message)
	before := strings.TrimSuffix(strings.TrimSpace(e.Message), trailer)
	c.Message = fmt.Sprintf("%s%s: %s\n%s\n", before, trailerDigest, digestOf(trailer, c.Tree.ID().String()), trailer)
	for range maxRounds {
		var pull forge.Pull
		pull, err = e.proposeOnce(ctx, o, p, *c)
		if !isOutdated(err) {
			return pull, err
		}
		if _, err := o.Remote.Sync(ctx); err != nil {
			return forge.Pull{}, err
		}
		head, failed := o.Remote.Mirror().Branch(e.Branch)
		if failed != nil {
			return forge.Pull{}, failed
		}
		if head != e.Head {
			return forge.Pull{}, fmt.Errorf("propose to %s: %w", e.Branch, git.ErrStale)
		}
	}
	return forge.Pull{}, err
}

func (e Edit) proposeOnce(ctx context.Context, o Options, p forge.Proposal, c git.Commit) (forge.Pull, error) {
	id, err := c.ID()
	if err != nil {
		return forge.Pull{}, err
	}
	open, ended, err := o.findProposals(ctx, p.Head, p.Base, markWithdrawn)
	if err != nil {
		return forge.Pull{}, err
	}
	if ended != nil && ended.State == forge.Closed && ended.Body == p.Body {
		return *ended, nil
	}
	kept, err := e.findKept(o, p.Head)
	if err == nil && kept == "" {
		kept, err = id, e.pushBranch(ctx, o, c, id, p.Head)
	}
	if err != nil {
		return forge.Pull{}, err
	}
	pull, err := o.putPull(ctx, open, p)
	pull.Commit = kept // the forge may still return the old one
	return pull, err
}

// findKept returns our branch's head if it is this edit on a base that differs only in Independent,
// else "".
func (e Edit) findKept(o Options, ours string) (string, error) {
	repo := o.Remote.Mirror()
	head, err := repo.FindBranch(ours)
	if err != nil || head == "" || e.Independent == "" {
		return "", err
	}
	info, err := repo.Commit(head)
	if err != nil || len(info.Parents) != 1 || lastLine(info.Message) != lastLine(e.Message) {
		return "", err
	}
	before := info.Parents[0]
	if ok, err := repo.Contains(e.Head, before); err != nil || !ok {
		return "", err
	}
	older := e
	older.Head = before
	c, err := older.newCommit(o)
	if err != nil || c == nil || c.Tree.ID().String() != info.Tree {
		return "", err
	}
	same, err := git.InspectTrees(repo, []string{before, e.Head}, func(t []tree.Tree) (bool, error) {
		return tree.Equal(tree.FromEntries(t[0].EntriesExcept(e.Independent)), tree.FromEntries(t[1].EntriesExcept(e.Independent))), nil
	})
	if err != nil || !same {
		return "", err
	}
	return head, nil
}

func (o Options) writes(ctx context.Context) bool { return o.Write && shares.MayWrite(ctx) }

// Announce calls BeforeEffect.
func (o Options) Announce(what string) {
	if o.BeforeEffect != nil {
		o.BeforeEffect(what)
	}
}

// CheckBranch returns [ErrBlocked] if our branch has a commit that is not ours.
func (e Edit) CheckBranch(o Options, ours string) error {
	head, err := o.Remote.Mirror().FindBranch(ours)
	if err != nil || head == "" {
		return err
	}
	whose, err := newEditOwnership(o, e.Head, lastLine(e.Message)).ownerOf(head)
	if err != nil || whose == ownerUs {
		return err
	}
	return newBlocked("merge it, or remove the commit or the branch", "commit %.12s on %s is not ours", head, ours)
}

func (e Edit) pushBranch(ctx context.Context, o Options, c git.Commit, id, ours string) error {
	head, err := o.Remote.Mirror().FindBranch(ours)
	if err != nil || head == id {
		return err
	}
	if err := e.CheckBranch(o, ours); err != nil {
		return err
	}
	pack, err := o.Remote.Write(ctx, c)
	if err != nil {
		return err
	}
	o.Announce("push our branch")
	return o.Remote.Push(ctx, pack, git.RefUpdate{Ref: heads + ours, Old: head, New: id})
}

func lastLine(message string) string {
	message = strings.TrimSpace(message)
	return message[strings.LastIndexByte(message, '\n')+1:]
}

// Withdraw closes the pull request of an edit and removes our branch; trailer ends its messages. It
// keeps a branch with another author's commit, and ignores one that is not ours.
func Withdraw(ctx context.Context, o Options, head, base, trailer, reason string) error {
	repo := o.Remote.Mirror()
	at, err := repo.FindBranch(head)
	if err != nil || at == "" {
		return err
	}
	target, err := repo.FindBranch(base)
	if err != nil {
		return err
	}
	whose, err := newEditOwnership(o, target, trailer).ownerOf(at)
	if err != nil || whose == ownerForeign {
		return err
	}
	if whose == ownerEdited {
		reason += fmt.Sprintf(" The branch stays, for commit %.12s on it is not ours.", at)
	}
	open, _, err := o.findProposals(ctx, head, base, markWithdrawn)
	if err != nil {
		return err
	}
	if open != nil {
		if err := o.closePull(ctx, *open, markWithdrawn, reason); err != nil {
			return err
		}
	}
	if whose == ownerEdited {
		return nil
	}
	o.Announce("remove our branch")
	if err := o.Remote.Push(ctx, nil, git.RefUpdate{Ref: heads + head, Old: at}); err != nil {
		return fmt.Errorf("remove %s: %w", head, err)
	}
	return nil
}

func newEditOwnership(o Options, target, trailer string) ownership {
	isMarked := func(c git.CommitInfo) bool { return lastLine(c.Message) == trailer }
	return ownership{
		repo: o.Remote.Mirror(), target: target, isMarked: isMarked,
		isIntact: func(c git.CommitInfo) bool {
			digests := Trailers(c.Message)[trailerDigest]
			if len(digests) == 0 { // an older version wrote none
				return isMarked(c) && c.Author == o.Author
			}
			return isMarked(c) && digests[0] == digestOf(trailer, c.Tree)
		},
	}
}
