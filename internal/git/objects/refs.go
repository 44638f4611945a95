package objects

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

// HashReferences returns non-symbolic references. The map must not be modified. A mirror caches it
// until [Store.ForgetReferences], because go-git needs ten system calls per reference.
func (s *Store) HashReferences() (found map[plumbing.ReferenceName]plumbing.Hash, err error) {
	if s.packs != nil {
		if s.references == nil {
			s.references, err = s.readReferences()
		}
		return s.references, err
	}
	iter, err := s.Storage.IterReferences()
	if err != nil {
		return nil, err
	}
	found = map[plumbing.ReferenceName]plumbing.Hash{}
	err = iter.ForEach(func(ref *plumbing.Reference) error {
		if ref.Type() == plumbing.HashReference {
			found[ref.Name()] = ref.Hash()
		}
		return nil
	})
	return found, err
}

// Reference returns a reference, from the cache of a mirror.
func (s *Store) Reference(name plumbing.ReferenceName) (*plumbing.Reference, error) {
	if s.packs == nil || !strings.HasPrefix(name.String(), "refs/") {
		return s.Storage.Reference(name)
	}
	all, err := s.HashReferences()
	if err != nil {
		return nil, err
	}
	id, ok := all[name]
	if !ok {
		return nil, plumbing.ErrReferenceNotFound
	}
	return plumbing.NewHashReference(name, id), nil
}

// ForgetReferences clears the cache; another process may have moved references.
func (s *Store) ForgetReferences() { s.references = nil }

// SetReference writes a reference.
func (s *Store) SetReference(ref *plumbing.Reference) error {
	s.ForgetReferences()
	return s.Storage.SetReference(ref)
}

// RemoveReference removes a reference.
func (s *Store) RemoveReference(name plumbing.ReferenceName) error {
	s.ForgetReferences()
	return s.Storage.RemoveReference(name)
}

func (s *Store) readReferences() (map[plumbing.ReferenceName]plumbing.Hash, error) {
	dir := s.Filesystem().Root()
	found, err := readPackedReferences(filepath.Join(dir, "packed-refs"))
	if err != nil {
		return nil, err
	}
	if err := addLooseReferences(dir, "refs", found); err != nil {
		return nil, err
	}
	return found, nil
}

func readPackedReferences(file string) (map[plumbing.ReferenceName]plumbing.Hash, error) {
	found := map[plumbing.ReferenceName]plumbing.Hash{}
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		id, name, ok := strings.Cut(strings.TrimSpace(line), " ")
		if strings.HasPrefix(line, "#") || strings.HasPrefix(line, "^") { // ^ is the target of a tag
			continue
		}
		if !ok || !plumbing.IsHash(id) {
			return nil, fmt.Errorf("%s cannot be read", file)
		}
		found[plumbing.ReferenceName(name)] = plumbing.NewHash(id)
	}
	return found, nil
}

func addLooseReferences(dir, folder string, found map[plumbing.ReferenceName]plumbing.Hash) error {
	entries, err := os.ReadDir(filepath.Join(dir, folder))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		name := folder + "/" + e.Name()
		if e.IsDir() {
			if err := addLooseReferences(dir, name, found); err != nil {
				return err
			}
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) || strings.HasSuffix(name, ".lock") {
			continue
		}
		if err != nil {
			return err
		}
		switch id := strings.TrimSpace(string(text)); {
		case plumbing.IsHash(id):
			found[plumbing.ReferenceName(name)] = plumbing.NewHash(id)
		case !strings.HasPrefix(id, "ref:"):
			return fmt.Errorf("the reference %s cannot be read", name)
		}
	}
	return nil
}
