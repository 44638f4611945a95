package git

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"
)

const originPrefix = "refs/remotes/origin/"

var (
	// branchPrefixes: a fresh clone has most branches only as remote ones.
	branchPrefixes = []string{"refs/heads/", originPrefix}
	// refPrefixes are in Git's order.
	refPrefixes = []string{"", "refs/", "refs/tags/", "refs/heads/", "refs/remotes/", originPrefix}
)

// Branch returns the head of a branch, or else of origin's branch. It ignores tags.
func (r *Repository) Branch(name string) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	id, err := r.resolveReference(name, branchPrefixes)
	return r.describeResult(name, id, err)
}

// FindBranch is Branch, but returns "" if the branch does not exist.
func (r *Repository) FindBranch(name string) (string, error) {
	id, err := r.Branch(name)
	if errors.Is(err, ErrNoRevision) {
		return "", nil
	}
	return id, err
}

// Resolve returns the commit of a revision: a full or short id, HEAD, a branch, tag, reference or
// "origin/x", with any ~n and ^n.
func (r *Repository) Resolve(revision string) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	name, steps := strings.TrimSuffix(strings.TrimSuffix(revision, "^{commit}"), "^{}"), ""
	if i := strings.IndexAny(name, "~^"); i >= 0 {
		name, steps = name[:i], name[i:]
	}
	id, err := r.resolveName(name)
	if err == nil {
		id, err = r.followSteps(id, steps)
	}
	return r.describeResult(revision, id, err)
}

func (r *Repository) describeResult(revision string, id plumbing.Hash, err error) (string, error) {
	switch {
	case err == nil:
		return id.String(), nil
	case errors.Is(err, ErrNoRevision), errors.Is(err, plumbing.ErrObjectNotFound) && !errors.Is(err, ErrDamaged) && r.fetchCommand() != "":
		return "", r.withFetchHint(fmt.Errorf("%s in %s: %w", cmp.Or(revision, `""`), r.location, ErrNoRevision))
	}
	return "", fmt.Errorf("read %s of %s: %w", revision, r.location, err)
}

func (r *Repository) resolveName(name string) (plumbing.Hash, error) {
	if len(name) == 40 && isHex(name) {
		id, err := r.peelToCommit(plumbing.NewHash(name))
		if errors.Is(err, plumbing.ErrObjectNotFound) {
			err = ErrNoRevision
		}
		return id, err
	}
	id, err := r.resolveReference(name, refPrefixes)
	if errors.Is(err, ErrNoRevision) && len(name) >= 4 && len(name) < 40 && isHex(name) {
		return r.resolveShortID(name)
	}
	return id, err
}

func (r *Repository) resolveReference(name string, prefixes []string) (plumbing.Hash, error) {
	if name == "" || strings.HasPrefix(name, "-") {
		return plumbing.ZeroHash, ErrNoRevision
	}
	for _, prefix := range prefixes {
		full := plumbing.ReferenceName(prefix + name)
		r.tagsUsed = r.tagsUsed || strings.HasPrefix(string(full), tagPrefix)
		if prefix != "" && full.Validate() != nil || prefix == "" && name != "HEAD" && !strings.HasPrefix(name, "refs/") {
			continue
		}
		ref, err := storer.ResolveReference(r.store, full)
		if errors.Is(err, plumbing.ErrReferenceNotFound) {
			continue
		}
		if err != nil {
			return plumbing.ZeroHash, err
		}
		id, err := r.peelToCommit(ref.Hash())
		if errors.Is(err, plumbing.ErrObjectNotFound) {
			err = r.markDamaged(err)
		}
		return id, err
	}
	return plumbing.ZeroHash, ErrNoRevision
}

