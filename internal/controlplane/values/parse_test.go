package values

import (
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The table is section 6 of the specification, "Parsing a value".
func TestParse(t *testing.T) {
	type m = map[any]any
	for _, c := range []struct {
		text string
		want any
	}{
		{"plain", "plain"},
		{"  padded  ", "  padded  "},
		{"8080", "8080"},
		{"true", "true"},
		{"null", "null"},
		{"", ""},
		{"http://host:80/x", "http://host:80/x"},
		{"{{ .ConfigData.X }}", "{{ .ConfigData.X }}"},
		{"a: [1, yes", "a: [1, yes"}, // not YAML
		{"key: value", m{"key": "value"}},
		{"- a\n- b", []any{"a", "b"}},
		{"[1, 2.5, yes, 0123]", []any{1, 2.5, true, 83}},
		{"y: 1\nyes: 2", m{true: 2}}, // YAML 1.1
		{"at: 12:30:45", m{"at": "12:30:45"}},
		{"'key: value'", "key: value"},
		{"  ' padded '\n", " padded "},
		{"''twice''", "twice"},
		{"'it''s'", "it''s"},
		{"'a': 1, 'b'", m{"a": "1, 'b'"}}, // only looks quoted
		{"'", "'"},
		{"''", ""},
		{"''''", "'"},
		{`"key: value"`, `"key: value"`}, // a scalar to YAML
		{"a: 1\n---\nb: 2", "a: 1\n---\nb: 2"},
		{"{a: 1, a: 2}", "{a: 1, a: 2}"},
		{`{a: 1, "a": 2}`, `{a: 1, "a": 2}`},
		{`{1: a, "1": b}`, m{1: "a", "1": "b"}},
		{`{~: a, "~": b}`, m{nil: "a", "~": "b"}},
		{`{yes: a, "yes": b}`, m{true: "a", "yes": "b"}},
		{"[INFO] started", "[INFO] started"},
		{"{}x", "{}x"},
		{"{id: 123456789012345678901234567890}", "{id: 123456789012345678901234567890}"},
		{"{id: 18446744073709551615}", m{"id": uint64(18446744073709551615)}},
	} {
		if diff := cmp.Diff(c.want, parseValue(c.text).value); diff != "" {
			t.Errorf("parse(%q) (-want +got):\n%s", c.text, diff)
		}
	}
}

func TestParseReports(t *testing.T) {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\n" +
		"d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e,*e,*e,*e,*e,*e,*e,*e]\n"
	for _, c := range []struct {
		name, text string
		want       parsedValue
	}{
		{"documents", "a: 1\n---\nb: 2", parsedValue{kept: "it holds more than one YAML document"}},
		{"twice", "{a: 1, a: 2}", parsedValue{kept: "it has the key a twice"}},
		{"a list, then text", "[INFO] started", parsedValue{kept: "it begins with a list, and the text behind that would be lost"}},
		{"a mapping, then text", "{user} logged in", parsedValue{kept: "it begins with a mapping, and the text behind that would be lost"}},
		{"digits", "[-12345678901234567890]", parsedValue{kept: "the integer -12345678901234567890 is over 64 bits and would lose digits"}},
		{"comments", "a: 1 # one", parsedValue{comments: true}},
		{"bomb", bomb, parsedValue{bomb: true}},
		{"none", "a: 1", parsedValue{}},
	} {
		got := parseValue(c.text)
		got.value = nil
		if got != c.want {
			t.Errorf("%s: parse gives %+v, want %+v", c.name, got, c.want)
		}
	}
}

// The table is section 6 of the specification, "Merging", with the sane meaning
// of quirks Q9 and Q10.
func TestMerge(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"text over text", "'a: 1'", "'b: 2'", "'b: 2'"},
		{"maps key by key", "{a: 1, b: {c: 1, d: 1}}", "{b: {d: 2, e: 2}, f: 2}", "{a: 1, b: {c: 1, d: 2, e: 2}, f: 2}"},
		{"null replaces", "{a: {b: 1}}", "{a: null}", "{a: null}"},
		{"lists are joined", "[1, a]", "[a, 2]", "[1, a, a, 2]"},
		{"elements of one name are merged", "[{name: x, v: 1}, {name: y}]", "[{name: x, w: 2}]", "[{name: x, v: 1, w: 2}, {name: y}]"},
		{"into each of that name", "[{name: x, v: 1}, {name: x, v: 2}]", "[{name: x, w: 3}]", "[{name: x, v: 1, w: 3}, {name: x, v: 2, w: 3}]"},
		{"elements of one name in the new list", "[x]", "[{name: true, p: 1}, {name: true, q: 2}]", "[x, {name: true, p: 1, q: 2}]"},
		{"also where nothing is old", "[]", "[{name: a, p: 1}, {name: a, q: 2}]", "[{name: a, p: 1, q: 2}]"},
		{"nameless ones are appended", "[{v: 1}]", "[{v: 2}]", "[{v: 1}, {v: 2}]"},
		{"a name of another type is another name", "[{name: 1}]", "[{name: '1', v: 2}]", "[{name: 1}, {name: '1', v: 2}]"},
		{"a mapping is no name", "[{name: {a: 1}}]", "[{name: {a: 1}}]", "[{name: {a: 1}}, {name: {a: 1}}]"},
		{"a list replaces a map", "{a: 1}", "[1]", "[1]"},
	} {
		old, new := parseValue(c.old).value, parseValue(c.new).value
		before := []any{copyOf(c.old), copyOf(c.new)}
		if diff := cmp.Diff(parseValue(c.want).value, (&merger{maxMergeSteps}).mergeValues(old, new)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
		if diff := cmp.Diff(before, []any{old, new}); diff != "" {
			t.Errorf("%s: merging changed what it merged:\n%s", c.name, diff)
		}
	}
}

