package pack

import (
	"bytes"
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

	"github.com/fairlead-io/fairlead/internal/tree"
)

// storedPack is a pack of a mirror, with what is in it by offset and by id.
type storedPack struct {
	name    string // without the ending
	file    *os.File
	starts  []int64 // of all objects, in order; the last is where the checksum is
	ids     map[int64]tree.ID
	offsets map[tree.ID]int64
}

// Stored are the packs of a repository.
type Stored struct {
	dir   string
	packs []*storedPack
}

// Open opens all packs that have an index in dir. They must be closed.
func Open(dir string) (*Stored, error) {
	indexes, err := filepath.Glob(filepath.Join(dir, "pack-*"+indexEnding))
	if err != nil {
		return nil, err
	}
	s := &Stored{dir: dir}
	for _, index := range indexes {
		p, err := openPack(dir, strings.TrimSuffix(filepath.Base(index), indexEnding))
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		s.packs = append(s.packs, p)
	}
	return s, nil
}

// Close closes the files.
func (s *Stored) Close() error {
	var err error
	for _, p := range s.packs {
		err = errors.Join(err, p.file.Close())
	}
	return err
}

const (
	packEnding  = ".pack"
	indexEnding = ".idx"
)

func openPack(dir, name string) (*storedPack, error) {
	index, err := os.ReadFile(filepath.Join(dir, name+indexEnding))
	if err != nil {
		return nil, err
	}
	p := &storedPack{name: name}
	if err := p.readIndex(index); err != nil {
		return nil, fmt.Errorf("the index of %s: %w", name, err)
	}
	if p.file, err = os.Open(filepath.Join(dir, name+packEnding)); err != nil {
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

// The parts of an index of version 2, in bytes.
const (
	indexHeader = 8
	indexFanout = 256 * 4
)

// readIndex reads an index of version 2: ids in order, checksums, offsets of 32
// bits, and those of 64 bits that do not fit.
func (p *storedPack) readIndex(index []byte) error {
	magic := append(append([]byte{}, indexMagic...), 0, 0, 0, packVersion)
	if len(index) < indexHeader+indexFanout+2*checksumSize || !bytes.Equal(index[:indexHeader], magic) {
		return errors.New("it cannot be read")
	}
	n := int(binary.BigEndian.Uint32(index[indexHeader+indexFanout-4:]))
	ids := index[indexHeader+indexFanout:]
	const perObject = len(tree.ID{}) + 4 + 4
	if len(ids) < n*perObject+2*checksumSize {
		return errors.New("it is cut off")
	}
	offsets := ids[n*(len(tree.ID{})+4):]
	large := offsets[n*4:]
	p.ids, p.offsets = make(map[int64]tree.ID, n), make(map[tree.ID]int64, n)
	for i := range n {
		id := tree.ID(ids[i*len(tree.ID{}):])
		at := int64(binary.BigEndian.Uint32(offsets[i*4:]))
		if at >= largeOffset {
			at -= largeOffset
			if int64(len(large)) < at*8+8 {
				return errors.New("it is cut off")
			}
			at = int64(binary.BigEndian.Uint64(large[at*8:]))
		}
		p.ids[at], p.offsets[id] = id, at
		p.starts = append(p.starts, at)
	}
	return nil
}

// Merge makes one pack of all that is used, and removes the others.
func (s *Stored) Merge(ctx context.Context, used func(tree.ID) bool) error {
	merged, err := Write(s.dir, func(w *Writer) error {
		for _, p := range s.packs {
			for _, at := range p.starts[:len(p.starts)-1] {
				if err := ctx.Err(); err != nil {
					return err
				}
				if !used(p.ids[at]) {
					continue
				}
				if err := w.copy(p, at); err != nil {
					return fmt.Errorf("%s: %w", p.name, err)
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	defer merged.Discard()
	if err := merged.Keep(s.dir); err != nil {
		return err
	}
	for _, p := range s.packs {
		if p.name == merged.Name() {
			continue
		}
		for _, ending := range []string{indexEnding, packEnding, ".rev"} { // without its index a pack does not exist
			if err := os.Remove(filepath.Join(s.dir, p.name+ending)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

// The kinds of objects that are differences: from one at a distance in the same
// pack, and from one of an id.
const (
	offsetDelta Kind = 6
	refDelta    Kind = 7
)

// copy copies an object as it is stored, after the one that it is a difference from.
// A base is complete before what is made from it, so that no circle can come about.
func (w *Writer) copy(p *storedPack, at int64) error {
	id := p.ids[at]
	if _, ok := w.seen[id]; ok {
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
	if kind == offsetDelta || kind == refDelta {
		base, rest, err := p.base(kind, at, body)
		if err != nil {
			return err
		}
		if offset, ok := p.offsets[base]; ok {
			if err := w.copy(p, offset); err != nil {
				return err
			}
		} else if _, ok := w.seen[base]; !ok {
			return fmt.Errorf("object %s is made from %s, which is not there", id, base)
		}
		header, body = append(appendObjectHeader(nil, refDelta, size), base[:]...), rest
	}
	return w.raw(id, header, body)
}

// base gives the id of what an object is a difference from, and the difference.
func (p *storedPack) base(kind Kind, at int64, body []byte) (base tree.ID, rest []byte, err error) {
	if kind == refDelta {
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
func objectHeader(raw []byte) (kind Kind, size, n int) {
	if len(raw) == 0 {
		return 0, 0, 0
	}
	value, used := binary.Uvarint(append([]byte{raw[0]&0x80 | raw[0]&0x0f}, raw[1:min(len(raw), binary.MaxVarintLen64)]...))
	if used <= 0 {
		return 0, 0, 0
	}
	// The first byte has four bits of the size and not seven.
	return Kind(raw[0] >> 4 & 7), int(value>>7<<4 | value&0x0f), used
}
