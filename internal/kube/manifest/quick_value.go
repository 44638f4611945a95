package manifest

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

// readPlain reads a plain scalar. Continuation lines are deeper than their collection without a
// pending value, which readNode refuses.
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

func (q *quickReader) readBlock(i int) int {
	if c := q.byteAt(i); c == '-' || c == '+' {
		i++
	}
	i = q.skipSpaces(i)
	if q.byteAt(i) != '\n' {
		return undecided
	}
	// column is set by the first line of text. Wider blank lines before it would change it.
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

// readFlowKey is readKey in brackets. As in JSON, the colon after a quoted key needs no space.
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

func (q *quickReader) skipWord(i int) int {
	for class[q.byteAt(i)]&inWord != 0 {
		i++
	}
	return i
}

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
