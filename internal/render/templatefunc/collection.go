package templatefunc

import (
	"maps"
	"slices"
)

// sortedKeys returns the keys of each dictionary, sorted, one dictionary after another.
func sortedKeys(dicts ...map[string]any) []string {
	all := []string{}
	for _, dict := range dicts {
		all = append(all, slices.Sorted(maps.Keys(dict))...)
	}
	return all
}

// sortedValues returns the values of a dictionary in the order of its sorted keys.
func sortedValues(dict map[string]any) []any {
	all := []any{}
	for _, key := range slices.Sorted(maps.Keys(dict)) {
		all = append(all, dict[key])
	}
	return all
}

// mergeCopies has sprig's merge or mergeOverwrite merge copies of the sources: mergo would link
// parts of a source into the result, and loop for ever where the result is part of the source.
func mergeCopies(into func(map[string]any, ...map[string]any) any) func(map[string]any, ...map[string]any) (any, error) {
	return func(dict map[string]any, sources ...map[string]any) (any, error) {
		copies := make([]map[string]any, len(sources))
		for i, source := range sources {
			if err := checkSize(source); err != nil {
				return nil, err
			}
			copies[i] = Clone(source).(map[string]any)
		}
		return into(dict, copies...), nil
	}
}

// Clone returns a copy of a value with all of its dictionaries and lists; texts and numbers are
// shared. Those of a nil dictionary and a nil list are empty.
func Clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		return cloneMap(v)
	case map[any]any:
		return cloneMap(v)
	case map[string]string:
		return maps.Clone(v)
	case []any:
		c := make([]any, len(v))
		for i, e := range v {
			c[i] = Clone(e)
		}
		return c
	}
	return v
}

func cloneMap[K comparable](m map[K]any) map[K]any {
	c := make(map[K]any, len(m))
	for k, v := range m {
		c[k] = Clone(v)
	}
	return c
}

// boundCount bounds a wanted number of elements to one more than the limit, so that a larger
// result is reported as too large.
func boundCount(n int) int {
	if n < 0 || n > maxElements {
		return maxElements + 1
	}
	return n
}
