package objects

import (
	"fmt"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/fairlead-io/fairlead/internal/base/recent"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/git/pack"
)

// Folder is a valid tree object. Its text takes a quarter of the memory of its entries.
type Folder struct {
	Text string
	// Canonical reports whether Git would write the same text.
	Canonical bool
	// Large means many entries, of which few are files.
	Large bool
}

// InvalidTreeError is the error of a tree object with invalid names.
type InvalidTreeError struct{ reason string }

// Error returns the reason.
func (e *InvalidTreeError) Error() string { return e.reason }

// maxFolderBytes bounds the cache. A fleet has 200 folders of 18 kB, and a change reads each before
// and after.
const maxFolderBytes = 16 << 20

// ReadFolder returns a tree object, from a cache if possible.
func (s *Store) ReadFolder(id tree.ID) (Folder, error) {
	if known, ok := s.folders.Find(id); ok {
		return known, nil
	}
	text, err := s.ReadObject(pack.Tree, id)
	if err != nil {
		return Folder{}, err
	}
	f := Folder{Text: string(text)}
	if err := f.validate(); err != nil {
		return Folder{}, err
	}
	s.folderBytes += len(text)
	if s.folderBytes > maxFolderBytes {
		s.folders, s.folderBytes = recent.Map[tree.ID, Folder]{}, len(text)
	}
	s.folders.Put(id, f)
	return f, nil
}

func (f *Folder) validate() error {
	var last tree.Entry
	var encoded []byte
	ordered, n, files := true, 0, 0
	f.Canonical = true
	for rest := f.Text; rest != ""; n++ {
		e, more, ok := tree.CutEntry(rest)
		if !ok {
			return fmt.Errorf("entry %d of a tree object cannot be read", n+1)
		}
		// Git allows backslashes, which are harmless where they are not separators.
		if err := checkName(e.Name); err != nil && (e.Name == "" || strings.Trim(e.Name, `\`) != "") {
			return &InvalidTreeError{err.Error()}
		}
		ordered = ordered && (n == 0 || tree.CompareEntries(last, e) < 0)
		encoded = tree.AppendEntry(encoded[:0], e.Mode, e.Name, e.ID)
		f.Canonical = f.Canonical && ordered && rest[:len(rest)-len(more)] == string(encoded)
		if !e.IsDir() {
			files++
		}
		last, rest = e, more
	}
	f.Large = n > maxSmallFolder && files <= n/maxSmallFolder
	if ordered && (files == 0 || files == n) {
		return nil
	}
	return f.checkDuplicates(ordered)
}

// In a large folder, at most one entry in maxSmallFolder is a file.
const maxSmallFolder = 16

func checkName(name string) error {
	if name == "" {
		return tree.CheckPath(name)
	}
	if strings.Contains(name, "/") {
		return fmt.Errorf("%q cannot be the name of a file", name)
	}
	for i := range len(name) {
		c := name[i]
		if 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '.' && i > 0 {
			continue
		}
		return tree.CheckPath(strings.ReplaceAll(name, `\`, ""))
	}
	return nil
}

// checkDuplicates rejects duplicate names. In an ordered text, only a file and a later folder can
// share one.
func (f *Folder) checkDuplicates(ordered bool) error {
	seen := map[string]bool{}
	for rest := f.Text; rest != ""; {
		e, more, _ := tree.CutEntry(rest)
		if seen[e.Name] {
			return &InvalidTreeError{fmt.Sprintf("a folder has two entries named %q", e.Name)}
		}
		if !ordered || !e.IsDir() {
			seen[e.Name] = true
		}
		rest = more
	}
	return nil
}

// Entries returns the entries; open returns a subfolder's tree.
func (f *Folder) Entries(open func(tree.Entry) tree.Tree) []tree.Entry {
	entries, _ := tree.ParseTree(f.Text, open)
	return entries
}

const maxFileBytes = 16 << 20

// ReadFile returns a file's content, which must not be modified, or nil if want refuses its size in
// bytes.
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
	if err != nil || len(data) > maxFileBytes/64 {
		return data, err
	}
	s.fileBytes += len(data)
	if s.fileBytes > maxFileBytes {
		s.files, s.fileBytes = recent.Map[tree.ID, []byte]{}, len(data)
	}
	s.files.Put(id, data)
	return data, nil
}

// RotateCaches drops what was not used since the previous call.
func (s *Store) RotateCaches() {
	s.folders.Rotate()
	s.files.Rotate()
	s.folderBytes, s.fileBytes = s.folderBytes/2, s.fileBytes/2
}
