package yamldoc_test

import (
	"errors"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
)

func node(t *testing.T, text string) *yaml.Node {
	t.Helper()
	if text == "" {
		return nil
	}
	documents, err := yamldoc.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return yamldoc.RootOf(documents[0])
}

const edited = `# about it
kind: A   # the kind
metadata:
    labels: {app: "x"} # inline
spec:
    # a comment of list
    list:
    - name: one
      value: 1

    - name: two # second
      value: 'it''s'
    text: |
      several

      lines
    none: {}
    empty:
    ü: {ö: ä}

# the end
---
kind: B
`

// TestTextEdit: the lines of the value differ, and no others.
func TestTextEdit(t *testing.T) {
	for _, c := range []struct{ name, path, value, minus, plus string }{
		{"a plain scalar", "kind", "B", "kind: A   # the kind", "kind: B   # the kind"},
		{"a quoted scalar", "spec.list[two].value", "new", "      value: 'it''s'", "      value: 'new'"},
		{"a scalar on the line of a dash", "spec.list[1].name", "three", "    - name: two # second", "    - name: three # second"},
		{"text that looks like a boolean", "spec.list[one].value", `"true"`, "      value: 1", `      value: "true"`},
		{"a scalar in flow style", "metadata.labels.app", "y, z", `    labels: {app: "x"} # inline`, `    labels: {app: "y, z"} # inline`},
		{"a pair in flow style", "metadata.labels[a.b/c]", "y", `    labels: {app: "x"} # inline`, `    labels: {app: "x", a.b/c: y} # inline`},
		{"a scalar after wide characters", "spec.ü.ö", "o", "    ü: {ö: ä}", "    ü: {ö: o}"},
		{"a block of text", "spec.text", "short", "    text: ||      several||      lines", "    text: short"},
		{"nothing", "spec.empty", "full", "    empty:", "    empty: full"},
		{"a pair below nothing", "spec.empty.a.b", "1", "", "      a:|        b: 1"},
		{"a pair", "spec.added", "[1, 2]", "", "    added: [1, 2]"},
		{"a pair of an item", "spec.list[one].other", "{a: b}", "", "      other: {a: b}"},
		{"nested pairs", "metadata.annotations[a/b]", "x", "", "    annotations:|      a/b: x"},
		{"nested pairs in an empty mapping", "spec.none.a.b", "1", "    none: {}", "    none:|      a:|        b: 1"},
		{"a pair in an empty mapping", "spec.none.a", "1", "    none: {}", "    none: {a: 1}"},
		{"removal", "spec.list[one].value", "", "      value: 1", ""},
		{"removal of an item", "spec.list[two]", "", "    - name: two # second|      value: 'it''s'", ""},
		{"removal with its comment", "spec.list", "", "    # a comment of list|    list:|    - name: one|      value: 1||    - name: two # second|      value: 'it''s'", ""},
		{"removal of what would be empty", "metadata.labels.app", "", "metadata:|    labels: {app: \"x\"} # inline", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			path, err := yamldoc.ParsePath(c.path)
			if err != nil {
				t.Fatal(err)
			}
			got, err := yamldoc.TextEdit{Path: path, Value: node(t, c.value)}.Apply([]byte(edited), 0)
			if err != nil {
				t.Fatal(err)
			}
			checkLines(t, string(got), c.minus, c.plus)
		})
	}
}

// checkLines compares the lines that an edit has removed and added; "|" separates them.
func checkLines(t *testing.T, got, minus, plus string) {
	t.Helper()
	was, is := strings.Split(edited, "\n"), strings.Split(got, "\n")
	start := 0
	for start < min(len(was), len(is)) && was[start] == is[start] {
		start++
	}
	end := 0
	for end < min(len(was), len(is))-start && was[len(was)-1-end] == is[len(is)-1-end] {
		end++
	}
	removed, added := strings.Join(was[start:len(was)-end], "|"), strings.Join(is[start:len(is)-end], "|")
	if removed != minus || added != plus {
		t.Errorf("removed %q, added %q; want %q and %q\n%s", removed, added, minus, plus, got)
	}
}

