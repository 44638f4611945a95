package templatefunc

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// unlimited is a meter with steps for everything.
func unlimited() *Meter { return &Meter{left: 1 << 40} }

// large is data near the limits of functions.
func large() map[string]any {
	words, list, mapped := make([]string, 9_999), make([]any, 9_999), map[string]any{}
	for i := range words {
		words[i] = fmt.Sprintf("word %d", i*7919%9_999)
		list[i] = words[i]
		if i < 5000 {
			mapped[words[i]] = words[i]
		}
	}
	text := strings.Repeat("abcd EFGH", 100_000)
	return map[string]any{
		"T": text, "L": list, "M": mapped, "W": words, "Short": "abc", "B": strings.Repeat("YWJj", 200_000), "B32": strings.Repeat("ME======", 10_000)[:8] + "",
		"B32L": strings.Repeat("MFRGGZDF", 100_000), "Version": "1.2.3-" + strings.Repeat("a", 900_000), "Bomb": strings.Repeat("(a{1,1000})", 900), "URL": "http://h/" + strings.Repeat("a", 900_000),
		"Lines": strings.Repeat("a\n", 100_000), "Commas": strings.Repeat("a,", 4_000), "Names": map[string]any{"a": text},
	}
}

// heavyCalls has a call of each function with much to read or to write, and the least that it
// must cost in steps. A function without a row does work that does not depend on its
// arguments: see lightCalls.
var heavyCalls = []struct {
	function, call string
	least          int
}{
	{"abbrev", `abbrev 900000 .T`, 10_000}, {"abbrevboth", `abbrevboth 5 800000 .T`, 10_000}, {"adler32sum", `adler32sum .T`, 10_000},
	{"append", `append .L 1`, 1000}, {"push", `push .L 1`, 1000}, {"prepend", `prepend .L 1`, 1000}, {"atoi", `atoi .T`, 10_000},
	{"b32dec", `b32dec .B32L`, 10_000}, {"b32enc", `b32enc (trunc 500000 .T)`, 10_000}, {"b64dec", `b64dec .B`, 10_000}, {"b64enc", `b64enc (trunc 500000 .T)`, 10_000},
	{"base", `base .T`, 10_000}, {"dir", `dir .T`, 10_000}, {"clean", `clean .T`, 10_000}, {"ext", `ext .T`, 10_000}, {"isAbs", `isAbs .T`, 10_000},
	{"camelcase", `camelcase .T`, 50_000}, {"kebabcase", `kebabcase (trunc 500000 .T)`, 50_000}, {"snakecase", `snakecase (trunc 500000 .T)`, 50_000}, {"swapcase", `swapcase .T`, 50_000},
	{"cat", `cat .T`, 50_000}, {"compact", `compact .L`, 1000}, {"concat", `concat .L`, 10_000}, {"contains", `contains "x" .T`, 10_000},
	{"decryptAES", `decryptAES "k" .B`, 10_000}, {"deepCopy", `deepCopy .M`, 10_000}, {"deepEqual", `deepEqual .L .L`, 4000},
	{"dict", `dict "a" .T`, 10_000}, {"list", `list .T`, 10_000}, {"tuple", `tuple .T`, 10_000}, {"fail", `fail .T`, 10_000},
	{"has", `has "x" .L`, 1000}, {"hasPrefix", `hasPrefix .T .T`, 10_000}, {"hasSuffix", `hasSuffix .T .T`, 10_000}, {"hasKey", `hasKey .M .T`, 10_000},
	{"hash", `hash .M`, 10_000}, {"html", `html .T`, 50_000}, {"js", `js .T`, 50_000}, {"urlquery", `urlquery .T`, 50_000},
	{"indent", `indent 1 .T`, 10_000}, {"nindent", `nindent 1 .T`, 10_000}, {"initial", `initial .L`, 1000}, {"rest", `rest .L`, 1000}, {"reverse", `reverse .L`, 1000}, {"slice", `slice .L 1 5`, 1000},
	{"first", `first .L`, 1000}, {"last", `last .L`, 1000}, {"initials", `initials .T`, 50_000}, {"join", `join "," .L`, 1000}, {"keys", `keys .M`, 10_000}, {"values", `values .M`, 10_000},
	{"lower", `lower .T`, 10_000}, {"upper", `upper .T`, 10_000}, {"title", `title .T`, 50_000}, {"untitle", `untitle .T`, 50_000}, {"nospace", `nospace .T`, 50_000},
	{"merge", `merge (dict) .M`, 50_000}, {"mergeOverwrite", `mergeOverwrite (dict) .M`, 50_000}, {"omit", `omit .M "x"`, 10_000}, {"pick", `pick .M "word 1"`, 10_000}, {"pluck", `pluck "word 1" .M`, 1000},
	{"plural", `plural .T .T 1`, 10_000}, {"print", `print .T`, 50_000}, {"printf", `printf "%s" .T`, 50_000}, {"println", `println .T`, 50_000}, {"quote", `quote .T`, 50_000}, {"squote", `squote .T`, 10_000},
	{"regexFind", `regexFind "(x|y)z" .T`, 50_000}, {"regexFindAll", `regexFindAll "[x-z]" .T -1`, 10_000}, {"regexMatch", `regexMatch "(x|y)z" .T`, 50_000},
	{"regexReplaceAll", `regexReplaceAll "[x-z]" .T ""`, 10_000}, {"regexReplaceAllLiteral", `regexReplaceAllLiteral "[x-z]" .T ""`, 10_000}, {"regexSplit", `regexSplit "[x-z]" .T -1`, 10_000},
	{"repeat", `repeat 900000 "a"`, 10_000}, {"replace", `replace "x" "y" .T`, 10_000}, {"semver", `semver .Version`, 100_000}, {"semverCompare", `semverCompare "1.2.3" .Version`, 100_000},
	{"set", `set .M "x" 1`, 2000}, {"unset", `unset .M "x"`, 1000}, {"sha1sum", `sha1sum .T`, 20_000}, {"sha256sum", `sha256sum .T`, 20_000}, {"sortAlpha", `sortAlpha .L`, 100_000},
	{"split", `split "," .Commas`, 400}, {"splitList", `splitList "," .Commas`, 400}, {"splitn", `splitn "," 5 .T`, 50_000}, {"stringify", `stringify .M`, 50_000}, {"substr", `substr 1 800000 .T`, 10_000},
	{"toDecimal", `toDecimal .T`, 10_000}, {"toEnv", `toEnv .Names`, 100_000}, {"toJson", `toJson .M`, 10_000}, {"toPrettyJson", `toPrettyJson .M`, 10_000}, {"toString", `toString .T`, 50_000}, {"toStrings", `toStrings .L`, 10_000},
	{"toTfvars", `toTfvars .Names`, 400_000}, {"toYaml", `toYaml .M`, 50_000}, {"trim", `trim .T`, 10_000}, {"trimAll", `trimAll .T .T`, 1 << 30}, {"trimall", `trimall .T .T`, 1 << 30}, {"trimPrefix", `trimPrefix .T .T`, 10_000}, {"trimSuffix", `trimSuffix .T .T`, 10_000},
	{"trunc", `trunc 800000 .T`, 10_000}, {"typeIs", `typeIs .T 1`, 10_000}, {"typeIsLike", `typeIsLike .T 1`, 10_000}, {"kindIs", `kindIs .T 1`, 10_000}, {"uniq", `uniq .L`, 90_000_000}, {"without", `without .L "a" "b"`, 19_000}, {"unquote", `unquote .T`, 10_000},
	{"until", `until 9999`, 1000}, {"untilStep", `untilStep 0 9999 1`, 1000}, {"urlJoin", `urlJoin (dict "host" .T)`, 50_000}, {"urlParse", `urlParse .URL`, 50_000},
	{"wrap", `wrap 10 .T`, 50_000}, {"wrapWith", `wrapWith 10 "" .T`, 50_000},
	{"int", `int .T`, 10_000}, {"int64", `int64 .T`, 10_000}, {"float64", `float64 .T`, 10_000},
}

