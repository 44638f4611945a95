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
	if Equal(a, b) {
		return true
	}
	as, bs := a.Entries(), b.Entries()
	for len(as) > 0 || len(bs) > 0 {
		var x, y Entry
		switch c := compareHeads(as, bs); {
		case c < 0:
			x, as = as[0], as[1:]
		case c > 0:
			y, bs = bs[0], bs[1:]
		default:
			x, y, as, bs = as[0], bs[0], as[1:], bs[1:]
		}
		if !diffEntry(prefix, x, y, yield) {
			return false
		}
	}
	return true
}

func compareHeads(as, bs []Entry) int {
	switch {
	case len(as) == 0:
		return 1
	case len(bs) == 0:
		return -1
	}
	return compareNames(as[0].Name, as[0].Mode, bs[0].Name, bs[0].Mode)
}

// diffEntry compares two entries of one name and kind; one of them may be the
// zero Entry.
func diffEntry(prefix string, x, y Entry, yield func(Change) bool) bool {
	if x.ID == y.ID && x.Mode == y.Mode {
		return true
	}
	name := max(x.Name, y.Name)
	if x.IsDir() || y.IsDir() {
		return diff(prefix+name+"/", x.Tree(), y.Tree(), yield)
	}
	return yield(Change{Path: prefix + name, Old: x, New: y})
}
