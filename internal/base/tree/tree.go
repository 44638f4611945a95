// Package tree holds immutable, content-addressed trees of files: from Git, rendered, or for a
// branch.
//
// A node's identity is its Git object id, so equal subtrees are shared, compared by id, and never
// rebuilt or rehashed. Entries are in Git's order.
//
// What the package keeps true: a [Tree] never changes. Trees with the same files have the same
// [ID]. A path is relative, slash-separated, and never leaves the tree ([CheckPath]). [Tree.All]
// and [Diff] yield files sorted by path.
//
// A directory may be [Lazy], [UnreadDir] or [FromText]: its entries are made on each use, so that a
// tree of 400,000 files costs only the memory of the part in use.
package tree

import (
	"encoding/hex"
	"fmt"
	"iter"
	"slices"
	"strings"
)

// ID is the id of a Git object.
type ID [20]byte

// EmptyID is the id of the empty tree.
var EmptyID = HashTree(nil)

// String returns 40 hexadecimal digits.
func (id ID) String() string { return hex.EncodeToString(id[:]) }

// Mode is a Git file mode.
type Mode uint32

// Git's modes.
const (
	ModeFile       Mode = 0o100644
	ModeExecutable Mode = 0o100755
	ModeSymlink    Mode = 0o120000
	ModeDir        Mode = 0o040000
	ModeSubmodule  Mode = 0o160000
)

// Entry is a name in a directory: a file with its content, or a tree.
type Entry struct {
	Name string
	Mode Mode
	ID   ID
	// Data is a file's content or a link's target. It must not be modified.
	Data []byte

	sub  Tree
	open func(Entry) Tree
}

// Tree is a directory. The zero value is empty. Trees are small values to copy and share.
type Tree struct{ d *dir }

type dir struct {
	id       ID
	entries  []Entry
	encoded  encodedDir
	loadTree func() Tree
	files    int // in total; 0 if unknown
}

// File makes an entry of a regular file.
func File(name string, data []byte) Entry {
	return Entry{Name: name, Mode: ModeFile, ID: HashBlob(data), Data: data}
}

// Link makes an entry of a symbolic link.
func Link(name, target string) Entry {
	return Entry{Name: name, Mode: ModeSymlink, ID: HashBlob([]byte(target)), Data: []byte(target)}
}

// Dir makes an entry of a tree.
func Dir(name string, t Tree) Entry {
	return Entry{Name: name, Mode: ModeDir, ID: t.ID(), sub: t}
}

// UnreadDir makes an entry of a tree with a known id. Each call of the entry's Tree calls open,
// which all entries of a folder can share.
func UnreadDir(name string, id ID, open func(Entry) Tree) Entry {
	return Entry{Name: name, Mode: ModeDir, ID: id, open: open}
}

// Lazy returns a tree with a known id and number of files (0 if unknown). load must be pure; each
// access to the entries calls it.
func Lazy(id ID, files int, load func() Tree) Tree {
	if id == EmptyID {
		return Tree{}
	}
	return Tree{&dir{id: id, loadTree: load, files: files}}
}

// FromEntries makes a tree of entries in any order, without empty trees, as Git does. It panics on
// duplicate or invalid names.
func FromEntries(entries []Entry) Tree {
	kept := slices.DeleteFunc(slices.Clone(entries), func(e Entry) bool { return e.Mode == ModeDir && e.ID == EmptyID })
	slices.SortFunc(kept, CompareEntries)
	for i, e := range kept {
		if !validName(e.Name) {
			panic(fmt.Sprintf("tree: %q cannot be the name of a file", e.Name))
		}
		if i > 0 && e.Name == kept[i-1].Name {
			panic(fmt.Sprintf("tree: two entries are named %q", e.Name))
		}
	}
	if len(kept) == 0 {
		return Tree{}
	}
	return Tree{&dir{id: HashTree(kept), entries: kept}}
}

// WithEntries is [FromEntries], and may keep the slice. It reuses the id of t if only the content
// of entries differs.
func (t Tree) WithEntries(entries []Entry) Tree {
	same := func(a, b Entry) bool {
		return a.Name == b.Name && a.Mode == b.Mode && a.ID == b.ID && (a.Mode != ModeDir || a.ID != EmptyID)
	}
	t = t.Expand()
	if t.d == nil || !slices.EqualFunc(t.Entries(), entries, same) {
		return FromEntries(entries)
	}
	return Tree{&dir{id: t.d.id, entries: entries}}
}

// ID returns the id of t's Git tree object.
func (t Tree) ID() ID {
	if t.d == nil {
		return EmptyID
	}
	return t.d.id
}

// IsEmpty reports whether t has no files.
func (t Tree) IsEmpty() bool { return t.d == nil }

