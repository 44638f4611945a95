package values

import (
	"maps"
	"reflect"
	"slices"
)

// merger counts the work of merging values. Once there are no steps left, values replace each other.
type merger struct{ left int }

// maxMergeSteps bounds the work of merging the values of a class.
const maxMergeSteps = 1 << 22

// mergeValues puts a new value over an old one of the same key. Lists are joined, with
// elements of the same name merged; mappings are merged key by key; anything else
// is replaced. The arguments are not changed; the result may share parts of them.
func (m *merger) mergeValues(old, new any) any {
	m.left--
	if m.left < 0 {
		return new
	}
	switch o := old.(type) {
	case []any:
		if n, ok := new.([]any); ok {
			return m.mergeLists(o, n)
		}
	case map[any]any:
		if n, ok := new.(map[any]any); ok {
			merged := maps.Clone(o)
			m.left -= len(o)
			for key, value := range n {
				if present, ok := merged[key]; ok {
					value = m.mergeValues(present, value)
				}
				merged[key] = value
			}
			return merged
		}
	}
	return new
}

// mergeLists merges each mapping of the new list into every mapping that has the
// same name, of the old list or of the new one before it. What has no name, or no
// match, is appended: it would be a guess to merge nameless elements, as Kalypso
// does (Q9).
func (m *merger) mergeLists(old, new []any) []any {
	merged := slices.Clone(old)
	m.left -= len(old) + len(new)
	named := map[any][]int{} // the positions of elements, by name
	for i, element := range merged {
		if name, ok := nameOf(element); ok {
			named[name] = append(named[name], i)
		}
	}
	for _, element := range new {
		name, ok := nameOf(element)
		if !ok || len(named[name]) == 0 {
			if ok {
				named[name] = []int{len(merged)}
			}
			merged = append(merged, element)
			continue
		}
		for _, i := range named[name] {
			merged[i] = m.mergeValues(merged[i], element)
		}
	}
	return merged
}

// nameOf returns the name of a list element that is a mapping; false for a name that is a
// list or a mapping, since it cannot be compared (Q10).
func nameOf(element any) (name any, ok bool) {
	m, isMap := element.(map[any]any)
	if !isMap {
		return nil, false
	}
	name, ok = m["name"]
	return name, ok && name != nil && reflect.TypeOf(name).Comparable()
}
