package pack

import (
	"encoding/binary"

	"github.com/fairlead-io/fairlead/internal/tree"
)

// written are the objects of a pack in the order in which they are in it, and a table to
// find them by their ids. Ids are as good as chance, so that a piece of one is the place
// in the table; it has a fifth of the size of a map.
type written struct {
	entries []entry
	table   []uint32 // 1 + the index of an entry; 0 for none
}

const firstTable = 1 << 10

func (s *written) add(e entry) {
	if 4*(len(s.entries)+1) > 3*len(s.table) {
		s.table = make([]uint32, max(firstTable, 2*len(s.table)))
		for i := range s.entries {
			s.table[s.place(s.entries[i].id)] = uint32(i + 1)
		}
	}
	s.entries = append(s.entries, e)
	s.table[s.place(e.id)] = uint32(len(s.entries))
}

func (s *written) has(id tree.ID) bool {
	return len(s.table) > 0 && s.table[s.place(id)] != 0
}

// place gives where an id is in the table, or would be.
func (s *written) place(id tree.ID) int {
	mask := len(s.table) - 1 // the size is a power of two
	for i := int(binary.LittleEndian.Uint32(id[:])) & mask; ; i = (i + 1) & mask {
		if at := s.table[i]; at == 0 || s.entries[at-1].id == id {
			return i
		}
	}
}
