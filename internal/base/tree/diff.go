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

// Diff gives what differs between a and b, sorted by path. Subtrees with equal
// ids are not looked into: the cost grows with what differs, not with the size.
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

// Pairs gives the entries that differ between two directories themselves, in Git's
// order. One that is in one of them only, or a directory there and a file here, comes
// with the zero Entry.
func Pairs(a, b Tree) iter.Seq2[Entry, Entry] {
	return func(yield func(Entry, Entry) bool) {
		pairs(a, b, func(x, y *cursor, old, new Entry) bool { return yield(x.complete(old), y.complete(new)) })
	}
}

// Fresh gives the entries of a directory that are not in a known one, each with the known
// one of its name and kind, or else the zero Entry. Known files come without their content,
// which is not read.
func Fresh(known, t Tree) iter.Seq2[Entry, Entry] {
	return func(yield func(Entry, Entry) bool) {
		pairs(known, t, func(x, y *cursor, old, new Entry) bool {
			if new.Name == "" {
				return true
			}
			if old.IsDir() {
				old = x.complete(old)
			}
			return yield(old, y.complete(new))
		})
	}
}

// pairs gives the entries that differ, as they are found.
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

// Beside gives all entries of two directories themselves, as [Pairs] gives those that differ.
func Beside(a, b Tree) iter.Seq2[Entry, Entry] {
	return func(yield func(Entry, Entry) bool) {
		x, y := a.cursor(), b.cursor()
		for !x.done() || !y.done() {
			old, new := step(&x, &y)
			if !yield(x.complete(old), y.complete(new)) {
				return
			}
		}
	}
}

// step takes the next entry of two directories, of both if it is in both.
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
