// Package tree holds immutable, content-addressed trees of files: those read from Git, those
// rendered, and those that a branch should hold.
//
// A node's identity is its Git object id (SHA-1, with collision detection), so
// equal subtrees are equal values: they are shared, compared by id, and never
// rebuilt or hashed again. The order of the entries is Git's.
//
// What the package keeps true: a [Tree] never changes after it was made; two
// trees with the same files have the same [ID], in whatever order the files were
// given; a path is relative, slash-separated, and never leaves the tree
// ([CheckPath]); [Tree.All] and [Diff] are the only ways out and give files
// sorted by path.
//
// A directory may be [Lazy], [UnreadDir] or [FromText]: its id is known and its entries are
// made on demand, anew each time, so that a tree of 400,000 files costs the memory of the
// part that is in use. Two encoded directories are compared ([ZipChanged]) without making entries
// of what they share.
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

// String returns the id as 40 hexadecimal digits.
func (id ID) String() string { return hex.EncodeToString(id[:]) }

// Mode is a Git file mode.
type Mode uint32

// The modes that Git knows.
const (
	ModeFile       Mode = 0o100644
	ModeExecutable Mode = 0o100755
	ModeSymlink    Mode = 0o120000
	ModeDir        Mode = 0o040000
	ModeSubmodule  Mode = 0o160000
)

// Entry is one name in a directory: a file with its content, or a tree.
type Entry struct {
	Name string
	Mode Mode
	ID   ID
	// Data is the content of a file (the target, if it is a symbolic link). It
	// must not be changed.
	Data []byte

	sub  Tree
	open func(Entry) Tree // unless nil, returns sub
}

// Tree is a directory. The zero value is the empty tree. Trees are small values,
// to be copied and shared.
type Tree struct{ d *dir }

type dir struct {
	id       ID
	entries  []Entry
	encoded  encodedDir  // instead of entries, if it has a text
	loadTree func() Tree // unless nil, makes the entries
	files    int         // how many files are in it; 0 if unknown
}

// File makes an entry of a regular file, and its id.
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

// UnreadDir makes an entry of a tree of which only the id is known. open returns the tree
// with that id whenever the entry's Tree is called; one function serves all entries of a
// folder, so that a folder of 500 costs one.
func UnreadDir(name string, id ID, open func(Entry) Tree) Entry {
	return Entry{Name: name, Mode: ModeDir, ID: id, open: open}
}

// Lazy returns a tree of which only the id is kept, and the number of its files if that is
// known (or else 0). load must be a pure function that returns the tree with that id; it is
// called each time the entries are needed.
func Lazy(id ID, files int, load func() Tree) Tree {
	if id == EmptyID {
		return Tree{}
	}
	return Tree{&dir{id: id, loadTree: load, files: files}}
}

// FromEntries makes a tree of entries with different names, in any order. Empty
// trees among them are left out, as Git does. It panics if a name is given
// twice or cannot be one: the caller checks what comes from outside.
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

// WithEntries returns a tree of entries in any order, as [FromEntries] does, and may keep the slice.
// If they differ from those of t only in the content that they carry, the id of t is used and
// not computed again.
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

// ID returns the id of the tree object that Git would make of t.
func (t Tree) ID() ID {
	if t.d == nil {
		return EmptyID
	}
	return t.d.id
}

// IsEmpty reports whether t has no files.
func (t Tree) IsEmpty() bool { return t.d == nil }

// Entries returns what is in the directory itself, in Git's order. The slice must
// not be changed.
func (t Tree) Entries() []Entry {
	t = t.Expand()
	switch {
	case t.d == nil:
		return nil
	case t.d.encoded.text != "":
		all, _ := ParseTree(t.d.encoded.text, nil) // what Git would write can be read
		for i, e := range all {
			all[i] = t.d.encoded.completed(e)
		}
		return all
	}
	return t.d.entries
}

// Expand returns t with its entries loaded. If they do not make a tree of that id (Git may
// have stored a tree that it would not write), it returns the tree that they make.
func (t Tree) Expand() Tree {
	for t.d != nil && t.d.loadTree != nil {
		t = t.d.loadTree()
	}
	return t
}

// Tree returns the directory that the entry stands for; empty for a file.
func (e Entry) Tree() Tree {
	if e.open != nil {
		return e.open(e)
	}
	return e.sub
}

// IsDir reports whether the entry is a directory.
func (e Entry) IsDir() bool { return e.Mode == ModeDir }

// All returns the regular files of t with their full paths, sorted by path (byte
// order). Symbolic links and submodules are left out: see [Tree.Walk].
func (t Tree) All() iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		for path, e := range t.Walk() {
			if (e.Mode == ModeFile || e.Mode == ModeExecutable) && !yield(path, e.Data) {
				return
			}
		}
	}
}

// Walk returns everything in t that is not a directory, sorted by path.
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

// Sub returns the directory at path; the empty tree if there is none. "" and "."
// are t itself.
func (t Tree) Sub(path string) Tree {
	path = strings.Trim(strings.TrimPrefix(path, "./"), "/")
	if path == "" || path == "." {
		return t
	}
	e, _ := t.Lookup(path)
	return e.Tree()
}

// Lookup finds the entry at path.
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

// Count returns the number of files, links and submodules in t. A tree whose number is known
// is not loaded.
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

// CompareEntries compares two entries by the order of [Tree.Entries], which is that of Git's trees:
// bytes, with directories as if their names ended in a slash. It makes a depth-first walk come out
// sorted by path.
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

// CheckPath returns why path cannot be that of a file in a tree; nil if it can.
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

// Equal reports whether two trees hold the same files.
func Equal(a, b Tree) bool { return a.ID() == b.ID() }
