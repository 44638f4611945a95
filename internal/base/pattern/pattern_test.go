package pattern_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/pattern"
)

func TestCompile(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`^[a-z]+$`, ""},
		{`(a{1,100}){10}`, ""},
		{`\p{L}{1,100}`, ""},
		{`[`, "error parsing regexp: missing closing ]: `[`"},
		{`(a{1,1000}){1,1000}`, "invalid repeat count"},
		{strings.Repeat("(a{1,1000})", 900), "instructions when its repetitions are written out"},
		{strings.Repeat("(a{1000,})", 900), "instructions when its repetitions are written out"},
		{strings.Repeat("((a|b){1,500}){2}", 20), "instructions when its repetitions are written out"},
		{strings.Repeat("a", 1<<20), "bytes long"},
		{strings.Repeat(`\pL`, 1000), "instructions when its repetitions are written out"},
	} {
		p, err := pattern.Compile(c.text)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%.40s: %v", c.text, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%.40s: %v, want %s", c.text, err, c.want)
		case err == nil && p.String() != c.text:
			t.Errorf("%s was compiled as %s", c.text, p)
		}
	}
}

func TestWork(t *testing.T) {
	for _, c := range []struct {
		text  string
		ahead int
	}{
		{"abc", 12}, {"a|bc", 8}, {"[a-z]+", 4}, {"([^a]*)", 4}, {"a.*b", -1}, {"(a.*b|a)", -1}, {"a{2,3}", 12}, {"a{2,}", -1}, {`\s`, 4},
	} {
		p, err := pattern.Compile(c.text)
		if err != nil {
			t.Fatal(err)
		}
		if p.Lookahead != c.ahead {
			t.Errorf("%s looks %d ahead, want %d", c.text, p.Lookahead, c.ahead)
		}
		if p.EstimateWork(100, 0) < 100 || p.EstimateWork(100, 10) < p.EstimateWork(100, 1) {
			t.Errorf("%s: the work is %d, and %d for 10 matches", c.text, p.EstimateWork(100, 0), p.EstimateWork(100, 10))
		}
	}
}

// FuzzCompile compares with package regexp: what is compiled is the same, and what is refused
// is refused there or large.
func FuzzCompile(f *testing.F) {
	for _, text := range []string{"", "a", "[a-z]+", "(a{1,1000})", "(", `\pL{10}`, "(?i)abc", "a{1,2}{3}"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := pattern.Compile(text)
		if err != nil {
			return
		}
		if _, err := regexp.Compile(text); err != nil {
			t.Errorf("%q is refused by package regexp: %v", text, err)
		}
		if p.Size < 1 || p.Size > pattern.MaxSize || p.Lookahead < -1 {
			t.Errorf("%q: size %d, ahead %d", text, p.Size, p.Lookahead)
		}
	})
}
