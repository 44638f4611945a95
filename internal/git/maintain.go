package git

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/git/objects"
	"github.com/fairlead-io/fairlead/internal/git/pack"
)

// maxPacks is the number of packs at which a mirror is tidied: each fetch and each
// push adds one, and each makes finding an object slower.
const maxPacks = 50

// Maintain puts packs of the mirror together when there are many. When it comes to the
// largest, what no reference leads to is left out. The mirror can be read all the while;
// what is kept is copied as it is, without being unpacked.
func (m *Remote) Maintain(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.mirror == nil || m.countPacks() < maxPacks {
		return nil
	}
	err := m.exchange(ctx, "tidy the mirror of", func(ctx context.Context) error { return m.mirror.repack(ctx) })
	if errors.Is(err, ErrDamaged) {
		m.mirror.damaged.Store(true)
	}
	return err
}

func (m *Remote) countPacks() int {
	found, _ := filepath.Glob(filepath.Join(m.packDir(), "*.idx")) // the pattern is well formed
	return len(found)
}

// repack makes one pack of many, and removes those.
func (r *Repository) repack(ctx context.Context) (err error) {
	packs, err := r.beside()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	defer func() { err = errors.Join(err, packs.Close()) }()
	if err := packs.Tidy(ctx, func(mark func(tree.ID) bool) error { return r.reachable(ctx, mark) }); err != nil {
		return err
	}
	if err := r.promise(); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.store.Refresh()
}

// beside returns the packs as they are now, to be read beside r. The references are read
// again too: what another process has brought must not seem to be unused.
func (r *Repository) beside() (*pack.Stored, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.store.ForgetReferences()
	if err := r.store.Refresh(); err != nil {
		return nil, err
	}
	return r.store.Packs(), nil
}

// reachable marks everything that references lead to.
func (r *Repository) reachable(ctx context.Context, mark func(tree.ID) (before bool)) error {
	refs, err := r.Refs("")
	if err != nil {
		return err
	}
	var next []plumbing.Hash
	for _, id := range refs {
		next = append(next, plumbing.NewHash(id))
	}
	return objects.Reach(ctx, next, r.leadsTo, mark)
}

// leadsTo takes the lock for one object, so that others can read in between.
func (r *Repository) leadsTo(id plumbing.Hash) (leads, blobs []plumbing.Hash, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	leads, blobs, err = r.store.LeadsTo(id)
	if err != nil {
		err = r.broken(err)
	}
	return leads, blobs, err
}
