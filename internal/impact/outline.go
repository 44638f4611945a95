package impact

import (
	"bytes"
	"slices"
)

// outline reads YAML by its indentation, line by line, and knows which keys are
// open. It is no parser: it serves to tell places apart. Text that would mislead
// it is found by format.tells.
type outline struct {
	lines [][]byte
	at    int // the next line
	start int // the first line of the document that it is in
	stack []level
	ident identity
	known bool // ident is of this document
}

// level is an open key or list item. Items stand between the depths of keys, as
// a list may be as deep as the key that it belongs to.
type level struct {
	depth int
	key   []byte
	style []byte // the start of the value, on the same line
}

func (l level) isItem() bool { return l.depth%2 == 1 }

// identity is the object that a document is.
type identity struct{ apiVersion, kind, namespace, name []byte }

// reset starts over with another text, in the same memory.
func (o *outline) reset(text []byte) {
	*o = outline{lines: splitLines(o.lines[:0], text), stack: o.stack[:0]}
}

// seek reads on up to line i, and closes what that line closes: the stack is
// then the keys around it.
func (o *outline) seek(i int) {
	for ; o.at < i; o.at++ {
		o.read(o.lines[o.at])
	}
	if l := parseLine(o.lines[i]); !l.blank {
		o.closeTo(l)
	}
}

// next gives the keys around the first line from i on that is not blank. A change
// above it that moves it changes more than its own lines.
func (o *outline) next(i int) []level {
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

func (o *outline) read(raw []byte) {
	if separates(raw) {
		o.start, o.known, o.stack = o.at+1, false, o.stack[:0]
		return
	}
	l := parseLine(raw)
	if l.blank {
		return
	}
	o.closeTo(l)
	for {
		if l.dash {
			o.stack = append(o.stack, level{2*l.indent + 1, itemName(l.rest), nil})
			l = parseText(l.rest, l.indent+l.skip)
			continue
		}
		if l.key != nil {
			o.stack = append(o.stack, level{2 * l.indent, l.key, l.rest[:min(1, len(l.rest))]})
		}
		return
	}
}

func (o *outline) closeTo(l line) {
	depth := 2 * l.indent
	if l.dash {
		depth++
	}
	n := len(o.stack)
	for n > 0 && o.stack[n-1].depth >= depth {
		n--
	}
	o.stack = o.stack[:n]
}

// isEdge reports whether a document ends before line i, or begins there.
func (o *outline) isEdge(i int) bool {
	return i == 0 || i == len(o.lines) || separates(o.lines[i]) || separates(o.lines[i-1])
}

func separates(raw []byte) bool { return bytes.HasPrefix(raw, []byte("---")) }

// itemName is what an item of a list is told apart by: its name, if that is its
// first key.
func itemName(rest []byte) []byte {
	if bytes.HasPrefix(rest, []byte("name:")) {
		return rest
	}
	return []byte("-")
}

// identity gives the object that the document at hand is.
func (o *outline) identity() identity {
	if o.known {
		return o.ident
	}
	o.known, o.ident = true, identity{}
	inMetadata := false
	for _, raw := range o.lines[o.start:] {
		if separates(raw) {
			break
		}
		if raw[0] == ' ' && !inMetadata {
			continue
		}
		l := parseLine(raw)
		if l.blank || l.key == nil {
			continue
		}
		if l.indent == 0 {
			inMetadata = string(l.key) == "metadata"
		}
		o.ident.take(l, inMetadata)
	}
	return o.ident
}

func (id *identity) take(l line, inMetadata bool) {
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

// line is one line of YAML, taken apart.
type line struct {
	indent int
	blank  bool // empty, or a comment
	dash   bool // the start of a list item; then rest begins skip bytes after it
	skip   int
	key    []byte // nil if there is none
	rest   []byte // the text after the dash or the key
}

func parseLine(raw []byte) line {
	from, to := 0, len(raw)
	for to > 0 && (raw[to-1] == ' ' || raw[to-1] == '\n' || raw[to-1] == '\r') {
		to--
	}
	for from < to && raw[from] == ' ' {
		from++
	}
	return parseText(raw[from:to], from)
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

// cutKey splits "key: value". The key is nil if the text has none.
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
