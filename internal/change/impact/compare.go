package impact

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/kube/manifest"
)

type operation int

const (
	changed operation = iota // a field is added, removed or changed
	added                    // an object
	removed                  // an object
	renamed                  // the old object is deleted and a new one created
	reordered
	mode
	opaque // cannot be decoded
)

type change struct {
	op operation
	// kind is the kind of the object. Documents without one, and files other than YAML,
	// have the file name.
	kind string
	name string // namespace/name of the object
	// path is the keys to the field; list items are "[name]", or "[]".
	path     []string
	old, new *yaml.Node // nil for none; old is also a removed or renamed object
	// beside is the mapping of the new object that holds the field.
	beside *yaml.Node
	// prunes is true if a reconciler in the same files deletes objects that leave its
	// source.
	prunes bool
	stack  bool   // the unit is a component of a stack
	text   string // the description, for operations without nodes
	row    int
}

type document struct {
	object manifest.Object
	file   string
	order  int
}

// compareFiles returns the differences in one unit, and whether some order differs. An
// object that moves to another file is unchanged.
func compareFiles(files []tree.Change) (changes []change, reorder bool) {
	var old, new []document
	for _, f := range files {
		base := path.Base(f.Path)
		if !f.Added() && !f.Removed() && f.Old.Mode != f.New.Mode {
			changes = append(changes, change{op: mode, kind: base, text: fmt.Sprintf("%o -> %o", f.Old.Mode, f.New.Mode)})
		}
		if f.Old.ID == f.New.ID {
			continue
		}
		format := formatOf(f)
		was, err := format.decodeDocuments(f.Path, f.Old)
		is, err2 := format.decodeDocuments(f.Path, f.New)
		switch err := cmp.Or(err, err2); {
		case format == formatOpaque:
			changes = append(changes, change{op: opaque, kind: base})
		case err != nil:
			changes = append(changes, change{op: opaque, kind: base, text: "cannot be read: " + lineNumber.ReplaceAllString(err.Error(), "")})
		default:
			old, new = append(old, was...), append(new, is...)
		}
	}
	found, reorder := compareDocuments(old, new)
	return append(changes, found...), reorder
}

// lineNumber matches the part of an error that differs between units.
var lineNumber = regexp.MustCompile(`^line \d+: `)

// decodeDocuments returns settings as one document without a kind.
func (f format) decodeDocuments(file string, e tree.Entry) (docs []document, err error) {
	var objects []manifest.Object
	switch {
	case e.Name == "" || f == formatOpaque:
	case f == formatSettings:
		objects = make([]manifest.Object, 1)
		objects[0].Node, err = parseSettings(e.Data)
	default:
		objects, err = manifest.Decode(e.Data)
	}
	for i, o := range objects {
		docs = append(docs, document{o, path.Base(file), i})
	}
	return docs, err
}

func compareDocuments(old, new []document) (changes []change, reorder bool) {
	var w comparison
	prunes := slices.ContainsFunc(new, func(d document) bool {
		return isTrue(lookupField(d.object.Node, "spec", "prune")) || isTrue(lookupField(d.object.Node, "spec", "syncPolicy", "automated", "prune"))
	})
	w.comparePairs(pairUp(&old, &new, false, func(d document) pairKey { return pairKey{d.group(), d.object.Kind, d.title()} }))
	w.comparePairs(pairUp(&old, &new, false, func(d document) pairKey { return pairKey{kind: d.object.Kind, name: d.title()} }))
	renames := pairUp(&old, &new, true, func(d document) pairKey { return pairKey{group: d.group(), kind: d.object.Kind} })
	for _, p := range renames {
		w.found = append(w.found, change{op: renamed, kind: p[0].object.Kind, name: p[0].title(), text: p[1].title(), old: p[0].object.Node})
	}
	w.comparePairs(renames)
	for _, d := range old {
		w.found = append(w.found, d.wholeChange(removed))
	}
	for _, d := range new {
		w.found = append(w.found, d.wholeChange(added))
	}
	for i := range w.found {
		w.found[i].prunes = prunes
	}
	return w.found, w.reorder
}

func (d document) wholeChange(op operation) change {
	switch {
	case d.object.Kind != "":
		whole := change{op: op, kind: d.object.Kind, name: d.title()}
		if op == removed {
			whole.old = d.object.Node
		}
		return whole
	case op == added:
		return change{op: changed, kind: d.file, new: d.object.Node}
	default:
		return change{op: changed, kind: d.file, old: d.object.Node}
	}
}

func (d document) title() string {
	return strings.TrimPrefix(d.object.Namespace+"/"+d.object.Name, "/")
}

func (d document) group() string {
	group, version, _ := strings.Cut(d.object.APIVersion, "/")
	if version == "" {
		return "" // the core group has only a version
	}
	return group
}

type pairKey struct{ group, kind, name string }

// pairUp moves documents with equal keys from old and new to pairs, in old's order.
// With single, it skips keys that a side has twice. Documents without a kind pair by
// position.
func pairUp(old, new *[]document, single bool, keyOf func(document) pairKey) (pairs [][2]document) {
	key := func(d document) pairKey {
		if d.object.Kind == "" {
			return pairKey{name: fmt.Sprintf("%s %d", d.file, d.order)}
		}
		return keyOf(d)
	}
	at, times := map[pairKey][]int{}, map[pairKey]int{}
	for i, d := range *new {
		at[key(d)] = append(at[key(d)], i)
	}
	for _, d := range *old {
		times[key(d)]++
	}
	taken := map[int]bool{}
	var restOld, restNew []document
	for _, d := range *old {
		k := key(d)
		if len(at[k]) == 0 || single && (len(at[k]) > 1 || times[k] > 1) {
			restOld = append(restOld, d)
			continue
		}
		i := at[k][0]
		at[k], taken[i] = at[k][1:], true
		pairs = append(pairs, [2]document{d, (*new)[i]})
	}
	for i, d := range *new {
		if !taken[i] {
			restNew = append(restNew, d)
		}
	}
	*old, *new = restOld, restNew
	return pairs
}
