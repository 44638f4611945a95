package partial

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/git/pack"
	"github.com/fairlead-io/fairlead/internal/git/protocol"
)

// Fetcher fetches objects from a server and calls take with the pack that it sends.
type Fetcher func(ctx context.Context, w protocol.FetchRequest, take func(io.Reader) error) error

// FetchCommits fetches commits without what the filter leaves out; those for which all reports true
// are fetched whole.
func (ask Fetcher) FetchCommits(ctx context.Context, w protocol.FetchRequest, all func(plumbing.Hash) bool, take func(io.Reader) error) error {
	some, whole := w, w
	some.Wants = slices.DeleteFunc(slices.Clone(w.Wants), all)
	whole.Wants = slices.DeleteFunc(slices.Clone(w.Wants), func(id plumbing.Hash) bool { return !all(id) })
	whole.Filter = NoFilter
	var err error
	for _, w := range []protocol.FetchRequest{some, whole} {
		if err == nil && len(w.Wants) > 0 {
			err = ask(ctx, w, take)
		}
	}
	return err
}

// maxWants bounds the objects of one request, of 50 bytes each: servers bound its size.
const maxWants = 4_000

// FetchObjects fetches the objects that lacks returns until there are none: of a request for folders
// a server leaves out those that are in another one of them. The error is [protocol.ErrMissingObject] if
// a request brings none of them.
func (ask Fetcher) FetchObjects(ctx context.Context, kind pack.Kind, filter string, lacks func() []tree.ID, take func(io.Reader) error) error {
	if kind == pack.Blob {
		filter = NoFilter // nothing is below it; a filter could only be refused
	}
	for left := lacks(); len(left) > 0; {
		for ids := range slices.Chunk(left, maxWants) {
			if err := ask(ctx, protocol.FetchRequest{Wants: toHashes(ids), Filter: filter}, take); err != nil {
				return err
			}
		}
		before := len(left)
		left = lacks()
		if len(left) == before {
			return fmt.Errorf("%s: %w", left[0], protocol.ErrMissingObject)
		}
	}
	return nil
}

// FetchFolders fetches folders with everything in them.
func (ask Fetcher) FetchFolders(ctx context.Context, folders []tree.ID, take func(io.Reader) error) error {
	return ask(ctx, protocol.FetchRequest{Wants: toHashes(folders)}, take)
}

func toHashes(ids []tree.ID) []plumbing.Hash {
	all := make([]plumbing.Hash, len(ids))
	for i, id := range ids {
		all[i] = plumbing.Hash(id)
	}
	return all
}

// UniqueHashes returns ids without duplicates, in the same slice.
func UniqueHashes(ids []plumbing.Hash) []plumbing.Hash {
	seen := map[plumbing.Hash]bool{}
	return slices.DeleteFunc(ids, func(id plumbing.Hash) bool {
		twice := seen[id]
		seen[id] = true
		return twice
	})
}
