package pack

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/tree"
)

// Repack merges small packs into one and removes them. It merges the packs up to the largest one
// that has less than twice the objects of all smaller ones together: each remaining pack is more
// than twice as large as the next one, so that there are few, and an object is copied a few
// times, however large the repository is.
//
// If it merges all packs, it drops unreachable objects: reachable calls mark with the id of each
// reachable object; mark reports whether the object was marked before.
func (s *Set) Repack(ctx context.Context, reachable func(mark func(tree.ID) bool) error) error {
	from := s.packsToMerge()
	if len(from) < 2 {
		return nil
	}
	kept := &Set{bySize: s.bySize[:len(s.bySize)-len(from)]}
	wanted := func(p *indexedPack, i int) bool { return !kept.Has(tree.ID(p.idAt(i))) }
	if len(kept.bySize) == 0 {
		used := reachableSet{}
		if err := reachable(func(id tree.ID) bool { return used.markObject(s, id) }); err != nil {
			return err
		}
		wanted = used.isMarked
	}
	merged, err := s.mergePacks(ctx, from, wanted)
	if err != nil {
		return err
	}
	for _, p := range from {
		if p.name == merged {
			continue
		}
		for _, ending := range []string{indexEnding, packEnding, ".rev", ".promisor"} { // without its index a pack does not exist
			if err := os.Remove(filepath.Join(s.dir, p.name+ending)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

// packsToMerge returns the packs to merge, the newest first.
func (s *Set) packsToMerge() []*indexedPack {
	smaller, until := 0, 0
	for i, p := range slices.Backward(s.bySize) {
		if p.objects < 2*smaller {
			until = len(s.bySize) - i
		}
		smaller += p.objects
	}
	of := s.bySize[len(s.bySize)-until:]
	return slices.DeleteFunc(slices.Clone(s.packs), func(p *indexedPack) bool { return !slices.Contains(of, p) })
}

// mergePacks writes the wanted objects of some packs to a new pack, the oldest copy of each, and
// returns its name; "" if none is wanted. wanted gets a pack and a position in its index.
func (s *Set) mergePacks(ctx context.Context, from []*indexedPack, wanted func(p *indexedPack, i int) bool) (name string, err error) {
	merged, err := Write(s.dir, func(w *Writer) error {
		for _, p := range slices.Backward(from) {
			if err := s.copyPack(ctx, w, p, wanted); err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	defer merged.Discard() // of no effect once it is kept
	if merged.Objects == 0 {
		return "", nil // other packs have all of it
	}
	return merged.Name(), merged.Keep(s.dir, s.Read)
}

// reachableSet are objects that are marked: a bit for each position in the index of a pack. Of an
// object that is in several packs, the oldest copy is marked: newer ones are often there only
// as bases of deltas.
type reachableSet map[*indexedPack][]uint64

// markObject marks an object, and reports whether it was marked before; false if no pack has it.
func (m reachableSet) markObject(s *Set, id tree.ID) bool {
	for _, p := range slices.Backward(s.packs) {
		i, ok := p.findID(id)
		if !ok {
			continue
		}
		bits := m[p]
		if bits == nil {
			bits = make([]uint64, p.objects/64+1)
			m[p] = bits
		}
		before := m.isMarked(p, i)
		bits[i/64] |= 1 << (i % 64)
		return before
	}
	return false
}

// isMarked reports whether the object at a position in the index of a pack is marked.
func (m reachableSet) isMarked(p *indexedPack, i int) bool {
	bits := m[p]
	return bits != nil && bits[i/64]>>(i%64)&1 == 1
}

func (s *Set) copyPack(ctx context.Context, w *Writer, p *indexedPack, wanted func(p *indexedPack, i int) bool) error {
	file, err := s.openFile(p)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		return err
	}
	c := copier{to: w, from: p, file: file, order: p.readLayout(info.Size())}
	for i, at := range c.order.starts[:len(c.order.starts)-1] {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !wanted(p, int(c.order.ids[i])) {
			continue
		}
		if err := c.copyObject(at); err != nil {
			return err
		}
	}
	return nil
}

// The kinds of deltas: from an object at a distance in the same pack, and from one with an id.
const (
	offsetDelta Kind = 6
	refDelta    Kind = 7
)

// copier copies objects of one pack as they are stored.
type copier struct {
	to    *Writer
	from  *indexedPack
	file  *os.File
	order layout
	raw   []byte
	last  int // 1 + the object that raw is of; 0 for none
}

// copyObject copies an object, after the base that it is a delta from, so that no cycle can come
// about.
func (c *copier) copyObject(at int64) error {
	// Chains of deltas are followed without recursion: they may be long.
	var chain []int
	for {
		i, ok := slices.BinarySearch(c.order.starts, at)
		if !ok || i+1 >= len(c.order.starts) {
			return fmt.Errorf("there is no object at %d", at)
		}
		if c.to.has(c.idOf(i)) {
			break
		}
		chain = append(chain, i)
		if len(chain) > maxChain {
			return fmt.Errorf("object %s is made from too many others", c.idOf(i))
		}
		h, _, err := c.readRaw(i)
		if err != nil {
			return err
		}
		if h.kind == offsetDelta {
			at -= h.distance
			continue
		}
		if h.kind != refDelta {
			break
		}
		at, ok = c.from.findOffset(h.base)
		if !ok {
			if !c.to.has(h.base) {
				return fmt.Errorf("object %s is made from %s, which is not there", c.idOf(i), h.base)
			}
			break
		}
	}
	for _, i := range slices.Backward(chain) {
		h, body, err := c.readRaw(i)
		if err != nil {
			return err
		}
		if h.kind == offsetDelta {
			base, _ := slices.BinarySearch(c.order.starts, c.order.starts[i]-h.distance)
			h.kind, h.base = refDelta, c.idOf(base)
		}
		begin := appendObjectHeader(nil, h.kind, h.size)
		if h.kind == refDelta {
			begin = append(begin, h.base[:]...)
		}
		if err := c.to.writeRaw(c.idOf(i), begin, body); err != nil {
			return err
		}
	}
	return nil
}

func (c *copier) idOf(i int) tree.ID { return tree.ID(c.from.idAt(int(c.order.ids[i]))) }

// readRaw returns the header of an object and its stored body, which is valid until the next
// call.
func (c *copier) readRaw(i int) (header, []byte, error) {
	if c.last != i+1 {
		size := max(0, c.order.starts[i+1]-c.order.starts[i])
		c.raw = slices.Grow(c.raw[:0], int(size))[:size]
		if _, err := c.file.ReadAt(c.raw, c.order.starts[i]); err != nil {
			return header{}, nil, err
		}
		c.last = i + 1
	}
	h, err := parseHeader(c.raw)
	if err != nil {
		return h, nil, fmt.Errorf("object %s: %w", c.idOf(i), err)
	}
	return h, c.raw[h.length:], nil
}
