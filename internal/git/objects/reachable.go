package objects

import (
	"bytes"
	"context"
	"maps"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/fairlead-io/fairlead/internal/base/tree"
)

// maxHaves bounds the result of Haves: branch heads, and ancestors for servers where a branch was reset.
const (
	maxHaves     = 256
	havesPerHead = 8
)

// Haves returns commits that a server need not send.
func (s *Store) Haves() ([]plumbing.Hash, error) {
	refs, err := s.HashReferences()
	if err != nil {
		return nil, err
	}
	heads := slices.Collect(maps.Values(refs))
	slices.SortFunc(heads, func(a, b plumbing.Hash) int { return bytes.Compare(a[:], b[:]) })
	seen := map[plumbing.Hash]bool{}
	var haves []plumbing.Hash
	for depth := 0; depth < havesPerHead && len(heads) > 0; depth++ {
		var parents []plumbing.Hash
		for _, id := range heads {
			if seen[id] || len(haves) >= maxHaves {
				continue
			}
			seen[id] = true
			c, err := object.GetCommit(s, id)
			if err != nil {
				continue
			}
			haves = append(haves, id)
			parents = append(parents, c.ParentHashes...)
		}
		heads = parents
	}
	return haves, nil
}

// ObjectLinks returns the objects that an object names: commits, trees and tags in leads, files in
// blobs. It omits missing trees of a partial mirror.
func (s *Store) ObjectLinks(id plumbing.Hash) (leads, blobs []plumbing.Hash, err error) {
	o, err := object.GetObject(s, id)
	if err != nil {
		return nil, nil, err
	}
	switch o := o.(type) {
	case *object.Commit:
		leads = o.ParentHashes
		if s.FetchMissing == nil || s.hasObject(tree.ID(o.TreeHash)) {
			leads = append(leads, o.TreeHash)
		}
	case *object.Tag:
		leads = []plumbing.Hash{o.Target}
	case *object.Tree:
		for _, e := range o.Entries {
			switch tree.Mode(e.Mode) {
			case tree.ModeDir:
				if s.FetchMissing == nil || s.hasObject(tree.ID(e.Hash)) {
					leads = append(leads, e.Hash)
				}
			case tree.ModeSubmodule:
			default:
				blobs = append(blobs, e.Hash)
			}
		}
	}
	return leads, blobs, nil
}

// MarkReachable marks everything reachable from next; leads is [Store.ObjectLinks]. It does not
// descend into already marked objects.
func MarkReachable(ctx context.Context, next []plumbing.Hash, leads func(plumbing.Hash) (leads, blobs []plumbing.Hash, err error), mark func(tree.ID) (before bool)) error {
	for len(next) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		id := next[len(next)-1]
		next = next[:len(next)-1]
		if mark(tree.ID(id)) {
			continue
		}
		more, blobs, err := leads(id)
		if err != nil {
			return err
		}
		next = append(next, more...)
		for _, blob := range blobs {
			mark(tree.ID(blob))
		}
	}
	return nil
}