// Entries returns the direct entries in Git's order. The slice must not be modified.
func (t Tree) Entries() []Entry {
	t = t.Expand()
	switch {
	case t.d == nil:
		return nil
	case t.d.encoded.text != "":
		all, _ := ParseTree(t.d.encoded.text, nil) // canonical text always parses
		for i, e := range all {
			all[i] = t.d.encoded.completed(e)
		}
		return all
	}
	return t.d.entries
}

// EntriesExcept returns a copy of the entries of the directory itself without the one of a name, in Git's order.
func (t Tree) EntriesExcept(name string) []Entry {
	return slices.DeleteFunc(slices.Clone(t.Entries()), func(e Entry) bool { return e.Name == name })
}

// Expand loads the entries. If Git stored a tree that is not canonical, the result has another id.
func (t Tree) Expand() Tree {
	for t.d != nil && t.d.loadTree != nil {
		t = t.d.loadTree()
	}
	return t
}

// Tree returns the entry's directory; empty for a file.
func (e Entry) Tree() Tree {
	if e.open != nil {
		return e.open(e)
	}
	return e.sub
}

// IsDir reports whether the entry is a directory.
func (e Entry) IsDir() bool { return e.Mode == ModeDir }

// All yields the regular files of t by path, in byte order. It omits links and submodules: see
// [Tree.Walk].
func (t Tree) All() iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		for path, e := range t.Walk() {
			if (e.Mode == ModeFile || e.Mode == ModeExecutable) && !yield(path, e.Data) {
				return
			}
		}
	}
}

// Walk yields everything except directories, sorted by path.
func (t Tree) Walk() iter.Seq2[string, Entry] {
	return func(yield func(string, Entry) bool) { t.walk("", yield) }
}

func (t Tree) walk(prefix string, yield func(string, Entry) bool) bool {
	for _, e := range t.Entries() {
		ok := true
		if e.IsDir() {
			ok = e.Tree().walk(prefix+e.Name+"/", yield)
		} else {
			ok = yield(prefix+e.Name, e)
		}
		if !ok {
			return false
		}
	}
	return true
}

// Sub returns the directory at path ("" or "." for t), or the empty tree.
func (t Tree) Sub(path string) Tree {
	path = strings.Trim(strings.TrimPrefix(path, "./"), "/")
	if path == "" || path == "." {
		return t
	}
	e, _ := t.Lookup(path)
	return e.Tree()
}

// Lookup returns the entry at path.
func (t Tree) Lookup(path string) (Entry, bool) {
	name, rest, deeper := strings.Cut(path, "/")
	for c := t.newCursor(); !c.done(); {
		e := c.next()
		switch {
		case e.Name == name && deeper:
			return c.dir.completed(e).Tree().Lookup(rest)
		case e.Name == name:
			return c.dir.completed(e), true
		case CompareEntries(e, Entry{Name: name, Mode: ModeDir}) > 0:
			return Entry{}, false
		}
	}
	return Entry{}, false
}

// Count returns the number of files, links and submodules. It does not load a tree with a known
// number.
func (t Tree) Count() int {
	if t.d != nil && t.d.files > 0 {
		return t.d.files
	}
	n := 0
	for _, e := range t.Entries() {
		if e.IsDir() {
			n += e.Tree().Count()
		} else {
			n++
		}
	}
	return n
}

// CompareEntries is Git's order of entries: by bytes, as if directories ended in a slash. A
// depth-first walk is then sorted by path.
func CompareEntries(a, b Entry) int {
	n := min(len(a.Name), len(b.Name))
	if c := strings.Compare(a.Name[:n], b.Name[:n]); c != 0 {
		return c
	}
	return int(endByte(a.Name, a.Mode, n)) - int(endByte(b.Name, b.Mode, n))
}

func endByte(name string, m Mode, i int) byte {
	switch {
	case i < len(name):
		return name[i]
	case m == ModeDir:
		return '/'
	default:
		return 0
	}
}

// CheckPath returns an error unless path is valid for a file in a tree.
func CheckPath(path string) error {
	switch {
	case path == "":
		return fmt.Errorf("the path is empty")
	case strings.HasPrefix(path, "/"):
		return fmt.Errorf("%q is an absolute path", path)
	case strings.ContainsAny(path, "\x00\\"):
		return fmt.Errorf("%q has a character that paths cannot have", path)
	}
	for name := range strings.SplitSeq(path, "/") {
		if !validName(name) {
			return fmt.Errorf("%q is not allowed in a path (%q)", name, path)
		}
	}
	return nil
}

func validName(name string) bool {
	return name != "" && name != "." && name != ".." && (len(name) != len(".git") || !strings.EqualFold(name, ".git")) &&
		strings.IndexByte(name, '/') < 0 && strings.IndexByte(name, 0) < 0
}

// Equal reports whether two trees have the same files.
func Equal(a, b Tree) bool { return a.ID() == b.ID() }
