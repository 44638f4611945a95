package forge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
)

const (
	pullPrefix   = "refs/fairlead/pulls/"
	issuePrefix  = "refs/fairlead/issues/"
	statusPrefix = "refs/fairlead/statuses/"
	headFile     = "pull.yaml"
	issueFile    = "issue.yaml"
	bodyFile     = "body.md"
)

// Plain is a forge in a repository without an API: its items are documents in references. It reads
// the remote's mirror without fetching, and writes to the remote.
type Plain struct {
	store recordStore
}

// NewPlain makes a Plain. author is the author of the documents' commits.
func NewPlain(remote *git.Remote, author git.Signature, now func() time.Time) *Plain {
	return &Plain{store: recordStore{remote: remote, author: author, now: now}}
}

// As returns the same forge for actions of a person, committed by someone else.
func (p *Plain) As(c Commission) *Plain {
	return &Plain{store: recordStore{remote: p.store.remote, author: p.store.author, now: p.store.now, as: c}}
}

// PlainName is the name of the forge without an API.
const PlainName = "git"

// Name returns [PlainName].
func (p *Plain) Name() string { return PlainName }

type pullHead struct {
	Title  string   `yaml:"title"`
	Mark   string   `yaml:"environment"`
	Head   string   `yaml:"head"`
	Base   string   `yaml:"base"`
	State  State    `yaml:"state"`
	Labels []string `yaml:"labels,omitempty"`
	Commit string   `yaml:"commit,omitempty"` // head of its branch when written
	Reason string   `yaml:"reason,omitempty"`
	By     string   `yaml:"by,omitempty"`
}

// Pulls returns the pull requests from head to base, newest first.
func (p *Plain) Pulls(_ context.Context, head, base string) ([]Pull, error) {
	all, err := p.AllPulls()
	return slices.DeleteFunc(all, func(pull Pull) bool { return pull.Head != head || pull.Base != base }), err
}

// OpenPulls returns the open pull requests, newest first.
func (p *Plain) OpenPulls(_ context.Context) ([]Pull, error) {
	all, err := p.AllPulls()
	return slices.DeleteFunc(all, func(pull Pull) bool { return pull.State != Open }), err
}

