package objects

import "github.com/fairlead-io/fairlead/internal/tree"

// maxTexts bounds the content of files that is kept from one look to the next, in bytes:
// most files are the same.
const maxTexts = 16 << 20

// Keep has the content of a file be known, unless it is large.
func (s *Store) Keep(id tree.ID, data []byte) {
	if len(data) > maxTexts/64 {
		return
	}
	if s.textBytes += len(data); s.texts == nil || s.textBytes > maxTexts {
		s.texts, s.textBytes = map[tree.ID][]byte{}, len(data)
	}
	s.texts[id] = data
}

// Known gives the content of a file that is kept, which must not be changed.
func (s *Store) Known(id tree.ID) ([]byte, bool) {
	data, ok := s.texts[id]
	return data, ok
}
