package git

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/git/objects"
)

// maxPacks triggers a repack: each fetch and push adds a pack, which slows down lookups.
const maxPacks = 50

// Maintain merges packs if there are many, and drops unreachable objects if it merges all. The
// mirror stays readable.
func (m *Remote) Maintain(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	found, _ := filepath.Glob(filepath.Join(m.packDir(), "*.idx"))
	if m.mirror == nil || len(found) < maxPacks {
		return nil
	}
	err := m.runExchange(ctx, "tidy the mirror of", func(ctx context.Context) error { return m.mirror.mergePacks(ctx) })
	if errors.Is(err, ErrDamaged) {
		m.mirror.damaged.Store(true)
	}
	return err
}

// mergePacks rereads packs and references first, so that objects of other processes do not seem
// unreachable.
func (r *Repository) mergePacks(ctx context.Context) (err error) {
	r.mu.Lock()
	r.store.ForgetReferences()
	err = r.store.Refresh()
	packs := r.store.ClonePacks()
	r.mu.Unlock()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	defer func() { err = errors.Join(err, packs.Close()) }()
	if err := packs.Repack(ctx, func(mark func(tree.ID) bool) error { return r.markReachable(ctx, mark) }); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.refreshPacks()
}

func (r *Repository) markReachable(ctx context.Context, mark func(tree.ID) (before bool)) error {
	refs, err := r.Refs("")
	if err != nil {
		return err
	}
	var next []plumbing.Hash
	for _, id := range refs {
		next = append(next, plumbing.NewHash(id))
	}
	return objects.MarkReachable(ctx, next, func(id plumbing.Hash) (leads, blobs []plumbing.Hash, err error) {
		r.mu.Lock() // other readers get the lock in between
		defer r.mu.Unlock()
		leads, blobs, err = r.store.ObjectLinks(id)
		if err != nil {
			err = r.markDamaged(err)
		}
		return leads, blobs, err
	}, mark)
}
