package impact

import (
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
)

// comparison compares documents field by field. manifest.Decode bounds the aliases.
type comparison struct {
	kind, name string
	object     bool // false for values
	path       []string
	found      []change
	// reorder is true if keys or documents change their order, which has no effect.
	reorder bool
}

func (w *comparison) comparePairs(pairs [][2]document) {
	last := map[string]int{}
	for _, p := range pairs {
		old, new := p[0], p[1]
		w.kind, w.name, w.object = new.object.Kind, new.title(), new.object.Kind != ""
		if !w.object {
			w.kind = new.file
		}
		if n, seen := last[new.file]; seen && new.order < n {
			w.reorder = true
		}
		last[new.file] = new.order
		w.compareNodes(old.object.Node, new.object.Node, nil)
	}
}

func (w *comparison) compareNodes(old, new, beside *yaml.Node) {
	old, new = yamldoc.ResolveAlias(old), yamldoc.ResolveAlias(new)
	old, new = fillNull(old, new), fillNull(new, old)
	switch {
	case old.Kind == yaml.MappingNode && new.Kind == yaml.MappingNode:
		w.compareMappings(old, new)
	case old.Kind == yaml.SequenceNode && new.Kind == yaml.SequenceNode:
		w.compareLists(old.Content, new.Content)
	case old.Kind == yaml.ScalarNode && new.Kind == yaml.ScalarNode &&
		old.Value == new.Value && old.ShortTag() == new.ShortTag():
	default:
		w.addChange(changed, old, new, beside)
	}
}

func fillNull(n, other *yaml.Node) *yaml.Node {
	if n.ShortTag() == "!!null" && other.Kind != yaml.ScalarNode {
		return &yaml.Node{Kind: other.Kind}
	}
	return n
}

func (w *comparison) addChange(op operation, old, new, beside *yaml.Node) {
	w.found = append(w.found, change{
		op: op, kind: w.kind, name: w.name, path: slices.Clone(w.path), old: old, new: new, beside: beside,
	})
}

// withKey calls f with key appended to the path, except for the object's own name and
// namespace.
func (w *comparison) withKey(key string, f func()) {
	w.path = append(w.path, key)
	isName := w.object && len(w.path) == 2 && w.path[0] == "metadata" && (key == "name" || key == "namespace")
	if !isName {
		f()
	}
	w.path = w.path[:len(w.path)-1]
}

func (w *comparison) compareMappings(old, new *yaml.Node) {
	oldKeys, was := fieldsOf(old)
	newKeys, is := fieldsOf(new)
	last := -1
	for _, key := range oldKeys {
		w.withKey(key, func() {
			y, ok := is[key]
			if !ok {
				w.addChange(changed, was[key].value, nil, new)
				return
			}
			w.reorder = w.reorder || y.order < last
			last = y.order
			w.compareNodes(was[key].value, y.value, new)
		})
	}
	for _, key := range newKeys {
		if _, ok := was[key]; !ok {
			w.withKey(key, func() { w.addChange(changed, nil, is[key].value, new) })
		}
	}
}

type field struct {
	value *yaml.Node
	order int
}

func fieldsOf(n *yaml.Node) (keys []string, fields map[string]field) {
	fields = make(map[string]field, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := yamldoc.ResolveAlias(n.Content[i]).Value
		if _, twice := fields[key]; !twice {
			keys = append(keys, key)
		}
		fields[key] = field{n.Content[i+1], i}
	}
	return keys, fields
}

func (w *comparison) compareLists(old, new []*yaml.Node) {
	was, is := byName(old), byName(new)
	if was != nil && is != nil {
		w.compareNamed(old, new, was, is)
		return
	}
	for len(old) > 0 && len(new) > 0 && equalNodes(old[0], new[0]) {
		old, new = old[1:], new[1:]
	}
	for len(old) > 0 && len(new) > 0 && equalNodes(old[len(old)-1], new[len(new)-1]) {
		old, new = old[:len(old)-1], new[:len(new)-1]
	}
	switch {
	case len(old) == 0 && len(new) == 0:
	case isShuffled(old, new):
		w.addChange(reordered, nil, nil, nil)
	case len(old) == len(new):
		for i := range old {
			w.withKey("[]", func() { w.compareNodes(old[i], new[i], nil) })
		}
	default:
		for _, n := range old {
			w.withKey("[]", func() { w.addChange(changed, n, nil, nil) })
		}
		for _, n := range new {
			w.withKey("[]", func() { w.addChange(changed, nil, n, nil) })
		}
	}
}

func (w *comparison) compareNamed(old, new []*yaml.Node, was, is map[string]int) {
	last, moved := -1, false
	for _, n := range old {
		name := nameOf(n)
		w.withKey(itemSegment(n), func() {
			i, ok := is[name]
			if !ok {
				w.addChange(changed, n, nil, nil)
				return
			}
			moved = moved || i < last
			last = i
			w.compareNodes(n, new[i], nil)
		})
	}
	for _, n := range new {
		if _, ok := was[nameOf(n)]; !ok {
			w.withKey(itemSegment(n), func() { w.addChange(changed, nil, n, nil) })
		}
	}
	if moved {
		w.addChange(reordered, nil, nil, nil)
	}
}

func byName(items []*yaml.Node) map[string]int {
	at := make(map[string]int, len(items))
	for i, n := range items {
		name := nameOf(n)
		if _, twice := at[name]; twice || name == "" {
			return nil
		}
		at[name] = i
	}
	return at
}

func nameOf(item *yaml.Node) string {
	if n := lookupField(item, "name"); n != nil && n.Kind == yaml.ScalarNode {
		return n.Value
	}
	return ""
}

// itemSegment includes the name only if that is the first key: signatures see no other
// (itemName).
func itemSegment(item *yaml.Node) string {
	if first := yamldoc.ResolveAlias(item).Content[0]; yamldoc.ResolveAlias(first).Value == "name" {
		return "[" + nameOf(item) + "]"
	}
	return "[]"
}

// equalNodes compares lists in order. A smarter comparison would be expensive for
// nested lists.
func equalNodes(a, b *yaml.Node) bool {
	a, b = yamldoc.ResolveAlias(a), yamldoc.ResolveAlias(b)
	if a.Kind == yaml.ScalarNode && a.ShortTag() != b.ShortTag() {
		return false
	}
	return a.Kind == b.Kind && a.Value == b.Value && slices.EqualFunc(a.Content, b.Content, equalNodes)
}

func isShuffled(old, new []*yaml.Node) bool {
	count := map[string]int{}
	for i, items := range [...][]*yaml.Node{old, new} {
		for _, n := range items {
			scalar := yamldoc.ResolveAlias(n)
			if scalar.Kind != yaml.ScalarNode {
				return false
			}
			count[scalar.ShortTag()+scalar.Value] += 1 - 2*i
		}
	}
	for _, n := range count {
		if n != 0 {
			return false
		}
	}
	return true
}

func lookupField(n *yaml.Node, keys ...string) *yaml.Node {
	for _, key := range keys {
		mapping := yamldoc.ResolveAlias(n)
		if mapping.Kind != yaml.MappingNode {
			return nil
		}
		_, fields := fieldsOf(mapping)
		n = fields[key].value
		if n == nil {
			return nil
		}
	}
	return yamldoc.ResolveAlias(n)
}

func isTrue(n *yaml.Node) bool { return n != nil && n.Value == "true" }
