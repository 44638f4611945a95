package manifest

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// The usual output must not cost a decode.
func TestQuickAcceptsTheUsual(t *testing.T) {
	for name, text := range usual(t) {
		for _, variant := range []string{text, strings.TrimRight(text, "\n"), "---\n" + text, text + "---\n" + text} {
			if !isSurelyFine([]byte(variant)) {
				t.Errorf("%s goes to the decoder, from line %d on", name, refusedLine(variant))
				break
			}
		}
		if found := inspectText([]byte(text)); found != nil {
			t.Errorf("%s is a bad example: %v", name, found)
		}
	}
	if !isSurelyFine(nil) {
		t.Error("an empty text goes to the decoder")
	}
}

func refusedLine(text string) int {
	lines := strings.SplitAfter(text, "\n")
	for i := range lines {
		if !isSurelyFine([]byte(strings.Join(lines[:i+1], ""))) {
			return i + 1
		}
	}
	return 0
}

// The decoder reads in pieces and has limits on how far it looks ahead.
func TestQuickAcceptsTheLong(t *testing.T) {
	for _, n := range []int{500, 511, 512, 513, 1023, 1025, 1535, 1537, 5000} {
		long := strings.Repeat("x", n)
		for _, text := range []string{
			"a: " + long + "\nb: " + strings.Repeat("é", n) + "\n",
			"a: \"" + long + "\"\nb: '" + long + "'\n",
			"a: [" + long + ", " + long + "]\nb:\n- " + long + "\n",
			"a: |\n  " + long + "\n" + strings.Repeat("\n", n) + "  " + strings.Repeat(" ", n) + "é\nb: 1\n",
			"a:\n  b: 1" + strings.Repeat(" ", n) + "# " + long + "\n  c: 2\n",
			"a:\n  b: 1" + strings.Repeat("\n", n) + "# " + long + strings.Repeat("\n ", n) + "# d\n  c: 2\n",
			strings.Repeat("# c\n", n) + "a: 1\n" + strings.Repeat("  # c\n", n),
			strings.Repeat(" ", n) + "a:\n" + strings.Repeat(" ", n+1) + "b: 1\n",
		} {
			if !holds(t, []byte(text)) {
				t.Errorf("%.20q… with pieces of %d goes to the decoder", text, n)
			}
		}
	}
}