func (r *Repository) resolveShortID(prefix string) (plumbing.Hash, error) {
	whole, err := hex.DecodeString(prefix[:len(prefix)&^1])
	if err != nil {
		return plumbing.ZeroHash, err
	}
	candidates, err := r.store.HashesWithPrefix(whole)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	found := map[plumbing.Hash]bool{}
	last := plumbing.ZeroHash
	for _, candidate := range candidates {
		id, err := r.peelToCommit(candidate)
		if err == nil && strings.HasPrefix(candidate.String(), strings.ToLower(prefix)) {
			found[id], last = true, id
		}
	}
	switch len(found) {
	case 0:
		return plumbing.ZeroHash, ErrNoRevision
	case 1:
		return last, nil
	}
	several := &AmbiguousError{}
	for id := range found {
		several.Commits = append(several.Commits, id.String())
	}
	slices.Sort(several.Commits)
	return plumbing.ZeroHash, several
}

// AmbiguousError is the error of a short id that matches several commits.
type AmbiguousError struct {
	Commits []string
}

const maxAmbiguous = 5

// Error returns the number of commits.
func (a *AmbiguousError) Error() string {
	return fmt.Sprintf("%d commits begin with these digits", len(a.Commits))
}

// Hint lists some of the commits.
func (a *AmbiguousError) Hint() string {
	hint := "give more digits, as in " + strings.Join(a.Commits[:min(maxAmbiguous, len(a.Commits))], " or ")
	if more := len(a.Commits) - maxAmbiguous; more > 0 {
		hint += fmt.Sprintf(", or one of %d more", more)
	}
	return hint
}

const maxTags = 10

func (r *Repository) peelToCommit(id plumbing.Hash) (plumbing.Hash, error) {
	for range maxTags {
		o, err := r.store.EncodedObject(plumbing.AnyObject, id)
		switch {
		case errors.Is(err, plumbing.ErrObjectNotFound):
			return plumbing.ZeroHash, err
		case err != nil:
			return plumbing.ZeroHash, r.markDamaged(err)
		case o.Type() == plumbing.CommitObject:
			return id, nil
		case o.Type() != plumbing.TagObject:
			return plumbing.ZeroHash, ErrNoRevision
		}
		var tag object.Tag
		if err := tag.Decode(o); err != nil {
			return plumbing.ZeroHash, err
		}
		id = tag.Target
	}
	return plumbing.ZeroHash, ErrNoRevision
}

// followSteps follows "~n" to the n-th first-parent ancestor, "^n" to the n-th parent.
func (r *Repository) followSteps(id plumbing.Hash, steps string) (plumbing.Hash, error) {
	for steps != "" {
		kind, n := steps[0], 1
		rest := strings.TrimLeft(steps[1:], "0123456789")
		if digits := steps[1 : len(steps)-len(rest)]; digits != "" {
			parsed, err := strconv.Atoi(digits)
			if err != nil {
				return plumbing.ZeroHash, ErrNoRevision
			}
			n = parsed
		}
		times, parent := n, 1
		switch {
		case kind == '^':
			times, parent = min(n, 1), n
		case kind != '~':
			return plumbing.ZeroHash, ErrNoRevision
		}
		for range times {
			c, err := object.GetCommit(r.store, id)
			if err != nil {
				return plumbing.ZeroHash, err
			}
			if parent > len(c.ParentHashes) {
				return plumbing.ZeroHash, ErrNoRevision
			}
			id = c.ParentHashes[parent-1]
			if r.mirror == "" && r.store.HasEncodedObject(id) != nil {
				return plumbing.ZeroHash, plumbing.ErrObjectNotFound
			}
		}
		steps = rest
	}
	return id, nil
}

func isHex(s string) bool { return strings.Trim(s, "0123456789abcdefABCDEF") == "" }

// Refs returns the references with a prefix, by name.
func (r *Repository) Refs(prefix string) (map[string]string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tagsUsed = r.tagsUsed || strings.HasPrefix(prefix, tagPrefix)
	all, err := r.store.HashReferences()
	if err != nil {
		return nil, fmt.Errorf("read the references of %s: %w", r.location, err)
	}
	found := map[string]string{}
	for name, id := range all {
		if strings.HasPrefix(name.String(), prefix) {
			found[name.String()] = id.String()
		}
	}
	return found, nil
}

// CommitInfo is the metadata of a commit.
type CommitInfo struct {
	ID      string
	Tree    string
	Parents []string
	Message string
	Author  Signature
	When    time.Time
}

