package templatefunc

import (
	"errors"
	"maps"
	"math"
	"slices"
	"strings"
	"text/template"
)

// boundedCollections returns the functions that build a list or a dictionary from several
// values. Those that return a part of an argument need no bound.
func boundedCollections(base template.FuncMap) template.FuncMap {
	list := boundAll(base["list"].(func(...any) []any))
	push := bound2(base["push"].(func(any, any) []any), nil)
	return template.FuncMap{
		"list":    list,
		"tuple":   list,
		"append":  push,
		"push":    push,
		"prepend": bound2(base["prepend"].(func(any, any) []any), nil),
		"concat":  boundAll(base["concat"].(func(...any) any)),

		"dict":           boundAll(base["dict"].(func(...any) map[string]any)),
		"set":            bound3(base["set"].(func(map[string]any, string, any) map[string]any), nil),
		"merge":          merge(base["merge"].(func(map[string]any, ...map[string]any) any)),
		"mergeOverwrite": merge(base["mergeOverwrite"].(func(map[string]any, ...map[string]any) any)),

		"split":     bound2(base["split"].(func(string, string) map[string]string), splitFits),
		"splitList": bound2(base["splitList"].(func(string, string) []string), splitFits),
		"splitn":    bound3(base["splitn"].(func(string, int, string) map[string]string), splitnFits),
		"until":     bound1(base["until"].(func(int) []int), untilFits),
		"untilStep": bound3(base["untilStep"].(func(int, int, int) []int), untilStepFits),
	}
}

// keys returns the keys of each dictionary, sorted, one dictionary after another.
func keys(dicts ...map[string]any) []string {
	all := []string{}
	for _, dict := range dicts {
		all = append(all, slices.Sorted(maps.Keys(dict))...)
	}
	return all
}

// values returns the values of a dictionary in the order of its sorted keys.
func values(dict map[string]any) []any {
	all := []any{}
	for _, key := range slices.Sorted(maps.Keys(dict)) {
		all = append(all, dict[key])
	}
	return all
}

// merge bounds sprig's merge and mergeOverwrite, and passes them copies of the sources:
// mergo would link parts of a source into the result, and loop for ever where the result is
// part of the source.
func merge(into func(map[string]any, ...map[string]any) any) func(map[string]any, ...map[string]any) (any, error) {
	return func(dict map[string]any, sources ...map[string]any) (any, error) {
		copies := make([]map[string]any, len(sources))
		for i, source := range sources {
			if err := fits(source); err != nil {
				return nil, err
			}
			copies[i] = clone(source).(map[string]any)
		}
		return limited(into(dict, copies...))
	}
}

// clone copies the dictionaries and lists of a value.
func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		return cloneMap(v)
	case map[any]any:
		return cloneMap(v)
	case map[string]string:
		return maps.Clone(v)
	case []any:
		c := slices.Clone(v)
		for i, e := range c {
			c[i] = clone(e)
		}
		return c
	}
	return v
}

func cloneMap[K comparable](m map[K]any) map[K]any {
	c := maps.Clone(m)
	for k, v := range c {
		c[k] = clone(v)
	}
	return c
}

func splitFits(separator, text string) error {
	if strings.Count(text, separator) > maxElements+1 {
		return errSize
	}
	return nil
}

func splitnFits(separator string, n int, text string) error {
	if n >= 0 && n <= maxElements {
		return nil
	}
	return splitFits(separator, text)
}

// atMost bounds a wanted number of elements to one more than the limit, so that a larger
// result is reported as too large.
func atMost(n int) int {
	if n < 0 || n > maxElements {
		return maxElements + 1
	}
	return n
}

func untilFits(count int) error {
	if count > maxElements || count < -maxElements {
		return errSize
	}
	return nil
}

// maxBound keeps the sums of a range from overflowing, where sprig never ends.
const maxBound = math.MaxInt / 4

var errBound = errors.New("a number of the range is too large")

func untilStepFits(start, stop, step int) error {
	for _, n := range []int{start, stop, step} {
		if n > maxBound || n < -maxBound {
			return errBound
		}
	}
	if step != 0 && (stop-start)/step > maxElements {
		return errSize
	}
	return nil
}
