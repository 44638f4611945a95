package values

import (
	"maps"
	"reflect"
	"slices"
)

// merger counts merge steps. Without steps left, values replace each other.
type merger struct{ left int }

const maxMergeSteps = 1 << 22

// mergeValues puts new over old: lists are joined, with elements of the same name
// merged; mappings are merged by key; all else is replaced. Arguments stay unchanged,
// but the result may share parts.
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

// mergeLists merges each new mapping into all earlier mappings with its name. Elements
// without a name or match are appended; Kalypso guesses instead (Q9).
func (m *merger) mergeLists(old, new []any) []any {
	merged := slices.Clone(old)
	m.left -= len(old) + len(new)
	named := map[any][]int{}
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

// nameOf is false for a name that is a list or mapping, which cannot be compared (Q10).
func nameOf(element any) (name any, ok bool) {
	m, isMap := element.(map[any]any)
	if !isMap {
		return nil, false
	}
	name, ok = m["name"]
	return name, ok && name != nil && reflect.TypeOf(name).Comparable()
}
