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

// Repack merges small packs: the largest pack that has less than twice the objects of all smaller
// ones together, and all of these. Packs then stay few, and objects are copied rarely.
//
// If it merges all packs, it drops unreachable objects. reachable must call mark with each
// reachable id; mark reports whether it was already marked.
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
		for _, ending := range []string{indexEnding, packEnding, ".rev", ".promisor"} { // index first: without it, a pack does not exist for Git
			if err := os.Remove(filepath.Join(s.dir, p.name+ending)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

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

// mergePacks writes the oldest copy of each wanted object to a new pack and returns its name, or ""
// without one. wanted gets a position in the index.
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
	defer merged.Discard()
	if merged.Objects == 0 {
		return "", nil
	}
	return merged.Name(), merged.Keep(s.dir, s.Read)
}

// reachableSet has one bit per position in a pack's index. It marks the oldest copy of an object:
// newer copies often exist only as delta bases.
type reachableSet map[*indexedPack][]uint64

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

// Deltas whose base is at a distance in the same pack, or has an id.
const (
	offsetDelta Kind = 6
	refDelta    Kind = 7
)

type copier struct {
	to    *Writer
	from  *indexedPack
	file  *os.File
	order layout
	raw   []byte
	last  int
}

// copyObject copies an object after its delta base, which prevents cycles.
func (c *copier) copyObject(at int64) error {
	// No recursion: delta chains may be long.
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

// The body that readRaw returns is valid until the next call.
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
