package git

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/fairlead-io/fairlead/internal/pack"
	"github.com/fairlead-io/fairlead/internal/tree"
)

// maxPacks is the number of packs at which a mirror is tidied: each fetch and each
// push adds one, and each makes finding an object slower.
const maxPacks = 50

// Maintain puts the packs of the mirror together when there are many, and leaves out
// what no reference leads to. The mirror can be read all the while; what is kept is
// copied as it is, without being unpacked.
func (m *Remote) Maintain(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.mirror == nil || m.countPacks() < maxPacks {
		return nil
	}
	err := m.exchange(ctx, "tidy the mirror of", func(ctx context.Context) error { return m.mirror.repack(ctx, m.packDir()) })
	if errors.Is(err, ErrDamaged) {
		m.mirror.damaged.Store(true)
	}
	return err
}

func (m *Remote) countPacks() int {
	found, _ := filepath.Glob(filepath.Join(m.packDir(), "*.idx")) // the pattern is well formed
	return len(found)
}

// repack makes one pack of all that is in use, and removes the others.
func (r *Repository) repack(ctx context.Context, dir string) (err error) {
	packs, err := pack.Open(dir)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	defer func() { err = errors.Join(err, packs.Close()) }()
	used, err := r.reachable(ctx)
	if err != nil {
		return err
	}
	if err := packs.Merge(ctx, func(id tree.ID) bool { return used[plumbing.Hash(id)] }); err != nil {
		return err
	}
	if err := r.promise(); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.store.Refresh()
}

// reachable gives everything that references lead to. It takes the lock for one
// object at a time, so that others can read in between.
func (r *Repository) reachable(ctx context.Context) (map[plumbing.Hash]bool, error) {
	refs, err := r.Refs("")
	if err != nil {
		return nil, err
	}
	used := map[plumbing.Hash]bool{}
	var next []plumbing.Hash
	for _, id := range refs {
		next = append(next, plumbing.NewHash(id))
	}
	for len(next) > 0 {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		id := next[len(next)-1]
		next = next[:len(next)-1]
		if used[id] {
			continue
		}
		used[id] = true
		leads, blobs, err := r.leadsTo(id)
		if err != nil {
			return nil, err
		}
		next = append(next, leads...)
		for _, blob := range blobs {
			used[blob] = true
		}
	}
	return used, nil
}

func (r *Repository) leadsTo(id plumbing.Hash) (leads, blobs []plumbing.Hash, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if leads, blobs, err = r.store.LeadsTo(id); err != nil {
		err = r.broken(err)
	}
	return leads, blobs, err
}
