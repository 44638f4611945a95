package values

import (
	"fmt"
	"testing"
)

// FuzzMerge merges any two values, read as the texts of configs are. Findings are
// a panic, an argument that changed, a second result that differs, and a merge
// with nothing that is not the value itself.
func FuzzMerge(f *testing.F) {
	for _, c := range [][2]string{
		{"text", "other"}, {"text", "[1]"}, {"[1]", "{a: 1}"}, {"", ""},
		{"{a: 1, b: {c: 1}}", "{b: {c: 2, d: [1]}, e: ~}"},
		{"[1, a, {b: c}]", "[1, {b: c}]"},
		{"[{name: a, x: [1]}, {name: a, x: [2]}]", "[{name: a, x: [3]}, {name: a, x: [4]}, {name: b}]"},
		{"[{name: {a: 1}}, {name: [1]}, {name: ~}, {v: 1}]", "[{name: {a: 1}}, {name: [1]}, {name: ~}, {v: 2}]"},
		{"[{name: .nan}, {name: 1}]", "[{name: .nan}, {name: 1.0}, {name: '1'}]"},
		{"{1: a, true: b, ~: c, 1.5: d}", "{1: e, yes: {f: g}, null: [1]}"},
		{"{a: &a [1], b: *a}", "{a: [2], b: [3]}"},
		{"- name: a\n  list:\n  - name: b\n    x: 1\n", "- name: a\n  list:\n  - name: b\n    x: 2\n"},
	} {
		f.Add(c[0], c[1])
	}
	f.Fuzz(func(t *testing.T, oldText, newText string) {
		old, new := parseValue(oldText).value, parseValue(newText).value
		before, after := print(old), print(new)
		merged := (&merger{maxMergeSteps}).mergeValues(old, new)
		if print(old) != before || print(new) != after {
			t.Errorf("merging changed what it merged: %s and %s, now %s and %s", before, after, print(old), print(new))
		}
		if again := (&merger{maxMergeSteps}).mergeValues(old, new); print(again) != print(merged) {
			t.Errorf("a second merge gives %s, not %s", print(again), print(merged))
		}
		for _, v := range []any{old, new, merged} {
			checkNothing(t, v)
		}
	})
}

// checkNothing merges a value with a structure of its kind that has nothing in it. A
// list that is merged into an empty one has its elements of one name merged.
func checkNothing(t *testing.T, v any) {
	t.Helper()
	var nothing any
	switch v.(type) {
	case []any:
		nothing = []any{}
	case map[any]any:
		nothing = map[any]any{}
	default:
		return
	}
	for i, merged := range []any{(&merger{maxMergeSteps}).mergeValues(v, nothing), (&merger{maxMergeSteps}).mergeValues(nothing, v)} {
		if _, list := v.([]any); list && i == 1 {
			continue
		}
		if print(merged) != print(v) {
			t.Errorf("merged with nothing, %s is %s", print(v), print(merged))
		}
	}
}

// print writes a value so that equal ones, and they only, look the same: with
// types, and with the keys of maps in order.
func print(v any) string { return fmt.Sprintf("%#v", v) }
