package pack

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/tree"
)

// indexedPack is a pack with its index in version 2: sorted ids, checksums, 32-bit offsets, 64-bit
// offsets.
type indexedPack struct {
	name    string
	made    int64 // modification time, ns
	index   []byte
	objects int
	file    *os.File
}

const (
	indexHeader = 8
	indexFanout = 256 * 4
	indexIDs    = indexHeader + indexFanout
	idSize      = len(tree.ID{})
)

func openPack(dir, name string) (*indexedPack, error) {
	file := filepath.Join(dir, name+indexEnding)
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	p := &indexedPack{name: name, made: info.ModTime().UnixNano()}
	p.index, err = os.ReadFile(file)
	if err == nil {
		err = p.validate()
	}
	if err != nil {
		return nil, fmt.Errorf("the index of %s: %w", name, err)
	}
	return p, nil
}

func (p *indexedPack) validate() error {
	magic := append([]byte(indexMagic), 0, 0, 0, packVersion)
	if len(p.index) < indexIDs+2*checksumSize || !bytes.Equal(p.index[:indexHeader], magic) {
		return errors.New("it cannot be read")
	}
	before := 0
	for first := range 256 {
		n := p.countUpTo(byte(first))
		if n < before {
			return errors.New("it is not in order")
		}
		before = n
	}
	p.objects = before
	if len(p.index) < p.largeOffsetTable()+2*checksumSize {
		return errors.New("it is cut off")
	}
	return nil
}

func (p *indexedPack) countUpTo(first byte) int {
	return int(binary.BigEndian.Uint32(p.index[indexHeader+4*int(first):]))
}

func (p *indexedPack) offsetTable() int      { return indexIDs + p.objects*(idSize+4) }
func (p *indexedPack) largeOffsetTable() int { return p.offsetTable() + p.objects*4 }

func (p *indexedPack) idAt(i int) []byte { return p.index[indexIDs+i*idSize:][:idSize] }

// searchID returns the position of the first id that is not lower. Ids are uniformly distributed,
// so it starts at the expected position: 0.59 µs for 500,000 ids, against 0.75 µs with sort.Search.
func (p *indexedPack) searchID(id tree.ID) int {
	low, high := 0, p.countUpTo(id[0])
	if id[0] > 0 {
		low = p.countUpTo(id[0] - 1)
	}
	lower := func(i int) bool { return bytes.Compare(p.idAt(i), id[:]) < 0 }
	guess := low + int(uint64(high-low)*uint64(binary.BigEndian.Uint32(id[1:]))>>32)
	for reach := 16; high-low > reach; reach *= 4 {
		if lower(guess) {
			low, guess = guess+1, guess+reach
		} else {
			high, guess = guess, guess-reach
		}
	}
	for low < high {
		middle := (low + high) / 2
		if lower(middle) {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}

func (p *indexedPack) findID(id tree.ID) (int, bool) {
	i := p.searchID(id)
	return i, i < p.objects && tree.ID(p.idAt(i)) == id
}

func (p *indexedPack) findOffset(id tree.ID) (int64, bool) {
	i, ok := p.findID(id)
	if !ok {
		return 0, false
	}
	return p.offsetAt(i), true
}

func (p *indexedPack) offsetAt(i int) int64 {
	at := int64(binary.BigEndian.Uint32(p.index[p.offsetTable()+4*i:]))
	if at < largeOffset {
		return at
	}
	from := p.largeOffsetTable() + 8*int(at-largeOffset)
	if from+8 > len(p.index)-2*checksumSize {
		return 0
	}
	return int64(binary.BigEndian.Uint64(p.index[from:]))
}

type layout struct {
	starts []int64 // sorted offsets, then that of the checksum
	ids    []int32 // positions in the index, ordered by offset
}

func (p *indexedPack) readLayout(size int64) layout {
	l := layout{make([]int64, 0, p.objects+1), make([]int32, p.objects)}
	for i := range l.ids {
		l.ids[i] = int32(i)
	}
	slices.SortFunc(l.ids, func(i, j int32) int { return cmp.Compare(p.offsetAt(int(i)), p.offsetAt(int(j))) })
	for _, i := range l.ids {
		l.starts = append(l.starts, p.offsetAt(int(i)))
	}
	l.starts = append(l.starts, size-checksumSize)
	return l
}
