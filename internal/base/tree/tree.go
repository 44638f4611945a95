// Package tree holds immutable, content-addressed trees of files: what is read
// from Git, what is rendered, and what a branch should hold.
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
// A directory may be [Lazy], [Unread] or [Encoded]: its id is known and its entries are
// made when somebody asks. They are made anew each time, so that a tree of 400,000 files
// costs the memory of the part that is being looked at. Two that are encoded are compared
// ([Pairs]) without making entries of what they have in common.
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

// String gives the id as 40 hexadecimal digits.
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
	open func(Entry) Tree // not nil: gives sub
}

// Tree is a directory. The zero value is the empty tree. Trees are small values,
// to be copied and shared.
type Tree struct{ d *dir }

type dir struct {
	id      ID
	entries []Entry
	encoded encoded     // instead of entries, if it has a text
	load    func() Tree // not nil: the entries are made by it
	files   int         // how many there are in it; 0 if that is not known
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

// Unread makes an entry of a tree of which only the id is known. open gives the tree
// with that id each time somebody asks; one function serves all entries of a folder,
// so that a folder of 500 costs one.
func Unread(name string, id ID, open func(Entry) Tree) Entry {
	return Entry{Name: name, Mode: ModeDir, ID: id, open: open}
}

// Lazy gives a tree of which only the id is kept, and how many files there are in it
// if that is known (or else 0). load must be a pure function that gives the tree
// with that id; it is called each time the entries are needed.
func Lazy(id ID, files int, load func() Tree) Tree {
	if id == EmptyID {
		return Tree{}
	}
	return Tree{&dir{id: id, load: load, files: files}}
}

// FromEntries makes a tree of entries with different names, in any order. Empty
// trees among them are left out, as Git does. It panics if a name is given
// twice or cannot be one: the caller checks what comes from outside.
func FromEntries(entries []Entry) Tree {
	kept := make([]Entry, 0, len(entries))
	for _, e := range entries {
		if e.Mode == ModeDir && e.ID == EmptyID {
			continue
		}
		kept = append(kept, e)
	}
	slices.SortFunc(kept, func(a, b Entry) int { return compareNames(a.Name, a.Mode, b.Name, b.Mode) })
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

// With gives a tree of entries in any order, as [FromEntries] does, and may keep the slice.
// If they are those of t, in its order, and differ in nothing but in the content that they
// have with them, the id is known and not computed again.
func (t Tree) With(entries []Entry) Tree {
	same := func(a, b Entry) bool {
		return a.Name == b.Name && a.Mode == b.Mode && a.ID == b.ID && (a.Mode != ModeDir || a.ID != EmptyID)
	}
	if t = t.Opened(); t.d == nil || !slices.EqualFunc(t.Entries(), entries, same) {
		return FromEntries(entries)
	}
	return Tree{&dir{id: t.d.id, entries: entries}}
}

// ID gives the id of the tree object that Git would make of t.
func (t Tree) ID() ID {
	if t.d == nil {
		return EmptyID
	}
	return t.d.id
}

// IsEmpty reports whether t has no files.
func (t Tree) IsEmpty() bool { return t.d == nil }

// Entries gives what is in the directory itself, in Git's order. The slice must
// not be changed.
func (t Tree) Entries() []Entry {
	t = t.Opened()
	switch {
	case t.d == nil:
		return nil
	case t.d.encoded.text != "":
		return t.d.encoded.entries()
	}
	return t.d.entries
}

// Opened gives the same tree with its entries at hand. Where they do not make a tree of
// that id (Git may have stored what it would not write), the one they make.
func (t Tree) Opened() Tree {
	for t.d != nil && t.d.load != nil {
		t = t.d.load()
	}
	return t
}

// Tree gives the directory that the entry stands for; empty for a file.
func (e Entry) Tree() Tree {
	if e.open != nil {
		return e.open(e)
	}
	return e.sub
}

// IsDir reports whether the entry is a directory.
func (e Entry) IsDir() bool { return e.Mode == ModeDir }

// All gives the regular files of t with their full paths, sorted by path (byte
// order). Symbolic links and submodules are left out: see [Tree.Walk].
func (t Tree) All() iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		for path, e := range t.Walk() {
			if e.Mode != ModeFile && e.Mode != ModeExecutable {
				continue
			}
			if !yield(path, e.Data) {
				return
			}
		}
	}
}

// Walk gives everything in t that is not a directory, sorted by path.
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

// Sub gives the directory at path; the empty tree if there is none. "" and "."
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
	for c := t.cursor(); !c.done(); {
		e := c.next()
		switch {
		case e.Name != name && Order(e, Entry{Name: name, Mode: ModeDir}) > 0:
			return Entry{}, false
		case e.Name != name:
			continue
		case deeper:
			return c.complete(e).Tree().Lookup(rest)
		}
		return c.complete(e), true
	}
	return Entry{}, false
}

// Count gives the number of files, links and submodules in t. A tree that knows it is
// not looked into.
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

// compareNames is the order of Git's trees: bytes, with directories as if their
// names ended in a slash. It makes a depth-first walk come out sorted by path.
func compareNames(a string, am Mode, b string, bm Mode) int {
	n := min(len(a), len(b))
	if c := strings.Compare(a[:n], b[:n]); c != 0 {
		return c
	}
	return int(endByte(a, am, n)) - int(endByte(b, bm, n))
}

// Order compares the places of two entries in a tree, as [Tree.Entries] has them.
func Order(a, b Entry) int { return compareNames(a.Name, a.Mode, b.Name, b.Mode) }

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

// CheckPath says why path cannot be a file of a tree; nil if it can.
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
