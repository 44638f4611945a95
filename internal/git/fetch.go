package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"syscall"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/transport"

	"github.com/fairlead-io/fairlead/internal/git/pack"
	"github.com/fairlead-io/fairlead/internal/git/partial"
	"github.com/fairlead-io/fairlead/internal/git/protocol"
)

var (
	// ErrDamaged means that a mirror could not be read; the next Sync rebuilds it.
	ErrDamaged = errors.New("what was stored cannot be read")
	errDisk    = errors.New("the disk took no more")
)

func (r *Repository) receivePack(ctx context.Context, s session, wants, haves []plumbing.Hash) error {
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
	// A thin pack needs bases in other packs, which the mirror may merge.
	req.Capabilities.Delete(capability.ThinPack)
	req.Wants, req.Haves = wants, haves
	answer, err := s.Session.(transport.UploadPackSession).UploadPack(ctx, req)
	if err != nil {
		return err
	}
	if err := r.storePack(protocol.Demultiplex(req.Capabilities, answer)); err != nil {
		return errors.Join(err, answer.Close())
	}
	return answer.Close()
}

func (r *Repository) storePack(in io.Reader) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.finishStoring(packfile.UpdateObjectStorage(r.store, in))
}

func (r *Repository) storeSmallPack(in io.Reader) error {
	err := pack.Receive(r.packDir(), in)
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.finishStoring(err)
}

// The caller of refreshPacks holds the lock.
func (r *Repository) refreshPacks() error {
	if r.store.FetchMissing != nil {
		if err := partial.MarkPromisor(r.packDir()); err != nil {
			return err
		}
	}
	return r.store.Refresh()
}

// The caller of finishStoring holds the lock.
func (r *Repository) finishStoring(err error) error {
	if err == nil {
		err = r.refreshPacks()
	}
	switch {
	case errors.Is(err, packfile.ErrEmptyPackfile):
		return nil
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EROFS), errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: %w", errDisk, err)
	case isFolderMissing(err):
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	case err != nil:
		return fmt.Errorf("%w: the pack that was sent is not whole: %w", ErrUnreachable, err)
	}
	return nil
}

// isFolderMissing matches write errors after a folder was removed or replaced by a file.
func isFolderMissing(err error) bool {
	return errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.EISDIR) || errors.Is(err, fs.ErrNotExist)
}
