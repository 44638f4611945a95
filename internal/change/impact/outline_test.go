package impact

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestSeek compares the keys around lines with what reading all lines before them one
// after the other gives.
func TestSeek(t *testing.T) {
	words := []string{
		"a:\n", "b: x\n", "- name: c\n", "- - d: |\n", "-\n", "- # nothing\n", "text\n", "# comment\n", "\n", "---\n", "e: [\n", "'f: g': h\n", "- i\n",
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		var text strings.Builder
		for range random.IntN(30) + 1 {
			word := words[random.IntN(len(words))]
			if word != "---\n" && word != "\n" {
				text.WriteString(strings.Repeat(" ", random.IntN(5)))
			}
			text.WriteString(word)
		}
		var o outline
		o.reset([]byte(text.String()))
		for i := range o.lines {
			if random.IntN(3) > 0 {
				continue
			}
			o.seek(i)
			stack, start := around(o.lines, i)
			if !slices.EqualFunc(o.stack, stack, equalLevels) || o.start != start {
				t.Fatalf("line %d of\n%s\nis in document %d in %s, want document %d and %s", i+1, text.String(), o.start, names(o.stack), start, names(stack))
			}
		}
	}
}

func equalLevels(a, b level) bool { return sameKeys([]level{a}, []level{b}) }

func names(levels []level) string {
	var all []string
	for _, l := range levels {
		all = append(all, string(l.key)+string(l.style))
	}
	return strings.Join(all, "/")
}

// around gives the keys around line i, and the first line of its document.
func around(lines [][]byte, i int) (stack []level, start int) {
	closeTo := func(l line) {
		for len(stack) > 0 && stack[len(stack)-1].depth >= l.levelDepth() {
			stack = stack[:len(stack)-1]
		}
	}
	for at, raw := range lines[:i] {
		if isSeparator(raw) {
			stack, start = nil, at+1
			continue
		}
		l := parseLine(raw)
		if l.blank {
			continue
		}
		closeTo(l)
		for ; l.dash; l = parseText(l.rest, l.indent+l.skip) {
			stack = append(stack, level{l.levelDepth(), itemName(l.rest), nil})
		}
		if l.key != nil {
			stack = append(stack, level{l.levelDepth(), l.key, l.rest[:min(1, len(l.rest))]})
		}
	}
	if l := parseLine(lines[i]); !l.blank {
		closeTo(l)
	}
	return stack, start
}
