package values

import (
	"maps"
	"reflect"
	"slices"
)

// mergeValues puts a new value over an old one of the same key. Lists are joined, with
// elements of the same name merged; mappings are merged key by key; anything else
// is replaced. The arguments are not changed; the result may share parts of them.
func mergeValues(old, new any) any {
	switch o := old.(type) {
	case []any:
		if n, ok := new.([]any); ok {
			return mergeLists(o, n)
		}
	case map[any]any:
		if n, ok := new.(map[any]any); ok {
			merged := maps.Clone(o)
			for key, value := range n {
				if present, ok := merged[key]; ok {
					value = mergeValues(present, value)
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
func mergeLists(old, new []any) []any {
	merged := slices.Clone(old)
	for _, element := range new {
		matched := false
		name, named := nameOf(element)
		for i := range merged {
			if other, ok := nameOf(merged[i]); named && ok && other == name {
				merged[i] = mergeValues(merged[i], element)
				matched = true
			}
		}
		if !matched {
			merged = append(merged, element)
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
