package pack

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/tree"
)

type objectEntry struct {
	id     tree.ID
	crc    uint32
	offset int64
}

// objectList is ordered by offset. It grows in pieces, so that millions of entries are never
// copied.
type objectList struct {
	pieces [][]objectEntry
}

const pieceSize = 1 << 12

func (l *objectList) appendEntry(e objectEntry) {
	last := len(l.pieces) - 1
	if last < 0 || len(l.pieces[last]) == pieceSize {
		var piece []objectEntry
		if last >= 0 {
			piece = make([]objectEntry, 0, pieceSize)
		}
		l.pieces = append(l.pieces, piece)
		last++
	}
	l.pieces[last] = append(l.pieces[last], e)
}

func (l *objectList) count() int {
	if len(l.pieces) == 0 {
		return 0
	}
	last := len(l.pieces) - 1
	return last*pieceSize + len(l.pieces[last])
}

func (l *objectList) entryAt(i int) *objectEntry { return &l.pieces[i/pieceSize][i%pieceSize] }

func (l *objectList) clear() {
	if len(l.pieces) > 0 {
		l.pieces = l.pieces[:1]
		l.pieces[0] = l.pieces[0][:0]
	}
}

func (l *objectList) byID() []*objectEntry {
	all := make([]*objectEntry, 0, l.count())
	for _, piece := range l.pieces {
		for i := range piece {
			all = append(all, &piece[i])
		}
	}
	slices.SortFunc(all, func(a, b *objectEntry) int {
		if c := cmp.Compare(binary.BigEndian.Uint64(a.id[:]), binary.BigEndian.Uint64(b.id[:])); c != 0 {
			return c
		}
		return slices.Compare(a.id[8:], b.id[8:])
	})
	return all
}

// objectTable is a hash table by id, with a fifth of the memory of a map. Ids are random, so four
// of their bytes are the hash.
type objectTable struct {
	entries objectList
	table   []uint32 // 1 + index of an entry; 0 for none
}

const firstTable = 1 << 10

func (s *objectTable) addEntry(e objectEntry) {
	n := s.entries.count()
	if 4*(n+1) > 3*len(s.table) {
		size := max(firstTable, 2*len(s.table))
		for 4*(n+1) > 3*size {
			size *= 2
		}
		s.table = make([]uint32, size)
		for i := range n {
			s.table[s.slotOf(s.entries.entryAt(i).id)] = uint32(i + 1)
		}
	}
	s.entries.appendEntry(e)
	s.table[s.slotOf(e.id)] = uint32(n + 1)
}

func (s *objectTable) has(id tree.ID) bool {
	return len(s.table) > 0 && s.table[s.slotOf(id)] != 0
}

func (s *objectTable) slotOf(id tree.ID) int {
	mask := len(s.table) - 1 // the size is a power of two
	for i := int(binary.LittleEndian.Uint32(id[:])) & mask; ; i = (i + 1) & mask {
		if at := s.table[i]; at == 0 || s.entries.entryAt(int(at-1)).id == id {
			return i
		}
	}
}
