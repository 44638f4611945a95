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
)

// Edit is a change of single files, or whole folders, of a branch that people write in;
// all else stays.
type Edit struct {
	Branch string
	Head   string // the commit that it is made on
	// Files are what they are to hold, by path; nil removes one.
	Files map[string][]byte
	// Folders are what they are to hold, by path; "" is the root. Content that the branch
	// has at the same path may be missing.
	Folders map[string]tree.Tree
	// Message is that of the commit. [Propose] finds its own commits by its last
	// line, which is a trailer.
	Message string
	When    time.Time
	// Independent is a folder in which nothing is that the edit depends on: a proposal that was
	// made before only that folder changed stays as it is, with the reviews that it has; ""
	// has it made anew whenever the branch moves.
	Independent string
}

// newCommit returns the commit that makes the edit; nil if it changes nothing.
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

// Apply commits an edit to its branch, and returns the branch's head. The error is
// git.ErrStale if the branch has moved.
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
	id := pack.Commits[0]
	return id, o.Remote.Push(ctx, pack, git.RefUpdate{Ref: heads + e.Branch, Old: e.Head, New: id})
}

// Propose pushes an edit to a branch of ours, and opens or edits its pull request. One that
// a person has closed, with the same text, is returned as it is. e.When must be a
// function of the edit, so that two that race do the same. The error is git.ErrStale if
// the branch that the edit is for has moved.
// The message gets a digest of what the commit holds, so that an amendment is noticed.
func (e Edit) Propose(ctx context.Context, o Options, p forge.Proposal) (forge.Pull, error) {
	c, err := e.newCommit(o)
	if err != nil || c == nil {
		return forge.Pull{}, err
	}
	trailer := lastLine(e.Message) // the last line stays the last
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

// proposeOnce is one attempt to propose the commit of an edit.
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
	pull.Commit = kept // a forge may learn that a moment later
	return pull, err
}

// findKept returns the head of our branch if it is this edit on an older head of the branch that
// it is for, from which that differs only beside the edit; "" if it is something else.
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
		return tree.Equal(tree.FromEntries(entriesWithout(t[0], e.Independent)), tree.FromEntries(entriesWithout(t[1], e.Independent))), nil
	})
	if err != nil || !same {
		return "", err
	}
	return head, nil
}

// Announce calls BeforeEffect, if there is one.
func (o Options) Announce(what string) {
	if o.BeforeEffect != nil {
		o.BeforeEffect(what)
	}
}

// CheckBranch returns [ErrBlocked] if our branch, from which the edit is proposed, has a commit that is not ours.
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

// pushBranch pushes the commit to our branch. It fails if the branch has a commit that is not ours.
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

// Withdraw closes the pull request of an edit that is wanted no more, and removes our
// branch; trailer is the last line of the messages of such edits. A branch with a commit
// of a person on it stays, and one that is not ours is left alone.
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

// newEditOwnership is that of our branches with edits, whose commits end in a trailer.
func newEditOwnership(o Options, target, trailer string) ownership {
	isMarked := func(c git.CommitInfo) bool { return lastLine(c.Message) == trailer }
	return ownership{
		repo: o.Remote.Mirror(), target: target, isMarked: isMarked,
		isIntact: func(c git.CommitInfo) bool {
			digests := Trailers(c.Message)[trailerDigest]
			if len(digests) == 0 { // of a version that wrote none
				return isMarked(c) && c.Author == o.Author
			}
			return isMarked(c) && digests[0] == digestOf(trailer, c.Tree)
		},
	}
}
