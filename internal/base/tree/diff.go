package tree

import "iter"

// Change is a file that differs between two trees. Old or New is zero if the file is missing.
type Change struct {
	Path     string
	Old, New Entry
}

// Added reports whether only the new tree has the file.
func (c Change) Added() bool { return c.Old.Name == "" }

// Removed reports whether only the old tree has the file.
func (c Change) Removed() bool { return c.New.Name == "" }

// Diff yields the files that differ, sorted by path. It skips equal subtrees, so the cost grows
// with the difference.
func Diff(a, b Tree) iter.Seq[Change] {
	return func(yield func(Change) bool) { diffTrees("", a, b, yield) }
}

func diffTrees(prefix string, a, b Tree, yield func(Change) bool) bool {
	for x, y := range ZipChanged(a, b) { // same name and kind; one may be zero
		ok, path := true, prefix+max(x.Name, y.Name)
		if x.IsDir() || y.IsDir() {
			ok = diffTrees(path+"/", x.Tree(), y.Tree(), yield)
		} else {
			ok = yield(Change{Path: path, Old: x, New: y})
		}
		if !ok {
			return false
		}
	}
	return true
}

// ZipChanged yields the entries that differ between two directories, in Git's order. An entry
// without one of the same name and kind is paired with the zero Entry.
func ZipChanged(a, b Tree) iter.Seq2[Entry, Entry] {
	return func(yield func(Entry, Entry) bool) {
		zipChanged(a, b, func(x, y *cursor, old, new Entry) bool { return yield(x.dir.completed(old), y.dir.completed(new)) })
	}
}

// ChangedEntries yields the entries of t that known lacks, each with known's entry of the same name
// and kind, or zero.
func ChangedEntries(known, t Tree) iter.Seq2[Entry, Entry] {
	return func(yield func(Entry, Entry) bool) {
		zipChanged(known, t, func(x, y *cursor, old, new Entry) bool {
			if new.Name == "" {
				return true
			}
			if old.IsDir() {
				old = x.dir.completed(old)
			}
			return yield(old, y.dir.completed(new))
		})
	}
}

func zipChanged(a, b Tree, yield func(x, y *cursor, old, new Entry) bool) {
	if Equal(a, b) {
		return
	}
	x, y := a.newCursor(), b.newCursor()
	for x.skipSame(&y); !x.done() || !y.done(); x.skipSame(&y) {
		old, new := nextPair(&x, &y)
		if (old.ID != new.ID || old.Mode != new.Mode) && !yield(&x, &y, old, new) {
			return
		}
	}
}

// Zip is [ZipChanged] for all entries.
func Zip(a, b Tree) iter.Seq2[Entry, Entry] {
	return func(yield func(Entry, Entry) bool) {
		x, y := a.newCursor(), b.newCursor()
		for !x.done() || !y.done() {
			old, new := nextPair(&x, &y)
			if !yield(x.dir.completed(old), y.dir.completed(new)) {
				return
			}
		}
	}
}

func nextPair(x, y *cursor) (old, new Entry) {
	switch c := compareHeads(x, y); {
	case c < 0:
		return x.next(), Entry{}
	case c > 0:
		return Entry{}, y.next()
	}
	return x.next(), y.next()
}

func compareHeads(x, y *cursor) int {
	switch {
	case x.done():
		return 1
	case y.done():
		return -1
	}
	a, b := x.head(), y.head()
	if a.Name == b.Name && a.Mode == b.Mode {
		return 0
	}
	return CompareEntries(a, b)
}
