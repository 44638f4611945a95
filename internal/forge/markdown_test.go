package forge

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestFit(t *testing.T) {
	const more = "\n0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789"
	for name, test := range map[string]struct {
		body string
		keep string // the limit is this and what it takes to end it
		end  string
	}{
		"text":                      {"a\nb" + more, "a\nb", ""},
		"half of a line":            {"a\nb" + more, "a\nb\n0123", "-"},
		"block of code":             {"a\n```diff\n+ a" + more + "\n```\nb", "a\n```diff\n+ a", "\n```"},
		"long fence":                {"````\n```\na" + more + "\n````", "````\n```\na", "\n````"},
		"tildes":                    {"~~~ a`b\n```" + more + "\n~~~", "~~~ a`b\n```", "\n~~~"},
		"fence that is closed":      {"```\na\n```\nb" + more, "```\na\n```\nb", ""},
		"fence in code":             {"    ```\nb" + more, "    ```\nb", ""},
		"no fence":                  {"```a``` b\nb" + more, "```a``` b\nb", ""},
		"details":                   {"<details><summary>a</summary>\n\nb" + more + "\n</details>", "<details><summary>a</summary>\n\nb", "\n\n</details>"},
		"details in details":        {"<details>\n<DETAILS open>\nb" + more, "<details>\n<DETAILS open>\nb", "\n\n</details>\n</details>"},
		"summary":                   {"<details>\n<summary>\nb" + more, "<details>\n<summary>\nb", "\n\n</summary>\n</details>"},
		"details that are closed":   {"<details>\na\n</details>\nb" + more, "<details>\na\n</details>\nb", ""},
		"code in details":           {"<details>\n\n```\na" + more + "\n```\n</details>", "<details>\n\n```\na", "\n```\n\n</details>"},
		"no code in HTML":           {"<details>\n```\na" + more, "<details>\n```\na", "\n\n</details>"},
		"details in code":           {"```\n<details>\n```\nb" + more, "```\n<details>\n```\nb", ""},
		"details in a line's code":  {"a `<details>` ``b ` <details>``\nb" + more, "a `<details>` ``b ` <details>``\nb", ""},
		"details that are text":     {`a \<details> &lt;details>` + "\nb" + more, `a \<details> &lt;details>` + "\nb", ""},
		"backtick that is alone":    {"a ` <details>\nb" + more, "a ` <details>\nb", "\n\n</details>"},
		"hidden comment":            {"<!-- a\n<details>" + more, "<!-- a\n<details>", "\n-->"},
		"hidden comment that ended": {"<!-- a --><details><!-- b\n``` -->\nb" + more, "<!-- a --><details><!-- b\n``` -->\nb", "\n\n</details>"},
		"carriage returns":          {"a\r\n```\r\nb\r\n" + more, "a\r\n```\r\nb", "\n```"},
		"empty lines":               {"a\n\n\n\n" + more, "a\n\n\n", "-"},
	} {
		t.Run(name, func(t *testing.T) {
			if test.end == "-" {
				short := strings.TrimRight(strings.TrimSuffix(test.keep, "\n0123"), "\n")
				got := FitMarkdown(test.body, utf8.RuneCountInString(test.keep+"\n\n"+cutNote))
				if diff := cmp.Diff(short+"\n\n"+cutNote, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				return
			}
			want := test.keep + test.end + "\n\n" + cutNote
			got := FitMarkdown(test.body, utf8.RuneCountInString(want)+2)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestFitLongLines has lines that are longer than all.
func TestFitLongLines(t *testing.T) {
	for body, want := range map[string]string{
		strings.Repeat("ü", 2000):           strings.Repeat("ü", 942) + "…\n\n" + cutNote,
		"```\n" + strings.Repeat("<", 2000): "```\n" + strings.Repeat("<", 934) + "…\n```\n\n" + cutNote,
		"a\n\n" + strings.Repeat("b", 700) + "<details>" + strings.Repeat("c", 2000): "a\n\n" + strings.Repeat("b", 700) + "…\n\n" + cutNote,
		"a\n" + "~~~" + strings.Repeat("b", 2000):                                    "a\n\n" + cutNote,
	} {
		if diff := cmp.Diff(want, FitMarkdown(body, 1000)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// TestFitAlways has every limit: what is given fits, nothing stays open, and what
// fits is not touched.
func TestFitAlways(t *testing.T) {
	body := "# ü\n\n<details><summary>a `b` c</summary>\n\n```diff\n- a\n+ <details>\n```\n\n| a | b |\n|---|---|\n| c | d |\n\n" +
		"~~~~\n~~~\n" + strings.Repeat("x ", 600) + "\n~~~~\n<!-- hidden\n</details> -->\n\n</details>\n\n" + strings.Repeat("end ", 300) + "<b>"
	whole := utf8.RuneCountInString(body)
	for limit := range whole + 2 {
		got := FitMarkdown(body, limit)
		if n := utf8.RuneCountInString(got); n > limit {
			t.Fatalf("%d characters for the limit %d", n, limit)
		}
		if (got == body) != (limit >= whole) {
			t.Errorf("limit %d of %d: whole is %t", limit, whole, got == body)
		}
		if limit > 100 && limit < whole && !strings.HasSuffix(got, "\n\n"+cutNote) {
			t.Errorf("limit %d: it does not say that it was cut: %q", limit, got)
		}
		var open nesting
		for line := range strings.Lines(got) {
			open = open.afterLine(line)
		}
		if limit > 100 && (open.fence != "" || open.hidden || len(open.tags) > 0) {
			t.Errorf("limit %d: %+v is open after\n%s", limit, open, got)
		}
	}
}

func TestWriteComment(t *testing.T) {
	text, err := FormatComment("preview", " a\r\nb \n", 65536)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("a\nb\n\n<!-- fairlead-comment: preview -->", text); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	long, err := FormatComment("preview", strings.Repeat("```\nü\n", 10_000), 1000)
	if err != nil || utf8.RuneCountInString(long) > 1000 || !strings.HasSuffix(long, cutNote+"\n\n<!-- fairlead-comment: preview -->") {
		t.Errorf("got %d characters, %v", utf8.RuneCountInString(long), err)
	}
	for text, want := range map[string]bool{
		text: true, strings.ReplaceAll(text, "\n", "\r\n") + "\r\n": true, "<!-- fairlead-comment: preview -->": true,
		text + "\nLGTM": false, "> " + commentLine("preview"): false, strings.Replace(text, "preview", "other", 1): false, "": false,
	} {
		if got := IsComment(text, "preview"); got != want {
			t.Errorf("%q is a comment with the mark: %t", text, got)
		}
	}
	for _, mark := range []string{"", " a", "a\nb", "a --> b"} {
		if _, err := FormatComment(mark, "x", 100); err == nil {
			t.Errorf("%q is a mark", mark)
		}
	}
	if !SameComment("a\r\nb\n", "a\nb") || SameComment("a", "b") {
		t.Error("what is the same is not, or the other way round")
	}
}