// Most of these have a finding, and the others could have one if they were a
// little different.
var refused = map[string]string{
	"duplicate key":                "a: 1\nb: 2\na: 3\n",
	"duplicate quoted key":         "a: 1\n\"a\": 2\n",
	"duplicate in an item":         "a:\n- b: 1\n  b: 2\n",
	"duplicate in brackets":        "a: {b: 1, 'b': 2}\n",
	"duplicate behind a block":     "a:\n  b:\n    c: 1\n  b: 2\n",
	"long duplicate":               strings.Repeat("abcdefgh", 5) + ": 1\n" + strings.Repeat("abcdefgh", 5) + ": 2\n",
	"Secret":                       secretHead,
	"Secret in quotes":             "kind: \"Secret\"\n",
	"Secret with a comment":        "'kind': Secret # really\n",
	"Secret on the next line":      "kind:\n  Secret\n",
	"Secret as a block":            "kind: |-\n  Secret\n",
	"Secret escaped":               "kind: \"Sec\\x72et\"\n",
	"Secret in brackets":           "{kind: Secret, data: {a: eA==}}\n",
	"List":                         "kind: List\nitems: []\n",
	"kind of two words":            "kind: My List\nitems: []\n",
	"anchor":                       "a: &x 1\n",
	"alias":                        "a: *x\n",
	"tag":                          "a: !!str 1\n",
	"complex key":                  "? a\n: b\n",
	"merge key":                    "<<: {a: 1}\n",
	"directive":                    "%YAML 1.1\n---\na: 1\n",
	"document end":                 "a: 1\n...\n",
	"content behind dots":          "... a: 1\n",
	"content behind dashes":        "--- a: 1\n",
	"vertical tab, in a long text": "a: long value\nb: another \v long value\n",
	"tab as indentation":           "a:\n\tb: 1\n",
	"tab in a value":               "a: b\tc\n",
	"tab that starts a block":      "a: |\n  \tb\n",
	"tab that ends a block":        "a: |\n    b\n  \tc\n",
	"CR LF":                        "a: 1\r\nb: 2\r\n",
	"control character":            "a: \x01\n",
	"delete":                       "a: a long value \x7f\n",
	"byte order mark":              "\uFEFFa: 1\n",
	"line separator":               "a: b\u2028c\n",
	"next line":                    "a: b\u0085c\n",
	"not UTF-8":                    "a: \xff\n",
	"not UTF-8, in a long text":    "a: long value\nb: another long value\xff\n",
	"surrogate":                    "a: \xed\xa0\x80\n",
	"plain over lines":             "a: b\n  c\n",
	"quotes over lines":            "a: \"b\n  c\"\n",
	"brackets over lines":          "a: [b,\n  c]\n",
	"unknown escape":               "a: \"\\d\"\n",
	"text behind quotes":           "a: \"b\" c\n",
	"comment right after quotes":   "a: \"b\"#c\n",
	"colon in a plain value":       "a: b: c\n",
	"colon at the end":             "a: b:\n",
	"deeper than its value":        "a: 1\n  b: 2\n",
	"between two levels":           "a:\n    b: 1\n  c: 2\n",
	"less than the root":           "  a: 1\nb: 2\n",
	"key after sequence":           "- a\nb: 1\n",
	"sequence after key":           "a: 1\n- b\n",
	"sequence on the key's line":   "a: - b\n",
	"second root":                  "a: 1\n---\n- b\n---\nc\n",
	"scalar alone":                 "a\n",
	"wide blank before block":      "a: |\n     \n  b\n",
	"narrow end of block":          "a:\n  b: |\n      c\n    d\n",
	"indicator with digit":         "a: |2\n    b\n",
	"indicator in a plain value":   "a: @b\n",
	"long key":                     strings.Repeat("k", 2000) + ": 1\n",
	"deep":                         strings.Repeat("- ", 100) + "a\n",
	"deep brackets":                "a: " + strings.Repeat("[", 100) + strings.Repeat("]", 100) + "\n",
	"empty item in brackets":       "a: [b,,c]\n",
	"open brackets":                "a: [b, c\n",
}

func TestQuickRefuses(t *testing.T) {
	for name, text := range refused {
		if isSurelyFine([]byte(text)) {
			t.Errorf("%s: %q is accepted", name, text)
		}
	}
}

