package templatefunc

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	yamlv2 "gopkg.in/yaml.v2"
	"gopkg.in/yaml.v3"
)

// parsed gives a value as the values package makes it of a config value.
func parsed(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := yamlv2.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestToYaml(t *testing.T) {
	for _, test := range []struct {
		name  string
		value any
		want  string
	}{
		{"nothing", nil, "null"},
		{"a text", "plain", "plain"},
		{"a number in a text", "8080", `"8080"`},
		{"a bool of YAML 1.1 in a text", "yes", `"yes"`},
		{"no text", "", `""`},
		{"a number", 7, "7"},
		{"a large number", 1e21, "1e+21"},
		{"a bool", true, "true"},
		{"an empty map", map[string]any{}, "{}"},
		{"no map", map[string]any(nil), "{}"},
		{"an empty list", []any{}, "[]"},
		{"a list", []string{"b", "1"}, "- b\n- \"1\""},
		{"natural order", map[string]string{"a10": "x", "a9": "x", "B": "x", "_c": "x"}, "_c: x\nB: x\na9: x\na10: x"},
		{"lines", map[string]any{"a": "x\ny\n", "b": "x\ny", "c": 1}, "a: |\n    x\n    y\nb: |-\n    x\n    y\nc: 1"},
		{"one newline is cut of two", "x\n\n", "|+\n    x\n"},
		{"a long line stays one", map[string]any{"a": strings.Repeat("word ", 40) + "x"}, "a: " + strings.Repeat("word ", 40) + "x"},
		{"a parsed map", parsed(t, "{yes: 0123, 2: [a, {b: ~}], c: 1.50, d: 2024-01-02}"),
			"true: 83\n2:\n    - a\n    - b: null\nc: 1.5\nd: \"2024-01-02\""},
		{"bytes that are no text", "\xff", "!!binary /w=="},

		{"only a newline", "\n", `"\n"`},
		{"only newlines", map[string]any{"a": "\n", "b": "x\n", "c": "\n\n\n"}, "a: \"\\n\"\nb: |\n    x\nc: \"\\n\\n\\n\""},
		{"numbers that overflow", map[string]any{"x18446744073709551617": 1, "x2": []any{1}, "x15": 3}, "x15: 3\nx18446744073709551617: 1\nx2:\n    - 1"},
		{"a newline first", map[string]any{"a": "\nx", "b": "  x\ny"}, "a: \"\\nx\"\nb: |4-\n      x\n    y"},
		{"white space first, in a list", []any{"  x\ny", "\nx", " x"}, "- \"  x\\ny\"\n- \"\\nx\"\n- ' x'"},
		{"white space first, in a map in a list", map[string]any{"K": []any{map[any]any{"x": "  lead\nmore\n", "y": 1}}}, "K:\n    - x: \"  lead\\nmore\\n\"\n      \"y\": 1"},
		{"white space first, further in", []any{map[string]any{"a": map[string]any{"b": "  x\ny"}}}, "- a:\n    b: |4-\n          x\n        y"},
		{"a tab first", map[string]any{"a": "\tx\ny\n"}, "a: \"\\tx\\ny\\n\""},
		{"only newlines further in", map[string]any{"a": []any{map[any]any{"b": []string{"\n"}}, 1}}, "a:\n    - b:\n        - \"\\n\"\n    - 1"},
		{"only newlines among labels", map[string]string{"a": "\n", "b": "1"}, "a: \"\\n\"\nb: \"1\""},
		{"only newlines as a key", map[any]any{"\n": 1, 2: 3}, "2: 3\n? \"\\n\"\n: 1"},
		{"only newlines as a key of texts", map[string]any{"\n": "x", "a": "y"}, "? \"\\n\"\n: x\na: \"y\""},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := toYAML(test.value)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestKeysWithoutOrder(t *testing.T) {
	for _, test := range []struct {
		value any
		want  string
	}{
		{map[string]any{"\xff": 1, "\xfe": 2}, `the key "\xfe" cannot be sorted`},
		{[]any{map[any]any{math.NaN(): 1, 2: 3}}, `the key "NaN" cannot be sorted among the others of its map`},
		{map[string]string{"\xff": "1", "a": ""}, `the key "\xff" cannot be sorted`},
	} {
		for _, function := range []func(any) (string, error){toYAML, stringifyValues} {
			if got, err := function(test.value); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%#v gives %q and error %v, want %q", test.value, got, err, test.want)
			}
		}
	}
	if got, err := toYAML(map[any]any{math.NaN(): 1}); got != ".nan: null" || err != nil {
		t.Errorf("one key gives %q and error %v", got, err)
	}
}

func TestStringify(t *testing.T) {
	for _, test := range []struct {
		name  string
		value any
		want  string
	}{
		{"texts", map[string]any{"TEXT": "plain", "PORT": "8080"}, "PORT: \"8080\"\nTEXT: plain"},
		{"lists", map[string]any{"L": parsed(t, "[1, two, {three: 3}]"), "M": []string{"y"}, "N": []any{}},
			"L: |\n    - 1\n    - two\n    - three: 3\nM: |\n    - \"y\"\n\"N\": |\n    []"},
		{"parsed maps", map[string]any{"A": parsed(t, "{k: v, more: {m: [true]}}"), "B": parsed(t, "{}")},
			"A: |\n    k: v\n    more:\n        m:\n            - true\nB: |\n    {}"},
		{"maps of templates", map[string]any{"A": map[string]any{"k": 1}, "B": map[string]string{"k": "1"}}, "A: |\n    k: 1\nB: |\n    k: \"1\""},
		{"other scalars", map[string]any{"A": 1, "B": true, "C": nil}, "A: 1\nB: true\nC: null"},
		{"only newlines", map[string]any{"A": "\n", "B": []any{"\n"}}, "A: \"\\n\"\nB: |\n    - \"\\n\""},
		{"what is not config data", parsed(t, "{k: [1]}"), "k:\n    - 1"},
		{"a list", []any{[]any{1}}, "- - 1"},
		{"a text", "12", `"12"`},
		{"nothing", nil, "null"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := stringifyValues(test.value)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestHash(t *testing.T) {
	for _, test := range []struct {
		name  string
		value any
		want  string
	}{
		{"a text", "harbour", "5496012708088821330"},
		{"a number", 12, "7559905185580734337"},
		{"a list", []any{"a", 1}, "7438884963231123619"},
		{"a list the other way round", []any{1, "a"}, "10090059907109026039"},
		{"a map", map[string]string{"a": "b", "c": "d"}, "8710980024335696864"},
		{"an equal map", map[any]any{"c": "d", "a": "b"}, "8710980024335696864"},
		{"nothing", nil, "12161962213042174405"},
		{"what has none", func() {}, ""},
	} {
		if got := hashValue(test.value); got != test.want {
			t.Errorf("hash of %s = %q, want %q", test.name, got, test.want)
		}
	}
}

func TestUnquote(t *testing.T) {
	for _, test := range []struct {
		value any
		want  string
	}{
		{"plain", "plain"},
		{"  \"'x y'\"  ", "x y"},
		{`"a"b"`, `a"b`},
		{`''' "a" '`, ` "a" `},
		{`'"a"'`, `"a"`},
		{"\n\t", ""},
		{7, ""},
		{nil, ""},
		{[]any{"a"}, ""},
	} {
		if got := unquoteText(test.value); got != test.want {
			t.Errorf("unquote(%q) = %q, want %q", test.value, got, test.want)
		}
	}
}

// value makes texts, lists and maps of fuzzed bytes: each begins with a byte that
// says what it is and how long, and a text goes on with its bytes.
type source []byte

func (s *source) next() byte {
	if len(*s) == 0 {
		return 0
	}
	b := (*s)[0]
	*s = (*s)[1:]
	return b
}

func (s *source) text() string {
	n := min(int(s.next()%16), len(*s))
	text := string((*s)[:n])
	*s = (*s)[n:]
	return text
}

func (s *source) value(depth int) any {
	kind := s.next()
	n := int(kind/4) % 5
	if depth == 4 || len(*s) == 0 {
		kind = 0
	}
	switch kind % 4 {
	case 1:
		list := []any{}
		for range n {
			list = append(list, s.value(depth+1))
		}
		return list
	case 2:
		m := map[string]any{}
		for range n {
			m[s.text()] = s.value(depth + 1)
		}
		return m
	case 3:
		m := map[any]any{}
		for range n {
			m[s.text()] = s.value(depth + 1)
		}
		return m
	}
	return s.text()
}

// FuzzToYaml checks that toYaml writes what yaml.v3 writes unless a text would not
// read back, and that it reads back as the value it was.
func FuzzToYaml(f *testing.F) {
	for _, seed := range []string{"\x00\x02\n\n", "\x05\x00\x05hello", "\x06\x01a\x00\x01\n", "\x0b\x01\n\x0a\x01a\x00\x03a\nb\x01b\x00\x021 \x00", "\x02"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s := source(data)
		value := s.value(0)
		got, err := toYAML(value)
		var found oddities
		if found.inspectValue(value); found.unsorted {
			if err == nil {
				t.Errorf("%#v gives %q, want an error since its keys have no order", value, got)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		again, err := toYAML(value)
		if err != nil || got != again {
			t.Errorf("%#v gives %q and then %q, error %v", value, got, again, err)
		}
		if !found.maybeLossy && !found.overflow {
			if want, err := yaml.Marshal(value); err != nil || got+"\n" != string(want) {
				t.Errorf("%#v gives %q, yaml.v3 %q", value, got+"\n", want)
			}
		}
		if bytes.Contains(data, []byte("<<")) {
			return // a key that yaml.v3 writes plain, and reads as a merge
		}
		var back any
		if err := yaml.Unmarshal([]byte(got+"\n"), &back); err != nil {
			t.Fatalf("%#v gives %q: %v", value, got, err)
		}
		if diff := cmp.Diff(normal(value), normal(back)); diff != "" {
			t.Errorf("%q reads back as another value (-want +got):\n%s", got, diff)
		}
	})
}

// normal gives maps one type, by which they can be compared.
func normal(v any) any {
	switch v := v.(type) {
	case []any:
		list := make([]any, len(v))
		for i, e := range v {
			list[i] = normal(e)
		}
		return list
	case map[string]any:
		m := make(map[any]any, len(v))
		for k, e := range v {
			m[k] = normal(e)
		}
		return m
	case map[any]any:
		m := make(map[any]any, len(v))
		for k, e := range v {
			m[k] = normal(e)
		}
		return m
	}
	return v
}

func BenchmarkToYaml(b *testing.B) {
	data := map[string]any{
		"REGION": "north", "PORT": "8080", "HOST": "db.example.com", "REPLICAS": "3", "LOG_LEVEL": "info", "DEBUG": "false",
		"LIMITS": map[any]any{"cpu": "500m", "memory": "1Gi"}, "ZONES": []any{"a", "b", "c"},
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := toYAML(data); err != nil {
			b.Fatal(err)
		}
	}
}
