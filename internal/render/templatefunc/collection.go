package templatefunc

import (
	"maps"
	"slices"
)

func sortedKeys(dicts ...map[string]any) []string {
	all := []string{}
	for _, dict := range dicts {
		all = append(all, slices.Sorted(maps.Keys(dict))...)
	}
	return all
}

func sortedValues(dict map[string]any) []any {
	all := []any{}
	for _, key := range slices.Sorted(maps.Keys(dict)) {
		all = append(all, dict[key])
	}
	return all
}

// mergeCopies merges copies of the sources: mergo would link parts of a source into the
// result, and never end if the result is part of the source.
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

// Clone returns a deep copy of dictionaries and lists; texts and numbers are shared.
// Copies of nil are empty.
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

// boundCount bounds a number of elements to the limit plus one, so that larger results
// are reported.
func boundCount(n int) int {
	if n < 0 || n > maxElements {
		return maxElements + 1
	}
	return n
}