// TestMergeIsWork: merging lists takes work in proportion to their length, where each name is there once; where all elements have one
// name, each is merged with each other, which ends at the bound, as too much work.
func TestMergeIsWork(t *testing.T) {
	list := func(n int, name func(i int) string) []any {
		var all []any
		for i := range n {
			all = append(all, map[any]any{"name": name(i)})
		}
		return all
	}
	steps := func(n int, name func(i int) string) int {
		m := merger{maxMergeSteps}
		m.mergeValues(list(n, name), list(n, name))
		return maxMergeSteps - m.left
	}
	if few, many := steps(100, strconv.Itoa), steps(10_000, strconv.Itoa); many > 110*few {
		t.Errorf("lists of 100 elements take %d steps, and of 10,000 %d", few, many)
	}
	same := func(int) string { return "a" }
	if n := steps(3000, same); n < maxMergeSteps {
		t.Errorf("elements of one name take %d steps", n)
	}
	rule := func() *Rule { return &Rule{Values: []Setting{{Key: "A", Value: list(3000, same)}}} }
	v, n := (&Cache{}).mergeRules("", []*Rule{rule(), rule()})
	if n < tooManySteps || len(v.Data) > 0 {
		t.Errorf("it takes %d steps, and gives %d values", n, len(v.Data))
	}
}

func copyOf(text string) any { return parseValue(text).value }

func TestUnsafeSchema(t *testing.T) {
	for _, c := range []struct{ schema, want string }{
		{`{"$ref": "#/definitions/a", "definitions": {"a": {"type": "object"}}}`, ""},
		{`{"properties": {"child": {"$ref": "#"}}}`, ""}, // looks deeper into the data each time
		{`{"$ref": "https://example.com/s.json"}`, `the schema refers to "https://example.com/s.json"; a schema may only refer to parts of itself (#/…)`},
		{`{"items": [{"$ref": "file:///etc/passwd"}]}`, `the schema refers to "file:///etc/passwd"; a schema may only refer to parts of itself (#/…)`},
		{`{"allOf": [{"$ref": "#"}]}`, "the schema refers to itself in a circle at #"},
		{`{"definitions": {"a": {"$ref": "#/definitions/b"}, "b": {"not": {"$ref": "#/definitions/a"}}}}`, "the schema refers to itself in a circle at #/definitions/a"},
		{`{"type": "nothing"`, "the schema is not JSON: unexpected end of JSON input"},
	} {
		if got := compileSchema(c.schema).problem; got != c.want {
			t.Errorf("%s: %q, want %q", c.schema, got, c.want)
		}
	}
}

func TestSchemaNumbers(t *testing.T) {
	for _, c := range []struct {
		text string
		want any
	}{
		{"007", 7}, {"+5", 5}, {"-3", -3}, {"1.10", 1.1}, {"1e3", 1000.0}, {".5", 0.5}, {"0x1p4", 16.0},
		{"true", "true"}, {" 5", " 5"}, {"0x1F", "0x1F"}, {"inf", "inf"}, {"NaN", "NaN"}, {"", ""},
		{"99999999999999999999", 1e20},
	} {
		if got := asNumber(c.text); got != c.want {
			t.Errorf("asNumber(%q) is %v (%T), want %v (%T)", c.text, got, got, c.want, c.want)
		}
	}
}
