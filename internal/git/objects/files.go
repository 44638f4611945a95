package objects

import (
	"github.com/go-git/go-git/v5/plumbing"

	"github.com/fairlead-io/fairlead/internal/base/recent"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/git/pack"
)

// maxFileBytes bounds the cached content of files, in bytes.
const maxFileBytes = 16 << 20

// ReadFile returns the content of a file, which must not be changed, or nil if want refuses its
// size in bytes. Content is cached unless it is large.
func (s *Store) ReadFile(id tree.ID, want func(size int64) bool) ([]byte, error) {
	if known, ok := s.files.Find(id); ok {
		if !want(int64(len(known))) {
			return nil, nil
		}
		return known, nil
	}
	size, err := s.EncodedObjectSize(plumbing.Hash(id))
	if err != nil || !want(size) {
		return nil, err
	}
	data, err := s.ReadLimited(pack.Blob, id, size)
	if err == nil {
		s.cacheFile(id, data)
	}
	return data, err
}

func (s *Store) cacheFile(id tree.ID, data []byte) {
	if len(data) > maxFileBytes/64 {
		return
	}
	s.fileBytes += len(data)
	if s.fileBytes > maxFileBytes {
		s.files, s.fileBytes = recent.Map[tree.ID, []byte]{}, len(data)
	}
	s.files.Put(id, data)
}

// RotateCaches begins a generation of the caches and drops what was not used in the one that ends.
func (s *Store) RotateCaches() {
	s.folders.Rotate()
	s.files.Rotate()
	s.folderBytes, s.fileBytes = s.folderBytes/2, s.fileBytes/2 // some of it is used again
}
