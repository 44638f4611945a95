package manifest

import (
	"bytes"
	"slices"
)

// The small reader. It goes through the text line by line and keeps a stack of
// the block collections that are open. A function that reads a part returns
// the offset behind it, or unsure, which ends the reading and leaves the text
// to the decoder.

const (
	undecided = -1
	// maxFrames and maxKeys are what fits most files and costs little to clear.
	maxFrames = 24
	maxKeys   = 192
	// maxKeyLength is below the 1,024 characters at which the decoder gives up.
	maxKeyLength = 256
)

type frameKind uint8

const (
	// document is the lowest frame, around the root node.
	document frameKind = iota
	mapping
	sequence
	// flush is a sequence whose dashes are in the column of its mapping's keys.
	flush
	// flow is a collection in brackets; it has no column.
	flow
)

// frame is a collection that is open.
type frame struct {
	kind   frameKind
	column int // of its keys or dashes; -1 for the document
	keys   int // how many keys were open when it began
	// filter has a bit for each key of the frame, taken from its hash; a bit
	// that is not set spares a search.
	filter uint64
}

type quickReader struct {
	text []byte
	// pending is true while the innermost collection waits for a value that
	// may come on the next lines; if none comes, the value is null.
	pending bool
	frames  [maxFrames]frame
	depth   int // of frames
	// keys are the hashes of the keys of all open mappings, outer ones first.
	keys     [maxKeys]uint64
	keyCount int
}

// isSurelyFine reports whether text is surely fine. If not, the full check has to decide.
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

// beginDocument starts a document.
func (q *quickReader) beginDocument() {
	q.frames[0] = frame{kind: document, column: -1}
	q.depth, q.keyCount, q.pending = 1, 0, true
}

// readLine reads the line that starts at i, with the lines of its block scalar.
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

// isMarker reports whether the start ("---") or the end ("...") of a document
// stands at i.
func (q *quickReader) isMarker(i int, c byte) bool {
	return q.byteAt(i) == c && q.byteAt(i+1) == c && q.byteAt(i+2) == c && q.isBlank(i+3)
}

// readNode reads what stands at i, the first thing on its line: dashes, and then a
// key with its value or a value alone.
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
		// It has its line, or the rest of it behind a dash, for itself. A document that is only
		// a value is too rare to bother.
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

// openSequence makes the sequence with its dashes in column the innermost
// collection.
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

// openMapping makes the mapping with its keys in column the innermost
// collection.
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

// addKey notes a key of the innermost mapping, and reports whether it is new
// there. Two keys of one hash are taken for one key.
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

// isHarmlessKind reports whether what stands at i is the kind of an object that
// needs no second look: neither a Secret nor a list, which may hold one.
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

// byteAt returns the byte at i; the end of the text counts as the end of a line.
func (q *quickReader) byteAt(i int) byte {
	if i < len(q.text) {
		return q.text[i]
	}
	return '\n'
}

// isBlank reports whether a word ends before i. Tabs are not known here.
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

// readLineEnd reads the rest of a line that may hold nothing but a comment.
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