// lightCalls do the same work whatever they are given, but are counted all the same.
var lightCalls = []string{
	"add", "add1", "biggest", "ceil", "coalesce", "default", "div", "empty", "floor", "hello", "kindOf", "max", "min", "mod", "mul", "round", "sub", "ternary", "typeOf",
}

// TestEveryFunctionIsMetered calls each function in a loop of 10,000 over large data: it must
// be stopped for the steps that it takes, long before the loop ends, and the count must be
// the same each time.
func TestEveryFunctionIsMetered(t *testing.T) {
	listed := slices.Clone(lightCalls)
	for _, c := range heavyCalls {
		listed = append(listed, c.function)
		t.Run(c.function, func(t *testing.T) {
			const budget = 1 << 42
			counts := map[int]bool{}
			for range 2 {
				m := &Meter{left: budget}
				if c.least < 1<<20 { // others are only asked what they would cost
					_, err := expand(Map(m), "{{ "+c.call+" }}", large())
					if errors.Is(err, ErrSteps) {
						t.Fatal(err)
					}
				} else {
					m.left = c.least - 1
					if _, err := expand(Map(m), "{{ "+c.call+" }}", large()); !errors.Is(err, ErrSteps) {
						t.Fatalf("it costs less than %d steps: %v", c.least, err)
					}
					return
				}
				counts[budget-m.left] = true
				if budget-m.left < c.least {
					t.Errorf("%s costs %d steps, want %d at least", c.call, budget-m.left, c.least)
				}
			}
			if len(counts) != 1 {
				t.Errorf("%s does not cost the same each time: %v", c.call, slices.Sorted(maps.Keys(counts)))
			}
			m := &Meter{left: 1 << 20}
			if _, err := expand(Map(m), "{{ range until 9999 }}{{ $x := "+c.call+" }}{{ end }}", large()); c.function != "fail" && c.least*9999 > 1<<20 && !errors.Is(err, ErrSteps) && err == nil {
				t.Errorf("a loop over %s ends with %v", c.call, err)
			}
		})
	}
	slices.Sort(listed)
	if names := Names(); !slices.Equal(listed, names) {
		t.Errorf("the rows are of\n%v\nand the functions\n%v", listed, names)
	}
}

