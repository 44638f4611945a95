package manifest

// readKey reads a key at i and returns where its text begins and ends, and the offset behind
// its colon; or unsure in place of the latter.
func (q *quickReader) readKey(i int) (from, to, after int) {
	c := q.byteAt(i)
	if c == '"' || c == '\'' {
		return q.readQuotedKey(i, c)
	}
	if class[c]&startsKey == 0 {
		return 0, 0, undecided
	}
	to = seekByte(q.text, i, ':', '#')
	if q.byteAt(to) != ':' || !q.isBlank(to+1) || q.text[to-1] == ' ' || to-i > maxKeyLength {
		return 0, 0, undecided
	}
	return i, to, to + 1
}

func (q *quickReader) readQuotedKey(i int, quote byte) (from, to, after int) {
	to = seekByte(q.text, i+1, quote, '\\')
	if q.byteAt(to) != quote || q.byteAt(to+1) != ':' || to-i > maxKeyLength {
		return 0, 0, undecided
	}
	return i + 1, to, to + 2
}

// readValue reads what follows a colon or a dash, up to the end of its line or of
// its block scalar.
func (q *quickReader) readValue(i int) int {
	i = q.skipSpaces(i)
	q.pending = false
	switch q.byteAt(i) {
	case '\n':
		q.pending = true
		return i + 1
	case '#':
		q.pending = true
		return q.nextLine(i)
	case '|', '>':
		return q.readBlock(i + 1)
	case '"', '\'', '[', '{':
		return q.readLineEnd(q.readEnclosed(i))
	}
	return q.readPlain(i)
}

// readPlain reads a plain scalar and the rest of its line. Lines that continue it
// are deeper than the collection that it is in, where nothing is pending.
func (q *quickReader) readPlain(i int) int {
	switch c := q.byteAt(i); {
	case c == '-' || c == ':' || c == '?':
		if q.isBlank(i + 1) {
			return undecided
		}
	case class[c]&startsPlain == 0:
		return undecided
	}
	for {
		i = seekByte(q.text, i, ':', '#')
		switch q.byteAt(i) {
		case '\n':
			return i + 1
		case '\t':
			return undecided
		case ':':
			if q.isBlank(i + 1) {
				return undecided
			}
		case '#':
			if q.text[i-1] == ' ' {
				return q.nextLine(i)
			}
		}
		i++
	}
}

// readBlock reads a block scalar, from behind its "|" or ">".
func (q *quickReader) readBlock(i int) int {
	if c := q.byteAt(i); c == '-' || c == '+' {
		i++
	}
	i = q.skipSpaces(i)
	if q.byteAt(i) != '\n' {
		return undecided
	}
	// column is that of the text, once a line has shown it; the blank lines
	// before that line must not be wider, or they would set it.
	column, widest := 0, 0
	for i++; i < len(q.text); {
		start, width := i, countSpaces(q.text, i)
		i += width
		c := q.byteAt(i)
		switch {
		case c == '\n':
			if column == 0 {
				widest = max(widest, width)
			}
		case column == 0:
			if width <= q.topFrame().column {
				return start
			}
			if c == '\t' || widest > width {
				return undecided
			}
			column = width
		case width < column:
			if c == '\t' {
				return undecided
			}
			return start
		}
		i = q.nextLine(i)
	}
	return len(q.text)
}

// readEnclosed reads a quoted scalar or a flow collection that ends on its line.
func (q *quickReader) readEnclosed(i int) int {
	switch q.byteAt(i) {
	case '"':
		return q.readDoubleQuoted(i + 1)
	case '\'':
		return q.readSingleQuoted(i + 1)
	case '[':
		return q.readFlow(i+1, ']')
	default:
		return q.readFlow(i+1, '}')
	}
}

func (q *quickReader) readDoubleQuoted(i int) int {
	for {
		i = seekByte(q.text, i, '"', '\\')
		switch q.byteAt(i) {
		case '"':
			return i + 1
		case '\\':
			switch q.byteAt(i + 1) {
			case '"', '\\', 'n', 't':
				i += 2
			default:
				return undecided
			}
		default:
			return undecided
		}
	}
}

func (q *quickReader) readSingleQuoted(i int) int {
	for {
		i = seekByte(q.text, i, '\'', '\'')
		switch {
		case q.byteAt(i) != '\'':
			return undecided
		case q.byteAt(i+1) != '\'':
			return i + 1
		}
		i += 2
	}
}

// readFlow reads a flow collection from behind its bracket on; end is the one that closes it.
func (q *quickReader) readFlow(i int, end byte) int {
	i = q.skipSpaces(i)
	if q.byteAt(i) == end {
		return i + 1
	}
	if !q.pushFrame(flow, 0) {
		return undecided
	}
	for {
		if end == '}' {
			from, to, after := q.readFlowKey(i)
			if after == undecided || !q.addKey(from, to) {
				return undecided
			}
			i = q.skipSpaces(after)
		}
		i = q.readFlowValue(i)
		if i == undecided {
			return undecided
		}
		switch q.byteAt(i) {
		case ',':
			i = q.skipSpaces(i + 1)
		case end:
			q.popFrame()
			return i + 1
		default:
			return undecided
		}
	}
}

// readFlowKey is key for a mapping in brackets. Behind a quoted key, as in JSON,
// the colon needs no space.
func (q *quickReader) readFlowKey(i int) (from, to, after int) {
	c := q.byteAt(i)
	if c == '"' || c == '\'' {
		return q.readQuotedKey(i, c)
	}
	to = q.skipWord(i)
	if class[c]&startsKey == 0 || q.byteAt(to) != ':' || q.byteAt(to+1) != ' ' || to-i > maxKeyLength {
		return 0, 0, undecided
	}
	return i, to, to + 1
}

// skipWord returns the offset behind the word at i.
func (q *quickReader) skipWord(i int) int {
	for class[q.byteAt(i)]&inWord != 0 {
		i++
	}
	return i
}

// readFlowValue reads a value inside of brackets, and the spaces behind it.
func (q *quickReader) readFlowValue(i int) int {
	switch c := q.byteAt(i); {
	case c == '"' || c == '\'' || c == '[' || c == '{':
		i = q.readEnclosed(i)
		if i == undecided {
			return undecided
		}
	case class[c]&startsKey != 0 || c == '-' && class[q.byteAt(i+1)]&inWord != 0:
		i = q.skipWord(i)
	default:
		return undecided
	}
	return q.skipSpaces(i)
}