// Subject returns the first line of the message.
func (i CommitInfo) Subject() string {
	subject, _, _ := strings.Cut(strings.TrimSpace(i.Message), "\n")
	return subject
}

// Signature is the name and address of a commit's author.
type Signature struct{ Name, Email string }

// Commit reads a commit by its id.
func (r *Repository) Commit(id string) (CommitInfo, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c, err := object.GetCommit(r.store, plumbing.NewHash(id))
	if errors.Is(err, plumbing.ErrObjectNotFound) {
		err = r.withFetchHint(ErrNoRevision)
	}
	if err != nil {
		return CommitInfo{}, fmt.Errorf("read commit %s of %s: %w", id, r.location, err)
	}
	info := CommitInfo{
		ID: id, Tree: c.TreeHash.String(), Message: c.Message, Author: Signature{c.Author.Name, c.Author.Email}, When: c.Committer.When.UTC(),
	}
	for _, p := range c.ParentHashes {
		info.Parents = append(info.Parents, p.String())
	}
	return info, nil
}

const maxHistory = 100_000

// Contains reports whether ancestor is commit or one of its ancestors.
func (r *Repository) Contains(commit, ancestor string) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.findAncestor([]plumbing.Hash{plumbing.NewHash(commit)}, plumbing.NewHash(ancestor), false)
}

// IsInHistory reports whether a branch or tag contains a commit, or true if not all of the history
// is readable. Other commits may disappear at any time.
func (r *Repository) IsInHistory(commit string) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tagsUsed = true
	refs, err := r.store.HashReferences()
	if err != nil {
		return false, fmt.Errorf("read the references of %s: %w", r.location, err)
	}
	var heads []plumbing.Hash
	for name, id := range refs {
		if !name.IsBranch() && !name.IsTag() && !name.IsRemote() {
			continue
		}
		if head, err := r.peelToCommit(id); err == nil {
			heads = append(heads, head)
		}
	}
	found, err := r.findAncestor(heads, plumbing.NewHash(commit), true)
	if errors.Is(err, plumbing.ErrObjectNotFound) && r.fetchCommand() != "" {
		return true, nil
	}
	return found, err
}

func (r *Repository) findAncestor(next []plumbing.Hash, want plumbing.Hash, unread bool) (bool, error) {
	seen := map[plumbing.Hash]bool{}
	for len(next) > 0 {
		id := next[0]
		next = next[1:]
		switch {
		case id == want:
			return true, nil
		case seen[id]:
			continue
		case len(seen) == maxHistory:
			return unread, nil
		}
		seen[id] = true
		c, err := object.GetCommit(r.store, id)
		if err != nil {
			return false, r.withFetchHint(fmt.Errorf("read commit %s of %s: %w", id, r.location, err))
		}
		next = append(next, c.ParentHashes...)
	}
	return false, nil
}

// MergeBase returns the newest common ancestor of two commits, or "" if it finds none.
func (r *Repository) MergeBase(a, b string) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	const fromA, fromB = 1, 2
	seen := map[plumbing.Hash]int{}
	next := []*object.Commit{}
	visit := func(id plumbing.Hash, side int) error {
		if seen[id]&side == side {
			return nil
		}
		c, err := object.GetCommit(r.store, id)
		if err != nil {
			return r.withFetchHint(fmt.Errorf("read commit %s of %s: %w", id, r.location, err))
		}
		seen[id] |= side
		// Newest first, so that the first common ancestor is the newest.
		i, _ := slices.BinarySearchFunc(next, c, func(x, y *object.Commit) int { return y.Committer.When.Compare(x.Committer.When) })
		next = slices.Insert(next, i, c)
		return nil
	}
	if err := errors.Join(visit(plumbing.NewHash(a), fromA), visit(plumbing.NewHash(b), fromB)); err != nil {
		return "", err
	}
	for len(next) > 0 && len(seen) < maxHistory {
		c := next[0]
		next = next[1:]
		side := seen[c.Hash]
		if side == fromA|fromB {
			return c.Hash.String(), nil
		}
		for _, p := range c.ParentHashes {
			if err := visit(p, side); err != nil {
				return "", err
			}
		}
	}
	return "", nil
}
