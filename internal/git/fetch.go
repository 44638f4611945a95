package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"syscall"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
)

var (
	// ErrDamaged says that a mirror could not be read; the next Sync makes it anew.
	ErrDamaged = errors.New("what was stored cannot be read")
	// errDisk says that a mirror could not be written.
	errDisk = errors.New("the disk took no more")
)

// maxHaves bounds the commits that a fetch names as known: the heads of branches,
// and some of what led to them, for servers on which a branch went back.
const (
	maxHaves     = 256
	havesPerHead = 8
)

// receive fetches what an update needs.
func (r *Repository) receive(ctx context.Context, s session, u update) error {
	adv, err := s.references(ctx)
	if err != nil {
		return err
	}
	req := packp.NewUploadPackRequestFromCapabilities(adv.Capabilities)
	if adv.Capabilities.Supports(capability.NoProgress) {
		if err := req.Capabilities.Set(capability.NoProgress); err != nil {
			return err
		}
	}
	// A thin pack is not whole without the packs beside it, and a mirror tidies its packs.
	req.Capabilities.Delete(capability.ThinPack)
	req.Wants = u.want
	if req.Haves, err = r.haves(); err != nil {
		return err
	}
	answer, err := s.fetch.UploadPack(ctx, req)
	if err != nil {
		return err
	}
	pack := demultiplexed(req.Capabilities, answer)
	if err := r.ingest(pack); err != nil {
		return errors.Join(err, answer.Close())
	}
	return answer.Close()
}

// demultiplexed takes the pack out of a stream that may also have messages in it.
func demultiplexed(c *capability.List, in io.Reader) io.Reader {
	switch {
	case c.Supports(capability.Sideband64k):
		return sideband.NewDemuxer(sideband.Sideband64k, in)
	case c.Supports(capability.Sideband):
		return sideband.NewDemuxer(sideband.Sideband, in)
	}
	return in
}

// ingest stores a pack as it comes in, and checks it.
func (r *Repository) ingest(pack io.Reader) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := packfile.UpdateObjectStorage(r.store, pack)
	if err == nil {
		err = r.store.Refresh()
	}
	switch {
	case errors.Is(err, packfile.ErrEmptyPackfile):
		return nil
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: %w", errDisk, err)
	case err != nil:
		return fmt.Errorf("%w: the pack that was sent is not whole: %w", ErrUnreachable, err)
	}
	return nil
}

// haves gives commits that the mirror has.
func (r *Repository) haves() ([]plumbing.Hash, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var heads []plumbing.Hash
	iter, err := r.store.IterReferences()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	err = iter.ForEach(func(ref *plumbing.Reference) error {
		if ref.Type() == plumbing.HashReference {
			heads = append(heads, ref.Hash())
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
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
			c, err := object.GetCommit(r.store, id)
			if err != nil { // a tag, or damage that reading will find
				continue
			}
			haves = append(haves, id)
			parents = append(parents, c.ParentHashes...)
		}
		heads = parents
	}
	return haves, nil
}
