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

// maxPacks is the number of packs at which a mirror is repacked: each fetch and each push adds
// one, and each makes finding an object slower.
const maxPacks = 50

// Maintain merges packs of the mirror if there are many. If it merges all of them, it drops
// unreachable objects. The mirror can be read meanwhile; objects are copied without being
// unpacked.
func (m *Remote) Maintain(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	found, _ := filepath.Glob(filepath.Join(m.packDir(), "*.idx")) // the pattern is well formed
	if m.mirror == nil || len(found) < maxPacks {
		return nil
	}
	err := m.runExchange(ctx, "tidy the mirror of", func(ctx context.Context) error { return m.mirror.mergePacks(ctx) })
	if errors.Is(err, ErrDamaged) {
		m.mirror.damaged.Store(true)
	}
	return err
}

// mergePacks merges small packs into one. It reads the packs, and the references, as they are now:
// objects that another process added must not seem unreachable.
func (r *Repository) mergePacks(ctx context.Context) (err error) {
	r.mu.Lock()
	r.store.ForgetReferences()
	err = r.store.Refresh()
	packs := r.store.ClonePacks() // to be read concurrently with r
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

// markReachable marks every object that is reachable from references.
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
		r.mu.Lock() // for one object only, so that others can read in between
		defer r.mu.Unlock()
		leads, blobs, err = r.store.ObjectLinks(id)
		if err != nil {
			err = r.markDamaged(err)
		}
		return leads, blobs, err
	}, mark)
}
