package impact

import (
	"bytes"
	"math"
	"slices"
)

// outline tracks the open keys of YAML by indentation. It is not a parser: it only
// tells locations apart. format.hasTellingLines finds text that would mislead it.
type outline struct {
	lines [][]byte
	at    int
	start int // the first line of the current document
	stack []level
	below []level // while seeking: the levels opened by lines below, the last first
	ident identity
	known bool
}

// level is an open key or item. Depths of items lie between those of keys, since a list
// may be indented like its key.
type level struct {
	depth int
	key   []byte
	style []byte // the start of the value, on the same line
}

func (l level) isItem() bool { return l.depth%2 == 1 }

type identity struct{ apiVersion, kind, namespace, name []byte }

func (o *outline) reset(text []byte) {
	*o = outline{lines: splitLines(o.lines[:0], text), stack: o.stack[:0], below: o.below[:0]}
}

// seek advances to line i. It reads backwards, because most lines are deeper than a
// line below them and need no parsing.
func (o *outline) seek(i int) {
	limit := math.MaxInt // levels from this depth on are closed again above line i
	if l := parseLine(o.lines[i]); !l.blank {
		limit = l.levelDepth()
	}
	o.below = o.below[:0]
	for k := i - 1; k >= o.at; k-- {
		raw := o.lines[k]
		if isSeparator(raw) {
			o.start, o.known, o.stack = k+1, false, o.stack[:0]
			break
		}
		if 2*indentOf(raw) >= limit {
			continue
		}
		if l := parseLine(raw); !l.blank {
			o.openBelow(l, limit)
			limit = min(limit, l.levelDepth())
		}
	}
	o.at = max(o.at, i)
	o.closeTo(limit)
	for _, l := range slices.Backward(o.below) {
		o.stack = append(o.stack, l)
	}
}

// openBelow adds the levels that a line opens, each deeper than the one before.
func (o *outline) openBelow(l line, limit int) {
	from := len(o.below)
	for l.dash && l.levelDepth() < limit {
		o.below = append(o.below, level{l.levelDepth(), itemName(l.rest), nil})
		l = parseText(l.rest, l.indent+l.skip)
	}
	if !l.dash && l.key != nil && l.levelDepth() < limit {
		o.below = append(o.below, level{l.levelDepth(), l.key, l.rest[:min(1, len(l.rest))]})
	}
	slices.Reverse(o.below[from:])
}

// keysAround returns the levels around the first nonblank line from i on. If a change
// above alters them, it affects more than its own lines.
func (o *outline) keysAround(i int) []level {
	for i < len(o.lines) && parseLine(o.lines[i]).blank {
		i++
	}
	if i == len(o.lines) {
		return nil
	}
	o.seek(i)
	return o.stack
}

func sameKeys(a, b []level) bool {
	return slices.EqualFunc(a, b, func(x, y level) bool {
		return x.depth == y.depth && bytes.Equal(x.key, y.key) && bytes.Equal(x.style, y.style)
	})
}

func (o *outline) closeTo(depth int) {
	n := len(o.stack)
	for n > 0 && o.stack[n-1].depth >= depth {
		n--
	}
	o.stack = o.stack[:n]
}

func (o *outline) isEdge(i int) bool {
	return i == 0 || i == len(o.lines) || isSeparator(o.lines[i]) || isSeparator(o.lines[i-1])
}

func isSeparator(raw []byte) bool { return bytes.HasPrefix(raw, []byte("---")) }

func itemName(rest []byte) []byte {
	if bytes.HasPrefix(rest, []byte("name:")) {
		return rest
	}
	return []byte("-")
}

func (o *outline) objectIdentity() identity {
	if o.known {
		return o.ident
	}
	o.known, o.ident = true, identity{}
	inMetadata := false
	for _, raw := range o.lines[o.start:] {
		if raw[0] == ' ' && !inMetadata {
			continue
		}
		if isSeparator(raw) {
			break
		}
		l := parseLine(raw)
		if l.blank || l.key == nil {
			continue
		}
		if l.indent == 0 {
			inMetadata = string(l.key) == "metadata"
		}
		o.ident.readField(l, inMetadata)
	}
	return o.ident
}

func (id *identity) readField(l line, inMetadata bool) {
	switch {
	case l.indent == 0 && string(l.key) == "apiVersion":
		id.apiVersion = l.rest
	case l.indent == 0 && string(l.key) == "kind":
		id.kind = l.rest
	case l.indent == 0 || !inMetadata:
	case string(l.key) == "name" && id.name == nil:
		id.name = l.rest
	case string(l.key) == "namespace" && id.namespace == nil:
		id.namespace = l.rest
	}
}

type line struct {
	indent int
	blank  bool
	dash   bool // rest begins skip bytes after the dash of a list item
	skip   int
	key    []byte // nil if there is none
	rest   []byte // the text after the dash or the key
}

func (l line) levelDepth() int {
	if l.dash {
		return 2*l.indent + 1
	}
	return 2 * l.indent
}

func parseLine(raw []byte) line {
	to := len(raw)
	for to > 0 && (raw[to-1] == ' ' || raw[to-1] == '\n' || raw[to-1] == '\r') {
		to--
	}
	from := indentOf(raw[:to])
	return parseText(raw[from:to], from)
}

func indentOf(raw []byte) int {
	n := 0
	for n < len(raw) && raw[n] == ' ' {
		n++
	}
	return n
}

func parseText(text []byte, indent int) line {
	l := line{indent: indent}
	switch {
	case len(text) == 0 || text[0] == '#':
		l.blank = true
	case text[0] == '-' && (len(text) == 1 || text[1] == ' '):
		l.dash = true
		l.rest = bytes.TrimLeft(text[1:], " ")
		l.skip = len(text) - len(l.rest)
	default:
		l.key, l.rest = cutKey(text)
	}
	return l
}

func cutKey(text []byte) (key, value []byte) {
	from := 0
	if q := text[0]; q == '"' || q == '\'' {
		from = 1 + bytes.IndexByte(text[1:], q)
	}
	for i := from; i < len(text); i++ {
		if text[i] == ':' && (i+1 == len(text) || text[i+1] == ' ') {
			return text[:i], bytes.TrimLeft(text[i+1:], " ")
		}
	}
	return nil, text
}
