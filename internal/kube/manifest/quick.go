package manifest

import (
	"bytes"
	"slices"
)

// The small reader reads line by line with a stack of open block collections. Its functions return
// the next offset, or undecided, which leaves the text to the decoder.

const (
	undecided = -1
	maxFrames = 24
	maxKeys   = 192
	// maxKeyLength is below the decoder's limit of 1,024 characters.
	maxKeyLength = 256
)

type frameKind uint8

const (
	document frameKind = iota
	mapping
	sequence
	// flush is a sequence with its dashes in the column of the mapping's keys.
	flush
	flow
)

type frame struct {
	kind   frameKind
	column int
	keys   int
	// filter has a bit per key hash; an unset bit saves a search.
	filter uint64
}

type quickReader struct {
	text []byte
	// pending means that a value may follow on the next lines; otherwise it is null.
	pending bool
	frames  [maxFrames]frame
	depth   int
	// keys are the hashes of keys of all open mappings, outermost first.
	keys     [maxKeys]uint64
	keyCount int
}

func isSurelyFine(text []byte) bool {
	if !isOrdinary(text) {
		return false
	}
	q := quickReader{text: text}
	q.beginDocument()
	for i := 0; i < len(text); {
		i = q.readLine(i)
		if i == undecided {
			return false
		}
	}
	return true
}

func (q *quickReader) beginDocument() {
	q.frames[0] = frame{kind: document, column: -1}
	q.depth, q.keyCount, q.pending = 1, 0, true
}

func (q *quickReader) readLine(i int) int {
	column := countSpaces(q.text, i)
	i += column
	switch q.byteAt(i) {
	case '\n':
		return i + 1
	case '#':
		return q.nextLine(i)
	}
	if column == 0 && q.isMarker(i, '-') {
		q.beginDocument()
		return q.readLineEnd(i + 3)
	}
	if column == 0 && q.isMarker(i, '.') {
		return undecided
	}
	for q.topFrame().column > column {
		q.popFrame()
		q.pending = false
	}
	return q.readNode(i, column)
}

func (q *quickReader) isMarker(i int, c byte) bool {
	return q.byteAt(i) == c && q.byteAt(i+1) == c && q.byteAt(i+2) == c && q.isBlank(i+3)
}

// readNode reads the first thing on a line: dashes, then a key with its value, or a value.
func (q *quickReader) readNode(i, column int) int {
	for q.byteAt(i) == '-' && q.isBlank(i+1) {
		if !q.openSequence(column) {
			return undecided
		}
		q.pending = true
		next := q.skipSpaces(i + 1)
		switch q.byteAt(next) {
		case '\n':
			return next + 1
		case '#':
			return undecided
		}
		column += next - i
		i = next
	}
	from, to, after := q.readKey(i)
	if after == undecided || !q.isBlank(after) {
		// The value must be alone on its line. A document that is only a value is too rare to
		// support.
		top := q.topFrame()
		if !q.pending || column <= top.column || top.kind == document {
			return undecided
		}
		return q.readValue(i)
	}
	if !q.openMapping(column) || !q.addKey(from, to) {
		return undecided
	}
	if q.depth == 2 && string(q.text[from:to]) == "kind" && !q.isHarmlessKind(after) {
		return undecided
	}
	return q.readValue(after)
}

func (q *quickReader) openSequence(column int) bool {
	top := q.topFrame()
	switch {
	case column > top.column:
		return q.pending && q.pushFrame(sequence, column)
	case top.kind == mapping:
		return q.pending && q.pushFrame(flush, column)
	default:
		return true
	}
}

func (q *quickReader) openMapping(column int) bool {
	if top := q.topFrame(); top.kind == flush && top.column == column {
		q.popFrame()
	}
	top := q.topFrame()
	if column > top.column {
		return q.pending && q.pushFrame(mapping, column)
	}
	return top.kind == mapping
}

func (q *quickReader) pushFrame(kind frameKind, column int) bool {
	if q.depth == maxFrames {
		return false
	}
	q.frames[q.depth] = frame{kind: kind, column: column, keys: q.keyCount}
	q.depth++
	return true
}

func (q *quickReader) popFrame() {
	q.depth--
	q.keyCount = q.frames[q.depth].keys
}

func (q *quickReader) topFrame() *frame { return &q.frames[q.depth-1] }

func (q *quickReader) addKey(from, to int) bool {
	if q.keyCount == maxKeys {
		return false
	}
	h := hashKey(q.text, from, to)
	top, bit := q.topFrame(), uint64(1)<<(h>>58)
	if top.filter&bit != 0 && slices.Contains(q.keys[top.keys:q.keyCount], h) {
		return false
	}
	top.filter |= bit
	q.keys[q.keyCount] = h
	q.keyCount++
	return true
}

// isHarmlessKind returns false for a Secret, and for a list, which may contain one.
func (q *quickReader) isHarmlessKind(i int) bool {
	i = q.skipSpaces(i)
	quote := q.byteAt(i)
	if quote == '"' || quote == '\'' {
		i++
	} else {
		quote = '\n'
	}
	from := i
	i = q.skipWord(i)
	kind := q.text[from:i]
	if quote != '\n' {
		if q.byteAt(i) != quote {
			return false
		}
		i++
	}
	if len(kind) == 0 || q.readLineEnd(i) == undecided {
		return false
	}
	return string(kind) != "Secret" && !bytes.HasSuffix(kind, []byte("List"))
}

// byteAt treats the end of the text as the end of a line.
func (q *quickReader) byteAt(i int) byte {
	if i < len(q.text) {
		return q.text[i]
	}
	return '\n'
}

func (q *quickReader) isBlank(i int) bool {
	c := q.byteAt(i)
	return c == ' ' || c == '\n'
}

func (q *quickReader) skipSpaces(i int) int {
	for i < len(q.text) && q.text[i] == ' ' {
		i++
	}
	return i
}

func (q *quickReader) nextLine(i int) int {
	if n := bytes.IndexByte(q.text[i:], '\n'); n >= 0 {
		return i + n + 1
	}
	return len(q.text)
}

// readLineEnd accepts only a comment.
func (q *quickReader) readLineEnd(i int) int {
	if i == undecided {
		return undecided
	}
	next := q.skipSpaces(i)
	switch q.byteAt(next) {
	case '\n':
		return next + 1
	case '#':
		if next > i {
			return q.nextLine(next)
		}
	}
	return undecided
}