func TestTextEditInsert(t *testing.T) {
	for _, c := range []struct{ name, text, after, value, want string }{
		{"at the end", "l:\n- name: a\n  x: 1\n# end\n", "", "{name: b}", "l:\n- name: a\n  x: 1\n- {name: b}\n# end\n"},
		{"after one", "l:\n  - name: a\n    x: 1\n  - name: c\n", "a", "name: b\nx: [1]\n", "l:\n  - name: a\n    x: 1\n  - name: b\n    x: [1]\n  - name: c\n"},
		{"into an empty list", "l: []\nm: 1\n", "", "name: b", "l:\n  - name: b\nm: 1\n"},
		{"into flow style", "l: [a] # x\n", "", "b", "l: [a, b] # x\n"},
		{"where there is none", "m: 1", "", "b", "m: 1\nl:\n  - b\n"},
		{"with other line ends", "l:\r\n  - a\r\n", "", "b", "l:\r\n  - a\r\n  - b\r\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := yamldoc.TextEdit{Path: yamldoc.Path{"l"}, Insert: true, After: c.after, Value: node(t, c.value)}.Apply([]byte(c.text), 0)
			if err != nil || string(got) != c.want {
				t.Errorf("%q (%v), want %q", got, err, c.want)
			}
		})
	}
}

// TestTextEditRefuses: what cannot be edited in place is refused, and never written in another way.
func TestTextEditRefuses(t *testing.T) {
	for name, c := range map[string]struct{ text, path, value string }{
		"an alias":                       {"a: &x {b: 1}\nc: *x\n", "c.b", "2"},
		"the anchor of another value":    {"a: &x {b: 1}\nc: *x\n", "a.b", "2"},
		"a removed anchor":               {"a: &x 1\nc: *x\n", "a", ""},
		"a mapping on several lines":     {"a: {b: 1,\n c: 2}\n", "a.d", "3"},
		"text on several lines in flow":  {"a: {b: x}\n", "a.b", "|-\n  x\n  y\n"},
		"the first pair of an item":      {"a:\n- b: 1\n  c: 2\n", "a[0].b", ""},
		"everything":                     {"a\n", "", "b"},
		"a pair that differs by its tag": {"a: !x 1\n", "a.b", "1"},
	} {
		t.Run(name, func(t *testing.T) {
			var path yamldoc.Path
			if c.path != "" {
				path, _ = yamldoc.ParsePath(c.path)
			}
			got, err := yamldoc.TextEdit{Path: path, Value: node(t, c.value)}.Apply([]byte(c.text), 0)
			if err == nil {
				t.Errorf("it is %q", got)
			}
			if name == "an alias" && !errors.Is(err, yamldoc.ErrLayout) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

func TestParsePath(t *testing.T) {
	for _, text := range []string{"a", "a.b", "labels[a.b/c]", "items[0].x", "a[b][c.d].e"} {
		p, err := yamldoc.ParsePath(text)
		if err != nil || strings.ReplaceAll(p.String(), ".", "") != strings.NewReplacer("[0]", "0", "[b]", "b", ".", "").Replace(text) {
			t.Errorf("%s is %q (%v)", text, p, err)
		}
	}
	for _, text := range []string{"", ".", "a.", "a..b", ".a", "a[", "a[]", "a[b]c", "[a"} {
		if p, err := yamldoc.ParsePath(text); err == nil {
			t.Errorf("%q is %q", text, p)
		}
	}
}

// FuzzTextEdit: an edit is made exactly, or refused.
func FuzzTextEdit(f *testing.F) {
	f.Add(edited, "spec.list[two].value", "x")
	f.Add("a: {b: [1, \"]\"]}\n", "a.b[0]", "y: z")
	f.Fuzz(func(t *testing.T, text, path, value string) {
		p, err := yamldoc.ParsePath(path)
		if err != nil {
			return
		}
		documents, err := yamldoc.Parse([]byte(value))
		if err != nil || len(documents) != 1 || yamldoc.RootOf(documents[0]) == nil {
			return
		}
		for _, e := range []yamldoc.TextEdit{{Path: p}, {Path: p, Value: yamldoc.RootOf(documents[0])}, {Path: p, Value: yamldoc.RootOf(documents[0]), Insert: true}} {
			_, _ = e.Apply([]byte(text), 0) // it checks itself, and must not panic
		}
	})
}
