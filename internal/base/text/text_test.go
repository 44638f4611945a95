package text_test

import (
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/text"
)

func TestCount(t *testing.T) {
	for n, want := range []string{"0 files", "1 file", "2 files"} {
		if got := text.Count(n, "file"); got != want {
			t.Errorf("Count(%d) is %q, want %q", n, got, want)
		}
	}
}

func TestOneLine(t *testing.T) {
	for given, want := range map[string]string{"a\x1b[31mb\u202ec\x00": "a [31mb c", "": "", " \n": "", "one": "one", "yaml: line 3:\n\tbad  indent ": "yaml: line 3: bad indent"} {
		if got := text.OneLine(given); got != want {
			t.Errorf("OneLine(%q) is %q, want %q", given, got, want)
		}
	}
}

func TestShorten(t *testing.T) {
	for _, c := range []struct {
		text  string
		limit int
		want  string
	}{
		{"", 0, ""}, {"four", 4, "four"}, {"fives", 4, "five…"}, {"né", 2, "n…"}, {"né", 3, "né"},
	} {
		if got := text.Shorten(c.text, c.limit); got != c.want {
			t.Errorf("Shorten(%q, %d) = %q, want %q", c.text, c.limit, got, c.want)
		}
	}
}

func TestQuoteShell(t *testing.T) {
	for given, want := range map[string]string{"": "''", "a/b.c": "a/b.c", "it's a b": `'it'\''s a b'`, "a;b": "'a;b'"} {
		if got := text.QuoteShell(given); got != want {
			t.Errorf("QuoteShell(%q) = %s, want %s", given, got, want)
		}
	}
}

func TestJoin(t *testing.T) {
	for want, words := range map[string][]string{
		"": nil, "a": {"a"}, "a and b": {"a", "b"}, "a, b and c": {"a", "b", "c"},
	} {
		if got := text.Join(words, " and "); got != want {
			t.Errorf("Join(%q) = %q, want %q", words, got, want)
		}
	}
}

func TestLimit(t *testing.T) {
	for limit, want := range map[int]string{0: "…", 1: "…", 3: "äö…", 4: "äöü!", 5: "äöü!"} {
		if got := text.Limit("äöü!", limit); got != want {
			t.Errorf("Limit(%d) is %q, want %q", limit, got, want)
		}
	}
}

func TestLongestBackticks(t *testing.T) {
	for given, want := range map[string]int{"": 0, "none": 0, "`a`": 1, "a``b`": 2, "`a```": 3} {
		if got := text.LongestBackticks(given); got != want {
			t.Errorf("LongestBackticks(%q) is %d, want %d", given, got, want)
		}
	}
}

func TestCleanLine(t *testing.T) {
	long := strings.Repeat("aB3", 12)
	for given, want := range map[string]string{
		"two\n  lines\tand \x1b[31mred\x00":                                   "two lines and [31mred",
		"login with password=hunter2 failed":                                  "login with password=*** failed",
		`{"token": "abc def", "name": "x"}`:                                   `{"token": ***, "name": "x"}`,
		"DB_PASSWORD: hunter2, user: x":                                       "DB_PASSWORD: ***, user: x",
		"cannot clone https://user:hunter2@git.example.com/x":                 "cannot clone https://***@git.example.com/x",
		"cannot clone https://" + long + "@git.example.com/x":                 "cannot clone https://***@git.example.com/x",
		"cannot clone https://user:p@ss@git.example.com/x":                    "cannot clone https://***@git.example.com/x",
		"cannot clone ssh://git@git.example.com/x":                            "cannot clone ssh://git@git.example.com/x",
		"get https://x.example.com/a?access_token=abc&b=1 failed":             "get https://x.example.com/a?access_token=***&b=1 failed",
		"get https://x.example.com/a?X-Amz-Signature=abc&b=1":                 "get https://x.example.com/a?X-Amz-Signature=***&b=1",
		"Authorization: Bearer " + long + " was refused":                      "Authorization: Bearer *** was refused",
		"push with ghp_" + long + " and glpat-" + long:                        "push with *** and ***",
		"a key eyJhbGciOiJI.eyJzdWIiOiIx." + long + " is bad":                 "a key *** is bad",
		"the secret web/api is missing, and https://x.example.com/a@b is not": "the secret web/api is missing, and https://x.example.com/a@b is not",
		"basic authentication failed for ghost_writer":                        "basic authentication failed for ghost_writer",
	} {
		got := text.CleanLine(given)
		if got != want {
			t.Errorf("CleanLine(%q) is %q, want %q", given, got, want)
		}
	}
}
