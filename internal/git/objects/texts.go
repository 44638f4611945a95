package objects

import (
	"github.com/go-git/go-git/v5/plumbing"

	"github.com/fairlead-io/fairlead/internal/base/recent"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/git/pack"
)

// maxTexts bounds the cached content of files, in bytes.
const maxTexts = 16 << 20

// Text returns the content of a file, which must not be changed, or nil if want refuses its
// size in bytes. Content is cached unless it is large.
func (s *Store) Text(id tree.ID, want func(size int64) bool) ([]byte, error) {
	if known, ok := s.texts.Find(id); ok {
		if !want(int64(len(known))) {
			return nil, nil
		}
		return known, nil
	}
	size, err := s.EncodedObjectSize(plumbing.Hash(id))
	if err != nil || !want(size) {
		return nil, err
	}
	data, err := s.ReadSmall(pack.Blob, id, size)
	if err == nil {
		s.keep(id, data)
	}
	return data, err
}

func (s *Store) keep(id tree.ID, data []byte) {
	if len(data) > maxTexts/64 {
		return
	}
	s.textBytes += len(data)
	if s.textBytes > maxTexts {
		s.texts, s.textBytes = recent.Map[tree.ID, []byte]{}, len(data)
	}
	s.texts.Put(id, data)
}

// Turn begins a generation of the caches and drops what was not used in the one that ends.
func (s *Store) Turn() {
	s.folders.Turn()
	s.texts.Turn()
	s.folderBytes, s.textBytes = s.folderBytes/2, s.textBytes/2 // some of it is used again
}
