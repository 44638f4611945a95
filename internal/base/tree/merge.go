package tree

import (
	"maps"
	"path"
	"slices"
)

// Merge merges two trees that changed from base, file by file. conflicts are paths that both
// changed differently; merged omits them.
func Merge(base, a, b Tree) (merged Tree, conflicts []string) { return mergeFolders("", base, a, b) }

func mergeFolders(dir string, base, a, b Tree) (merged Tree, conflicts []string) {
	before, inA, inB := entriesByName(base), entriesByName(a), entriesByName(b)
	names := maps.Clone(inA)
	maps.Copy(names, inB)
	var kept []Entry
	for _, name := range slices.Sorted(maps.Keys(names)) {
		o, x, y := before[name], inA[name], inB[name]
		want := x
		switch {
		case isSame(x, y), isSame(y, o):
		case isSame(x, o):
			want = y
		case isFolderOrNone(x) && isFolderOrNone(y):
			sub, more := mergeFolders(path.Join(dir, name), o.Tree(), x.Tree(), y.Tree())
			want, conflicts = Dir(name, sub), append(conflicts, more...)
		default:
			conflicts = append(conflicts, path.Join(dir, name))
			continue
		}
		if want.Name != "" && (!want.IsDir() || !want.Tree().IsEmpty()) {
			kept = append(kept, want)
		}
	}
	return FromEntries(kept), conflicts
}

func isSame(a, b Entry) bool { return a.ID == b.ID && a.Mode == b.Mode }

func isFolderOrNone(e Entry) bool { return e.IsDir() || e.Name == "" }

func entriesByName(t Tree) map[string]Entry {
	entries := t.Entries()
	names := make(map[string]Entry, len(entries))
	for _, e := range entries {
		names[e.Name] = e
	}
	return names
}