// AllPulls returns all pull requests, newest first.
func (p *Plain) AllPulls() ([]Pull, error) {
	var all []Pull
	err := p.visitPulls(func(pull Pull, _ string) error {
		all = append(all, pull)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return sortNewest(all, func(pull Pull) int { return pull.Number }), nil
}

func (p *Plain) visitPulls(visit func(pull Pull, commit string) error) error {
	refs, err := p.store.listRefs(pullPrefix)
	if err != nil {
		return err
	}
	for ref, commit := range refs {
		if documentNumber(ref, pullPrefix) == 0 {
			continue
		}
		_, pull, err := p.readPull(ref, commit)
		if err == nil {
			err = visit(pull, commit)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readPull reads a pull request. It counts as merged if its base branch contains its commit.
func (p *Plain) readPull(ref, commit string) (record, Pull, error) {
	r, err := p.store.readRecord(ref, commit)
	if err != nil {
		return r, Pull{}, err
	}
	var h pullHead
	if err := r.decode(headFile, &h); err != nil {
		return r, Pull{}, err
	}
	pull := Pull{
		Proposal: Proposal{h.Mark, h.Head, h.Base, h.Title, string(r.files[bodyFile]), h.Labels},
		Number:   documentNumber(ref, pullPrefix), State: h.State, Commit: h.Commit, Reason: h.Reason, By: h.By,
	}
	if pull.State != Open {
		return r, pull, nil
	}
	return r, pull, p.updateState(&pull)
}

// updateState updates an open pull request: people merge and remove branches with Git.
func (p *Plain) updateState(pull *Pull) error {
	if merged, err := p.isMerged(pull.Commit, pull.Base); err != nil || merged {
		pull.State = Merged
		return err
	}
	head, err := p.store.remote.Mirror().Branch(pull.Head)
	if errors.Is(err, git.ErrNoRevision) {
		pull.State, pull.Reason = Closed, "its branch is gone"
		return nil
	}
	if err != nil || head == pull.Commit {
		return err
	}
	pull.Commit = head
	merged, err := p.isMerged(head, pull.Base)
	if merged {
		pull.State = Merged
	}
	return err
}

func (p *Plain) isMerged(commit, branch string) (bool, error) {
	if commit == "" {
		return false, nil
	}
	base, err := p.store.remote.Mirror().Branch(branch)
	if errors.Is(err, git.ErrNoRevision) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	info, err := p.store.remote.Mirror().Commit(commit)
	if errors.Is(err, git.ErrNoRevision) { // removed from history
		return false, nil
	}
	if err != nil || slices.Contains(info.Parents, base) { // its base is still the branch's head
		return false, err
	}
	return p.store.remote.Mirror().Contains(base, commit)
}

// PullByNumber returns a pull request.
func (p *Plain) PullByNumber(number int) (Pull, error) {
	_, pull, err := p.loadPull(number)
	return pull, err
}

func (p *Plain) loadPull(number int) (record, Pull, error) {
	ref := fmt.Sprintf("%s%d", pullPrefix, number)
	refs, err := p.store.listRefs(ref)
	if err != nil {
		return record{}, Pull{}, err
	}
	commit, ok := refs[ref]
	if !ok {
		return record{}, Pull{}, fmt.Errorf("pull request %d: %w", number, ErrNotFound)
	}
	return p.readPull(ref, commit)
}

// OpenPull opens a pull request.
func (p *Plain) OpenPull(ctx context.Context, o Proposal) (opened Pull, err error) {
	err = p.store.retryStale(ctx, func() error {
		existing, err := p.Pulls(ctx, o.Head, o.Base)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(existing, func(pull Pull) bool { return pull.State == Open }) {
			return ErrExists
		}
		ref, n, err := p.store.nextRef(pullPrefix)
		if err != nil {
			return err
		}
		head, err := p.store.remote.Mirror().Branch(o.Head)
		if errors.Is(err, git.ErrNoRevision) {
			return fmt.Errorf("open a pull request from %s: the branch: %w", o.Head, ErrNotFound)
		}
		if err != nil {
			return err
		}
		files, err := pullFiles(o, pullHead{State: Open, Commit: head})
		if err != nil {
			return err
		}
		old, err := p.oldPulls()
		if err != nil {
			return err
		}
		if err := p.writeAndRemove(ctx, record{ref: ref, files: files}, "Open: "+o.Title, old, unmovedBranch(o.Head, head)); err != nil {
			return err
		}
		opened, err = p.PullByNumber(n)
		if err != nil {
			return err
		}
		return opened.CheckOpen("open a pull request", o)
	})
	return opened, err
}

func unmovedBranch(branch, commit string) git.RefUpdate {
	return git.RefUpdate{Ref: "refs/heads/" + branch, Old: commit, New: commit}
}

func pullFiles(o Proposal, h pullHead) (map[string][]byte, error) {
	h.Title, h.Mark, h.Head, h.Base, h.Labels = FitTitle(o.Title), o.Mark, o.Head, o.Base, slices.Sorted(slices.Values(o.Labels))
	text, err := yamldoc.Encode(h)
	return map[string][]byte{headFile: text, bodyFile: []byte(o.Body)}, err
}

// EditPull sets title, body and labels of an open pull request.
func (p *Plain) EditPull(ctx context.Context, number int, o Proposal) (edited Pull, err error) {
	err = p.store.retryStale(ctx, func() error {
		r, pull, err := p.loadPull(number)
		if err != nil {
			return err
		}
		if err := pull.CheckOpen(fmt.Sprintf("edit pull request %d", number), o); err != nil {
			return err
		}
		o.Mark = pull.Mark
		var h pullHead
		if err := r.decode(headFile, &h); err != nil {
			return err
		}
		h.Commit = pull.Commit
		files, err := pullFiles(o, h)
		if err != nil {
			return err
		}
		if !maps.EqualFunc(files, r.files, bytes.Equal) {
			r.files = files
			if err := p.store.writeRecord(ctx, r, "Edit: "+o.Title, unmovedBranch(pull.Head, pull.Commit)); err != nil {
				return err
			}
		}
		edited, err = p.PullByNumber(number)
		return err
	})
	return edited, err
}

// ClosePull closes a pull request. It keeps the branch.
func (p *Plain) ClosePull(ctx context.Context, number int, reason string) error {
	return p.store.retryStale(ctx, func() error {
		r, pull, err := p.loadPull(number)
		if err != nil {
			return err
		}
		title := closedTitle
		if pull.State == Open {
			pull.State = Closed
		} else {
			title = "Found " + string(pull.State) + ": "
		}
		return p.endPull(ctx, r, pull, title, reason)
	})
}

// The first words of commits that end or reopen pull requests.
const (
	mergedTitle = "Merged: "
	closedTitle = "Closed: "
	reopenTitle = "Reopen: "
)

func withReason(title, reason string) string {
	reason = text.OneLine(reason)
	if reason != "" {
		return title + "\n\n" + reasonTrailer + reason
	}
	return title
}

func (p *Plain) endPull(ctx context.Context, r record, pull Pull, title, reason string, others ...git.RefUpdate) error {
	var h pullHead
	if err := r.decode(headFile, &h); err != nil || h.State != Open {
		return err
	}
	files, err := pullFiles(pull.Proposal, pullHead{State: pull.State, Commit: pull.Commit, Reason: reason, By: p.store.author.Name})
	if err != nil {
		return err
	}
	r.files = files
	return p.store.writeRecord(ctx, r, withReason(title+pull.Title, reason), others...)
}

type issueHead struct {
	Title string `yaml:"title"`
	Mark  string `yaml:"mark"`
	State State  `yaml:"state"`
}

// Issues returns the issues with a mark, newest first.
func (p *Plain) Issues(_ context.Context, mark string) ([]Issue, error) {
	all, err := p.allIssues()
	return slices.DeleteFunc(all, func(i Issue) bool { return i.Mark != mark }), err
}

func (p *Plain) allIssues() ([]Issue, error) {
	refs, err := p.store.listRefs(issuePrefix)
	if err != nil {
		return nil, err
	}
	var all []Issue
	for ref, commit := range refs {
		r, err := p.store.readRecord(ref, commit)
		if err != nil {
			return nil, err
		}
		var h issueHead
		if err := r.decode(issueFile, &h); err != nil {
			return nil, err
		}
		all = append(all, Issue{documentNumber(ref, issuePrefix), h.Mark, h.Title, string(r.files[bodyFile]), h.State == Open, ""})
	}
	return sortNewest(all, func(i Issue) int { return i.Number }), nil
}

// PutIssue opens or updates an issue.
func (p *Plain) PutIssue(ctx context.Context, i Issue) (Issue, error) {
	err := p.store.retryStale(ctx, func() error {
		h := issueHead{FitTitle(i.Title), i.Mark, Closed}
		if i.Open {
			h.State = Open
		}
		text, err := yamldoc.Encode(h)
		if err != nil {
			return err
		}
		files := map[string][]byte{issueFile: text, bodyFile: []byte(i.Body)}
		if i.Number != 0 {
			ref := fmt.Sprintf("%s%d", issuePrefix, i.Number)
			refs, err := p.store.listRefs(ref)
			if err != nil {
				return err
			}
			return p.store.writeRecord(ctx, record{ref: ref, commit: refs[ref], files: files}, "Edit: "+h.Title)
		}
		existing, err := p.Issues(ctx, i.Mark)
		if err != nil {
			return err
		}
		if len(existing) > 0 && existing[0].Open {
			i = existing[0]
			return nil
		}
		ref, n, err := p.store.nextRef(issuePrefix)
		if err != nil {
			return err
		}
		old, err := p.oldIssues()
		if err != nil {
			return err
		}
		if err := p.writeAndRemove(ctx, record{ref: ref, files: files}, "Open: "+h.Title, old); err != nil {
			return err
		}
		i.Number = n
		return nil
	})
	return i, err
}
