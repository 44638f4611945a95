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

// Fetcher requests objects and calls take with the pack.
type Fetcher func(ctx context.Context, w protocol.FetchRequest, take func(io.Reader) error) error

// FetchCommits applies w.Filter only where all reports false.
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

// maxWants bounds a request, at 50 bytes per object: servers limit its size.
const maxWants = 4_000

// FetchObjects fetches until lacks is empty: a server omits folders nested in other requested ones.
// The error is [protocol.ErrMissingObject] if a round brings nothing.
func (ask Fetcher) FetchObjects(ctx context.Context, kind pack.Kind, filter string, lacks func() []tree.ID, take func(io.Reader) error) error {
	if kind == pack.Blob {
		filter = NoFilter // a server could only refuse it
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

// FetchFolders fetches folders with all contents.
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

// UniqueHashes removes duplicates from ids in place.
func UniqueHashes(ids []plumbing.Hash) []plumbing.Hash {
	seen := map[plumbing.Hash]bool{}
	return slices.DeleteFunc(ids, func(id plumbing.Hash) bool {
		twice := seen[id]
		seen[id] = true
		return twice
	})
}
