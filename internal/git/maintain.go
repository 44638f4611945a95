package git

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/idxfile"
	"github.com/go-git/go-git/v5/plumbing/object"

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
	packs, err := openPacks(dir)
	defer func() {
		for _, p := range packs {
			err = errors.Join(err, p.file.Close())
		}
	}()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	used, err := r.reachable(ctx)
	if err != nil {
		return err
	}
	merged, err := mergePacks(ctx, dir, packs, used)
	if err != nil {
		return err
	}
	defer merged.Discard() // of no effect once it is kept
	if err := merged.keep(dir); err != nil {
		return fmt.Errorf("%w: %w", errDisk, err)
	}
	for _, p := range packs {
		if p.name == merged.name() {
			continue
		}
		// Without its index a pack does not exist.
		if err := errors.Join(os.Remove(filepath.Join(dir, p.name+".idx")), os.Remove(filepath.Join(dir, p.name+".pack"))); err != nil {
			return err
		}
		if err := os.Remove(filepath.Join(dir, p.name+".rev")); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.store.Reindex()
	return nil
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

// leadsTo gives what an object names: what is to be looked into, and files.
func (r *Repository) leadsTo(id plumbing.Hash) (leads, blobs []plumbing.Hash, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	o, err := object.GetObject(r.store, id)
	if err != nil {
		return nil, nil, r.broken(err)
	}
	switch o := o.(type) {
	case *object.Commit:
		return append(o.ParentHashes, o.TreeHash), nil, nil
	case *object.Tag:
		return []plumbing.Hash{o.Target}, nil, nil
	case *object.Tree:
		for _, e := range o.Entries {
			switch tree.Mode(e.Mode) {
			case tree.ModeDir:
				leads = append(leads, e.Hash)
			case tree.ModeSubmodule:
			default:
				blobs = append(blobs, e.Hash)
			}
		}
	}
	return leads, blobs, nil
}

// storedPack is a pack of a mirror, with what is in it by offset and by id.
type storedPack struct {
	name    string // without the ending
	file    *os.File
	starts  []int64 // of all objects, in order; the last is where the checksum is
	ids     map[int64]plumbing.Hash
	offsets map[plumbing.Hash]int64
}

func openPacks(dir string) ([]*storedPack, error) {
	indexes, err := filepath.Glob(filepath.Join(dir, "pack-*.idx"))
	if err != nil {
		return nil, err
	}
	var packs []*storedPack
	for _, index := range indexes {
		p, err := openPack(dir, strings.TrimSuffix(filepath.Base(index), ".idx"))
		if err != nil {
			return packs, err
		}
		packs = append(packs, p)
	}
	return packs, nil
}

func openPack(dir, name string) (*storedPack, error) {
	index, err := os.Open(filepath.Join(dir, name+".idx"))
	if err != nil {
		return nil, err
	}
	defer index.Close()
	read := idxfile.NewMemoryIndex()
	if err := idxfile.NewDecoder(index).Decode(read); err != nil {
		return nil, err
	}
	entries, err := read.Entries()
	if err != nil {
		return nil, err
	}
	p := &storedPack{name: name, ids: map[int64]plumbing.Hash{}, offsets: map[plumbing.Hash]int64{}}
	for {
		e, err := entries.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		at := int64(e.Offset)
		p.ids[at], p.offsets[e.Hash] = e.Hash, at
		p.starts = append(p.starts, at)
	}
	if p.file, err = os.Open(filepath.Join(dir, name+".pack")); err != nil {
		return nil, err
	}
	info, err := p.file.Stat()
	if err != nil {
		return nil, errors.Join(err, p.file.Close())
	}
	slices.Sort(p.starts)
	p.starts = append(p.starts, info.Size()-checksumSize)
	return p, nil
}

// mergePacks copies what is used into one pack.
func mergePacks(ctx context.Context, dir string, packs []*storedPack, used map[plumbing.Hash]bool) (*Pack, error) {
	return newPack(dir, func(w *packWriter) error {
		for _, p := range packs {
			for _, at := range p.starts[:len(p.starts)-1] {
				if err := ctx.Err(); err != nil {
					return err
				}
				if !used[p.ids[at]] {
					continue
				}
				if err := w.copy(p, at); err != nil {
					return fmt.Errorf("%w: %s: %w", ErrDamaged, p.name, err)
				}
			}
		}
		return nil
	})
}

// The kinds of objects that are differences: from one at a distance in the same
// pack, and from one of an id.
const (
	kindOffsetDelta objectKind = 6
	kindRefDelta    objectKind = 7
)

// copy copies an object as it is stored, after the one that it is a difference from.
// A base is complete before what is made from it, so that no circle can come about.
func (w *packWriter) copy(p *storedPack, at int64) error {
	id := p.ids[at]
	if _, ok := w.seen[tree.ID(id)]; ok {
		return nil
	}
	next, ok := slices.BinarySearch(p.starts, at)
	if !ok || next+1 >= len(p.starts) {
		return fmt.Errorf("object %s has no end", id)
	}
	raw := make([]byte, p.starts[next+1]-at)
	if _, err := p.file.ReadAt(raw, at); err != nil {
		return err
	}
	kind, size, n := objectHeader(raw)
	if n == 0 {
		return fmt.Errorf("object %s cannot be read", id)
	}
	body := raw[n:]
	header := appendObjectHeader(nil, kind, size)
	if kind == kindOffsetDelta || kind == kindRefDelta {
		base, rest, err := p.base(kind, at, body)
		if err != nil {
			return err
		}
		if offset, ok := p.offsets[base]; ok {
			if err := w.copy(p, offset); err != nil {
				return err
			}
		} else if _, ok := w.seen[tree.ID(base)]; !ok {
			return fmt.Errorf("object %s is made from %s, which is not there", id, base)
		}
		header, body = append(appendObjectHeader(nil, kindRefDelta, size), base[:]...), rest
	}
	return w.raw(tree.ID(id), header, body)
}

// base gives the id of what an object is a difference from, and the difference.
func (p *storedPack) base(kind objectKind, at int64, body []byte) (base plumbing.Hash, rest []byte, err error) {
	if kind == kindRefDelta {
		if len(body) < len(base) {
			return base, nil, io.ErrUnexpectedEOF
		}
		copy(base[:], body)
		return base, body[len(base):], nil
	}
	// A number of seven bits a byte, in which each byte that follows adds one.
	distance := int64(0)
	for i, b := range body {
		distance = distance<<7 | int64(b&0x7f)
		if b&0x80 == 0 {
			base, ok := p.ids[at-distance]
			if !ok {
				return base, nil, fmt.Errorf("there is no object at %d", at-distance)
			}
			return base, body[i+1:], nil
		}
		distance++
	}
	return base, nil, io.ErrUnexpectedEOF
}

// objectHeader reads kind and size of an object; n is the length of the header, 0 if
// it cannot be read.
func objectHeader(raw []byte) (kind objectKind, size, n int) {
	if len(raw) == 0 {
		return 0, 0, 0
	}
	value, used := binary.Uvarint(append([]byte{raw[0]&0x80 | raw[0]&0x0f}, raw[1:min(len(raw), binary.MaxVarintLen64)]...))
	if used <= 0 {
		return 0, 0, 0
	}
	// The first byte has four bits of the size and not seven.
	return objectKind(raw[0] >> 4 & 7), int(value>>7<<4 | value&0x0f), used
}
