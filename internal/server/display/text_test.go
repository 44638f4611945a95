package display

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/base/problem"
)

// TestHarmless: what people wrote in files does not move the cursor, and does not
// change a colour.
func TestHarmless(t *testing.T) {
	for text, want := range map[string]struct{ visible, lines string }{
		"a\tb\nc":        {"a b c", "a\tb\nc"},
		"a\x1b[31mb":     {"a\ufffd[31mb", "a\ufffd[31mb"},
		"a\rb\u202ec":    {"a\ufffdb\ufffdc", "a\ufffdb\ufffdc"},
		"Grüße, 東京":      {"Grüße, 東京", "Grüße, 東京"},
		"broken \xff ok": {"broken \ufffd ok", "broken \ufffd ok"},
	} {
		if got := SanitizeLine(text); got != want.visible {
			t.Errorf("Visible(%q) is %q, want %q", text, got, want.visible)
		}
		if got := SanitizeLines(text); got != want.lines {
			t.Errorf("Lines(%q) is %q, want %q", text, got, want.lines)
		}
	}
}

// TestProblems: a hint that several in a row share is given once.
func TestProblems(t *testing.T) {
	var l problem.List
	l.Addf(problem.Pos{Layer: "base", File: "a.yaml", Line: 3}, "ClusterType/large", "mend it", "it is broken")
	l.Addf(problem.Pos{}, "", "mend it", "it is broken too")
	l.Warnf(problem.Pos{}, "", "", "it is\nodd")
	want := "error: base/a.yaml:3: ClusterType/large: it is broken\nerror: it is broken too\n  hint: mend it\nwarning: it is odd\n"
	if diff := cmp.Diff(want, FormatProblems(l, NewStream(&bytes.Buffer{}))); diff != "" {
		t.Error(diff)
	}
}

func TestWords(t *testing.T) {
	got := []string{
		CountProblems(0, 0), CountProblems(1, 0), CountProblems(0, 2), CountProblems(2, 1),
	}
	want := []string{"no problems", "1 problem", "2 warnings", "2 problems and 1 warning"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestEncodings: JSON and YAML have the same fields, in the same order.
func TestEncodings(t *testing.T) {
	value := struct {
		Name string   `json:"name"`
		List []string `json:"list"`
		None string   `json:"none,omitempty"`
	}{"<a> & b", []string{"1", "x"}, ""}
	asJSON, err := EncodeJSON(value)
	if err != nil {
		t.Fatal(err)
	}
	asYAML, err := EncodeYAML(value)
	if err != nil {
		t.Fatal(err)
	}
	want := "{\n  \"name\": \"<a> & b\",\n  \"list\": [\n    \"1\",\n    \"x\"\n  ]\n}\n" + "name: <a> & b\nlist:\n  - \"1\"\n  - x\n"
	if diff := cmp.Diff(want, string(asJSON)+string(asYAML)); diff != "" {
		t.Error(diff)
	}
}

// TestFoldFollowUps: beside errors only the first warnings are shown, and the others counted; alone
// they are all shown.
func TestFoldFollowUps(t *testing.T) {
	for _, c := range []struct {
		errors, warnings, shown int
		folded                  string
	}{
		{0, 9, 9, ""},
		{1, 5, 6, ""},
		{2, 6, 7, "warning: 1 more warning, which may follow from the errors above: fix those first\n"},
		{1, 15, 6, "warning: 10 more warnings, which may follow from the errors above: fix those first\n"},
	} {
		var l problem.List
		for i := range max(c.errors, c.warnings) {
			if i < c.warnings {
				l.Warnf(problem.Pos{File: "a.yaml", Line: i + 1}, "", "", "it selects nothing")
			}
			if i < c.errors {
				l.Addf(problem.Pos{File: "b.yaml", Line: i + 1}, "", "", "it is not YAML")
			}
		}
		shown, folded := FoldFollowUps(l.Sorted(), func(p problem.Problem) bool { return p.Warning }, "", NewStream(&bytes.Buffer{}))
		if stops, _ := shown.Count(); stops != c.errors || len(shown) != c.shown || folded != c.folded {
			t.Errorf("of %d errors and %d warnings it shows %d, and %q", c.errors, c.warnings, len(shown), folded)
		}
	}
}