func TestCheckAllocatesNothing(t *testing.T) {
	for name, text := range usual(t) {
		b := []byte(text)
		if n := testing.AllocsPerRun(10, func() { Check(b) }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// holds is the promise of the small reader for one text.
func holds(t *testing.T, text []byte) (accepted bool) {
	t.Helper()
	if !isSurelyFine(text) {
		return false
	}
	if found := inspectText(text); found != nil {
		t.Fatalf("accepted %q, in which the decoder finds %v", text, found)
	}
	return true
}

// tokens are what YAML is made of, and what makes trouble in it.
var tokens = []string{
	"\n", "\n", "\n  ", "\n    ", "\n ", " ", "  ", "- ", "\n- ", "\n  - ", "-", "a", "b", "b: ", "a:", ":", ": ", "a: x\n", "\na:",
	"\n  b:", "\n    c: y", "kind: ", "kind: List", "Secret", "items:", "|", "|-\n", ">", " |\n  ", " >+\n\n    t", "#", " # c", "\n# d", "\n   #e", "\"", "'", "\"q\"", "'r'",
	"\"q\": ", "\\", "[", "]", "[]", "{}", "{", "}", ", ", ",", "{a: b}", "[x, \"y\"]", "\n---\n", "---", " ---", "...", "?", "? ", "&", "*",
	"!", "%", "@", "\t", "é", "\u00a0", "\u0085", "\u2028", "\xff", "\x7f", "a fairly long piece", "~", "1", "-1", "$", "<<: ", "=", ".", "/", "\n\n", "\n \n", "\n      \n",
}

// Random sequences of tokens reach states that the fuzzer's bytes do not. The
// seeds are fixed, so that the tests are the same everywhere.
func TestQuickHoldsForRandomTokens(t *testing.T) {
	holdsForRandom(t, 60_000, 12, func(r *rand.Rand) string { return tokens[r.IntN(len(tokens))] })
}

// lines are whole ones, so that most mistakes are in how they are indented.
var lines = []string{
	"a:", "a: x", "b:", "b: x y # c", "c: \"q\"", "d: 'r' # s", "kind: x", "\"e\":", "f: []", "g: {h: 1}", "- x", "- y # z", "-", "- a: x", "- b:", "-   c: x", "- - x", "- - a: x",
	"- |", "- >-", "i: |", "j: >", "k: |+", "l: |-", "# c", "#", "", " ", "text", "text: more", "'text'", "[x]", "{}", "---", "--- # c", "m: # c", "n: x#y", "o: :8080", "p: -1", "? x", "q: x:",
}

func TestQuickHoldsForRandomLines(t *testing.T) {
	holdsForRandom(t, 60_000, 9, func(r *rand.Rand) string {
		return strings.Repeat(" ", r.IntN(4)*r.IntN(3)) + lines[r.IntN(len(lines))] + "\n"
	})
}

// holdsForRandom tries texts of random pieces.
func holdsForRandom(t *testing.T, count, most int, piece func(*rand.Rand) string) {
	if testing.Short() {
		count /= 10
	}
	r := rand.New(rand.NewPCG(1, 2))
	accepted := 0
	var text []byte
	for range count {
		text = text[:0]
		for range 1 + r.IntN(most) {
			text = append(text, piece(r)...)
		}
		if holds(t, text) {
			accepted++
		}
	}
	if accepted < count/100 {
		t.Errorf("only %d of %d texts were accepted, which shows nothing", accepted, count)
	}
}

// Texts that differ from usual ones in one or two places come closest to what
// a template with a mistake renders.
func TestQuickHoldsForMistakes(t *testing.T) {
	rounds := 300
	if testing.Short() {
		rounds = 20
	}
	r := rand.New(rand.NewPCG(3, 4))
	for _, text := range usual(t) {
		for range rounds {
			changed := text
			for range 1 + r.IntN(2) {
				changed = mistake(r, changed)
			}
			holds(t, []byte(changed))
		}
	}
}

// mistake drops, repeats or moves a piece of text, or puts a token into it.
func mistake(r *rand.Rand, text string) string {
	from := r.IntN(len(text))
	to := min(len(text), from+1+r.IntN(12))
	switch r.IntN(4) {
	case 0:
		return text[:from] + text[to:]
	case 1:
		return text[:to] + text[from:]
	case 2:
		place := r.IntN(len(text))
		return text[:place] + text[from:to] + text[place:]
	default:
		return text[:from] + tokens[r.IntN(len(tokens))] + text[from:]
	}
}

func FuzzQuick(f *testing.F) {
	for _, text := range usual(f) {
		f.Add([]byte(text))
	}
	for _, text := range refused {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) { holds(t, text) })
}

func FuzzCheck(f *testing.F) {
	for _, text := range usual(f) {
		f.Add([]byte(text))
	}
	for _, text := range refused {
		f.Add([]byte(text))
	}
	f.Add([]byte(bomb(40)))
	f.Fuzz(func(t *testing.T, text []byte) {
		lines := 1
		for _, c := range string(text) {
			if strings.ContainsRune("\n\r\u0085\u2028\u2029", c) {
				lines++
			}
		}
		for _, finding := range Check(text) {
			if finding.Line < 1 || finding.Line > lines || finding.Summary == "" || finding.Hint == "" {
				t.Errorf("finding %+v in a text of %d lines", finding, lines)
			}
		}
		if _, err := Decode(text); err != nil && Check(text) == nil {
			t.Errorf("Decode fails with %v where Check finds nothing", err)
		}
	})
}

// bulk is a text of the size that a fleet has most of.
func bulk(b *testing.B) []byte {
	text := usual(b)["flux.yaml"]
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	return []byte(text)
}

func BenchmarkQuick(b *testing.B) {
	text := bulk(b)
	for b.Loop() {
		if !isSurelyFine(text) {
			b.Fatal("not accepted")
		}
	}
}

func BenchmarkSlow(b *testing.B) {
	text := bulk(b)
	for b.Loop() {
		if inspectText(text) != nil {
			b.Fatal("not fine")
		}
	}
}
