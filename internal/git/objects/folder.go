package objects

import (
	"fmt"
	"strings"

	"github.com/fairlead-io/fairlead/internal/pack"
	"github.com/fairlead-io/fairlead/internal/tree"
)

// Folder is a tree object that was found to be in order: it is a quarter of the size of
// its entries, which are made of it each time.
type Folder struct {
	Text string
	// Ordinary says that Git would write it so: its entries, encoded, are this text.
	Ordinary bool
}

// Refused is the error for a tree object that can be read, and whose names cannot be
// those of files.
type Refused struct{ reason string }

// Error says why.
func (e *Refused) Error() string { return e.reason }

// maxFolders bounds the tree objects that are kept from one look to the next, in bytes: a
// fleet has two hundred folders of 18 kB, of which a change looks at all, in what was
// before and in what is proposed.
const maxFolders = 16 << 20

// Folder reads a tree object, or knows it.
func (s *Store) Folder(id tree.ID) (Folder, error) {
	if known, ok := s.folders[id]; ok {
		return known, nil
	}
	text, err := s.Read(pack.Tree, id)
	if err != nil {
		return Folder{}, err
	}
	f := Folder{Text: string(text)}
	if err := f.check(); err != nil {
		return Folder{}, err
	}
	if s.folderBytes += len(text); s.folders == nil || s.folderBytes > maxFolders {
		s.folders, s.folderBytes = map[tree.ID]Folder{}, len(text)
	}
	s.folders[id] = f
	return f, nil
}

// check looks whether the text is that of a tree object, and whether its names can be
// those of files.
func (f *Folder) check() error {
	entries, err := tree.ParseTree(f.Text, nil)
	if err != nil {
		return err
	}
	ordered, files := true, map[string]bool{}
	for i, e := range entries {
		// Git allows backslashes, and on systems where they separate nothing they mean nothing.
		if err := checkName(e.Name); err != nil && strings.Trim(e.Name, `\`) != "" {
			return &Refused{err.Error()}
		}
		ordered = ordered && (i == 0 || tree.Order(entries[i-1], e) < 0)
		if !e.IsDir() {
			files[e.Name] = true
		}
	}
	f.Ordinary = ordered && string(tree.AppendTree(nil, entries)) == f.Text
	return checkTwice(entries, ordered, files)
}

// checkName says why a name cannot be that of a file.
func checkName(name string) error {
	if name == "" {
		return tree.CheckPath(name)
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

// checkTwice reports a name that is there twice. In order, that can only be a file and a
// folder.
func checkTwice(entries []tree.Entry, ordered bool, files map[string]bool) error {
	seen := map[string]bool{}
	for _, e := range entries {
		if e.IsDir() && files[e.Name] || !ordered && seen[e.Name] {
			return &Refused{fmt.Sprintf("a folder has two entries named %q", e.Name)}
		}
		if !ordered {
			seen[e.Name] = true
		}
	}
	return nil
}

// Entries gives what is in the folder; open gives a folder in it.
func (f *Folder) Entries(open func(tree.Entry) tree.Tree) []tree.Entry {
	entries, _ := tree.ParseTree(f.Text, open) // it was checked
	return entries
}
