package tree

import "iter"

// Change is one file that differs between two trees. Old or New is the zero
// Entry if the file is only in the other one.
type Change struct {
	Path     string
	Old, New Entry
}

// Added reports whether the file is only in the new tree.
func (c Change) Added() bool { return c.Old.Name == "" }

// Removed reports whether the file is only in the old tree.
func (c Change) Removed() bool { return c.New.Name == "" }

// Diff yields the files that differ between a and b, sorted by path. Subtrees with equal
// ids are skipped: the cost grows with the difference, not with the size.
func Diff(a, b Tree) iter.Seq[Change] {
	return func(yield func(Change) bool) { diffTrees("", a, b, yield) }
}

func diffTrees(prefix string, a, b Tree, yield func(Change) bool) bool {
	for x, y := range ZipChanged(a, b) { // of one name and kind; one of them may be the zero Entry
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

// ZipChanged yields the entries of the two directories that differ, merged by name, in Git's
// order. An entry without one of its name and kind in the other directory comes with the
// zero Entry.
func ZipChanged(a, b Tree) iter.Seq2[Entry, Entry] {
	return func(yield func(Entry, Entry) bool) {
		zipChanged(a, b, func(x, y *cursor, old, new Entry) bool { return yield(x.dir.completed(old), y.dir.completed(new)) })
	}
}

// ChangedEntries yields the entries of t that are not in known, each with the known entry of its name
// and kind, or else the zero Entry. The content of known files is not read.
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

// zipChanged yields the entries that differ, as the cursors find them, not completed.
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

// Zip yields the entries of both directories, merged by name, as [ZipChanged] yields those that
// differ.
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

// nextPair returns the next entry of two directories, of both if it is in both, and moves on.
func nextPair(x, y *cursor) (old, new Entry) {
	switch c := compareHeads(x, y); {
	case c < 0:
		return x.next(), Entry{}
	case c > 0:
		return Entry{}, y.next()
	}
	return x.next(), y.next()
}

// compareHeads compares the next entries of two directories; none comes last.
func compareHeads(x, y *cursor) int {
	switch {
	case x.done():
		return 1
	case y.done():
		return -1
	}
	a, b := x.head(), y.head()
	if a.Name == b.Name && a.Mode == b.Mode { // as in most of what is compared
		return 0
	}
	return CompareEntries(a, b)
}
