package pack

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/fairlead-io/fairlead/internal/tree"
)

// Merge makes one pack of all that is used, and removes the others. Of an object that
// is in several packs, the oldest copy is kept: newer ones are often there only so that
// others can be differences from them.
func (s *Stored) Merge(ctx context.Context, used func(tree.ID) bool) error {
	merged, err := Write(s.dir, func(w *Writer) error {
		for _, p := range slices.Backward(s.packs) {
			if err := s.mergeOne(ctx, w, p, used); err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	defer merged.Discard()
	if err := merged.Keep(s.dir, s.Object); err != nil {
		return err
	}
	for _, p := range s.packs {
		if p.name == merged.Name() {
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

func (s *Stored) mergeOne(ctx context.Context, w *Writer, p *storedPack, used func(tree.ID) bool) error {
	file, err := s.file(p)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		return err
	}
	c := copier{Writer: w, from: p, file: file, layout: p.layout(info.Size())}
	for i, at := range c.starts[:len(c.starts)-1] {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !used(tree.ID(p.id(int(c.ids[i])))) {
			continue
		}
		if err := c.copy(at); err != nil {
			return err
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

// copier copies objects of one pack as they are stored.
type copier struct {
	*Writer
	from *storedPack
	file *os.File
	layout
	raw  []byte
	last int // 1 + the object that raw is of; 0 for none
}

// copy copies an object, after the one that it is a difference from. A base is complete
// before what is made from it, so that no circle can come about.
func (c *copier) copy(at int64) error {
	// Differences from differences are gone through without calling copy again: there
	// may be many.
	var chain []int
	for {
		i, ok := slices.BinarySearch(c.starts, at)
		if !ok || i+1 >= len(c.starts) {
			return fmt.Errorf("there is no object at %d", at)
		}
		if c.has(c.idOf(i)) {
			break
		}
		if chain = append(chain, i); len(chain) > maxChain {
			return fmt.Errorf("object %s is made from too many others", c.idOf(i))
		}
		h, _, err := c.read(i)
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
		if at, ok = c.from.find(h.base); !ok {
			if !c.has(h.base) {
				return fmt.Errorf("object %s is made from %s, which is not there", c.idOf(i), h.base)
			}
			break
		}
	}
	for _, i := range slices.Backward(chain) {
		h, body, err := c.read(i)
		if err != nil {
			return err
		}
		if h.kind == offsetDelta {
			base, _ := slices.BinarySearch(c.starts, c.starts[i]-h.distance)
			h.kind, h.base = refDelta, c.idOf(base)
		}
		begin := appendObjectHeader(nil, h.kind, h.size)
		if h.kind == refDelta {
			begin = append(begin, h.base[:]...)
		}
		if err := c.Writer.raw(c.idOf(i), begin, body); err != nil {
			return err
		}
	}
	return nil
}

func (c *copier) idOf(i int) tree.ID { return tree.ID(c.from.id(int(c.ids[i]))) }

// read gives the header of an object, and what follows it as it is stored; it is good
// until the next call.
func (c *copier) read(i int) (header, []byte, error) {
	if c.last != i+1 {
		size := max(0, c.starts[i+1]-c.starts[i])
		c.raw = slices.Grow(c.raw[:0], int(size))[:size]
		if _, err := c.file.ReadAt(c.raw, c.starts[i]); err != nil {
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
