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
	return func(yield func(Change) bool) { diff("", a, b, yield) }
}

func diff(prefix string, a, b Tree, yield func(Change) bool) bool {
	for x, y := range Pairs(a, b) {
		if !diffEntry(prefix, x, y, yield) {
			return false
		}
	}
	return true
}

// diffEntry compares two entries of one name and kind; one of them may be the
// zero Entry.
func diffEntry(prefix string, x, y Entry, yield func(Change) bool) bool {
	name := max(x.Name, y.Name)
	if x.IsDir() || y.IsDir() {
		return diff(prefix+name+"/", x.Tree(), y.Tree(), yield)
	}
	return yield(Change{Path: prefix + name, Old: x, New: y})
}

// Pairs yields the entries of the two directories that differ, merged by name, in Git's
// order. An entry without one of its name and kind in the other directory comes with the
// zero Entry.
func Pairs(a, b Tree) iter.Seq2[Entry, Entry] {
	return func(yield func(Entry, Entry) bool) {
		pairs(a, b, func(x, y *cursor, old, new Entry) bool { return yield(x.dir.complete(old), y.dir.complete(new)) })
	}
}

// Fresh yields the entries of t that are not in known, each with the known entry of its name
// and kind, or else the zero Entry. The content of known files is not read.
func Fresh(known, t Tree) iter.Seq2[Entry, Entry] {
	return func(yield func(Entry, Entry) bool) {
		pairs(known, t, func(x, y *cursor, old, new Entry) bool {
			if new.Name == "" {
				return true
			}
			if old.IsDir() {
				old = x.dir.complete(old)
			}
			return yield(old, y.dir.complete(new))
		})
	}
}

// pairs yields the entries that differ, as the cursors find them, not completed.
func pairs(a, b Tree, yield func(x, y *cursor, old, new Entry) bool) {
	if Equal(a, b) {
		return
	}
	x, y := a.cursor(), b.cursor()
	for x.skipSame(&y); !x.done() || !y.done(); x.skipSame(&y) {
		old, new := step(&x, &y)
		if (old.ID != new.ID || old.Mode != new.Mode) && !yield(&x, &y, old, new) {
			return
		}
	}
}

// Beside yields the entries of both directories, merged by name, as [Pairs] yields those that
// differ.
func Beside(a, b Tree) iter.Seq2[Entry, Entry] {
	return func(yield func(Entry, Entry) bool) {
		x, y := a.cursor(), b.cursor()
		for !x.done() || !y.done() {
			old, new := step(&x, &y)
			if !yield(x.dir.complete(old), y.dir.complete(new)) {
				return
			}
		}
	}
}

// step returns the next entry of two directories, of both if it is in both, and moves on.
func step(x, y *cursor) (old, new Entry) {
	switch c := order(x, y); {
	case c < 0:
		return x.next(), Entry{}
	case c > 0:
		return Entry{}, y.next()
	}
	return x.next(), y.next()
}

// order compares the next entries of two directories; none comes last.
func order(x, y *cursor) int {
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
	return Order(a, b)
}
