package objects

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/storer"
)

// IterReferences returns the references; those of a mirror without HEAD and other symbolic
// ones, and from a cache that [Store.ForgetReferences] clears. go-git needs some ten system
// calls for each reference, to follow links that a mirror does not have.
func (s *Store) IterReferences() (storer.ReferenceIter, error) {
	if s.packs == nil {
		return s.Storage.IterReferences()
	}
	if s.references == nil {
		var err error
		s.references, err = s.readReferences()
		if err != nil {
			return nil, err
		}
	}
	return storer.NewReferenceSliceIter(s.references), nil
}

// Reference returns a reference; that of a mirror from the cache of IterReferences.
func (s *Store) Reference(name plumbing.ReferenceName) (*plumbing.Reference, error) {
	if s.packs == nil || !strings.HasPrefix(name.String(), "refs/") {
		return s.Storage.Reference(name)
	}
	all, err := s.IterReferences()
	if err != nil {
		return nil, err
	}
	defer all.Close()
	for {
		ref, err := all.Next()
		if errors.Is(err, io.EOF) {
			return nil, plumbing.ErrReferenceNotFound
		}
		if err != nil || ref.Name() == name {
			return ref, err
		}
	}
}

// ForgetReferences makes the next reader read the references again: another process may have
// moved them.
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

func (s *Store) readReferences() ([]*plumbing.Reference, error) {
	dir := s.Filesystem().Root()
	found, err := readPackedReferences(filepath.Join(dir, "packed-refs"))
	if err != nil {
		return nil, err
	}
	if err := addLooseReferences(dir, "refs", found); err != nil {
		return nil, err
	}
	all := make([]*plumbing.Reference, 0, len(found))
	for name, id := range found {
		all = append(all, plumbing.NewHashReference(name, id))
	}
	return all, nil
}

// readPackedReferences reads the references that Git keeps in one file: an id and a name a line.
func readPackedReferences(file string) (map[plumbing.ReferenceName]plumbing.Hash, error) {
	found := map[plumbing.ReferenceName]plumbing.Hash{}
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		id, name, ok := strings.Cut(strings.TrimSpace(line), " ")
		if strings.HasPrefix(line, "#") || strings.HasPrefix(line, "^") { // the object of a tag
			continue
		}
		if !ok || !plumbing.IsHash(id) {
			return nil, fmt.Errorf("%s cannot be read", file)
		}
		found[plumbing.ReferenceName(name)] = plumbing.NewHash(id)
	}
	return found, nil
}

// addLooseReferences adds the references that are files of their own, in a folder and below.
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
		if errors.Is(err, fs.ErrNotExist) || strings.HasSuffix(name, ".lock") { // removed since, or being written
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