// TestLargeExpressions gives each function of regular expressions one that is too large, and
// one whose matches are looked for again and again.
func TestLargeExpressions(t *testing.T) {
	for _, call := range []string{
		`regexFind .Bomb .T`, `regexFindAll .Bomb .T -1`, `regexMatch .Bomb .T`, `regexReplaceAll .Bomb .T ""`, `regexReplaceAllLiteral .Bomb .T ""`, `regexSplit .Bomb .T -1`,
	} {
		if _, err := expand(Map(unlimited()), "{{ "+call+" }}", large()); err == nil || !strings.Contains(err.Error(), "too large") {
			t.Errorf("%s: %v", call, err)
		}
	}
	for _, call := range []string{`regexFindAll "(a.*#|a)" .Lines -1`, `regexReplaceAll "(?s)(a.*#|a)" .Lines ""`, `regexSplit "(?s)(a.*#|a)" .Lines -1`} {
		m := &Meter{left: 1 << 20}
		if _, err := expand(Map(m), "{{ "+call+" }}", large()); !errors.Is(err, ErrSteps) {
			t.Errorf("%s: %v", call, err)
		}
	}
}

// TestCanceled asks every now and then whether the result is still wanted.
func TestCanceled(t *testing.T) {
	m, asked := &Meter{}, 0
	m.Reset(1<<20, func() bool { asked++; return asked > 3 })
	_, err := expand(Map(m), "{{ range until 9999 }}{{ $x := add 1 2 }}{{ end }}", nil)
	if !errors.Is(err, ErrCanceled) || asked != 4 {
		t.Errorf("asked %d times: %v", asked, err)
	}
}
