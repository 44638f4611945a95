package manifest

// key reads a key at i and returns where its text begins and ends, and the offset behind
// its colon; or unsure in place of the latter.
func (q *quickReader) key(i int) (from, to, after int) {
	c := q.at(i)
	if c == '"' || c == '\'' {
		return q.quotedKey(i, c)
	}
	if class[c]&startsKey == 0 {
		return 0, 0, unsure
	}
	to = seek(q.text, i, ':', '#')
	if q.at(to) != ':' || !q.isBlank(to+1) || q.text[to-1] == ' ' || to-i > maxKeyLength {
		return 0, 0, unsure
	}
	return i, to, to + 1
}

func (q *quickReader) quotedKey(i int, quote byte) (from, to, after int) {
	to = seek(q.text, i+1, quote, '\\')
	if q.at(to) != quote || q.at(to+1) != ':' || to-i > maxKeyLength {
		return 0, 0, unsure
	}
	return i + 1, to, to + 2
}

// value reads what follows a colon or a dash, up to the end of its line or of
// its block scalar.
func (q *quickReader) value(i int) int {
	i = q.skipSpaces(i)
	q.pending = false
	switch q.at(i) {
	case '\n':
		q.pending = true
		return i + 1
	case '#':
		q.pending = true
		return q.nextLine(i)
	case '|', '>':
		return q.block(i + 1)
	case '"', '\'', '[', '{':
		return q.endOfLine(q.enclosed(i))
	}
	return q.plain(i)
}

// plain reads a plain scalar and the rest of its line. Lines that continue it
// are deeper than the collection that it is in, where nothing is pending.
func (q *quickReader) plain(i int) int {
	switch c := q.at(i); {
	case c == '-' || c == ':' || c == '?':
		if q.isBlank(i + 1) {
			return unsure
		}
	case class[c]&startsPlain == 0:
		return unsure
	}
	for {
		i = seek(q.text, i, ':', '#')
		switch q.at(i) {
		case '\n':
			return i + 1
		case '\t':
			return unsure
		case ':':
			if q.isBlank(i + 1) {
				return unsure
			}
		case '#':
			if q.text[i-1] == ' ' {
				return q.nextLine(i)
			}
		}
		i++
	}
}

// block reads a block scalar, from behind its "|" or ">".
func (q *quickReader) block(i int) int {
	if c := q.at(i); c == '-' || c == '+' {
		i++
	}
	i = q.skipSpaces(i)
	if q.at(i) != '\n' {
		return unsure
	}
	// column is that of the text, once a line has shown it; the blank lines
	// before that line must not be wider, or they would set it.
	column, widest := 0, 0
	for i++; i < len(q.text); {
		start, width := i, indent(q.text, i)
		i += width
		c := q.at(i)
		switch {
		case c == '\n':
			if column == 0 {
				widest = max(widest, width)
			}
		case column == 0:
			if width <= q.top().column {
				return start
			}
			if c == '\t' || widest > width {
				return unsure
			}
			column = width
		case width < column:
			if c == '\t' {
				return unsure
			}
			return start
		}
		i = q.nextLine(i)
	}
	return len(q.text)
}

// enclosed reads a quoted scalar or a flow collection that ends on its line.
func (q *quickReader) enclosed(i int) int {
	switch q.at(i) {
	case '"':
		return q.doubleQuoted(i + 1)
	case '\'':
		return q.singleQuoted(i + 1)
	case '[':
		return q.flowSequence(i + 1)
	default:
		return q.flowMapping(i + 1)
	}
}

func (q *quickReader) doubleQuoted(i int) int {
	for {
		i = seek(q.text, i, '"', '\\')
		switch q.at(i) {
		case '"':
			return i + 1
		case '\\':
			switch q.at(i + 1) {
			case '"', '\\', 'n', 't':
				i += 2
			default:
				return unsure
			}
		default:
			return unsure
		}
	}
}

func (q *quickReader) singleQuoted(i int) int {
	for {
		i = seek(q.text, i, '\'', '\'')
		switch {
		case q.at(i) != '\'':
			return unsure
		case q.at(i+1) != '\'':
			return i + 1
		}
		i += 2
	}
}

func (q *quickReader) flowSequence(i int) int {
	i = q.skipSpaces(i)
	if q.at(i) == ']' {
		return i + 1
	}
	if !q.push(flow, 0) {
		return unsure
	}
	for {
		i = q.flowValue(i)
		if i == unsure {
			return unsure
		}
		switch q.at(i) {
		case ',':
			i = q.skipSpaces(i + 1)
		case ']':
			q.pop()
			return i + 1
		default:
			return unsure
		}
	}
}

func (q *quickReader) flowMapping(i int) int {
	i = q.skipSpaces(i)
	if q.at(i) == '}' {
		return i + 1
	}
	if !q.push(flow, 0) {
		return unsure
	}
	for {
		from, to, after := q.flowKey(i)
		if after == unsure || !q.addKey(from, to) {
			return unsure
		}
		i = q.flowValue(q.skipSpaces(after))
		if i == unsure {
			return unsure
		}
		switch q.at(i) {
		case ',':
			i = q.skipSpaces(i + 1)
		case '}':
			q.pop()
			return i + 1
		default:
			return unsure
		}
	}
}

// flowKey is key for a mapping in brackets. Behind a quoted key, as in JSON,
// the colon needs no space.
func (q *quickReader) flowKey(i int) (from, to, after int) {
	c := q.at(i)
	if c == '"' || c == '\'' {
		return q.quotedKey(i, c)
	}
	to = q.word(i)
	if class[c]&startsKey == 0 || q.at(to) != ':' || q.at(to+1) != ' ' || to-i > maxKeyLength {
		return 0, 0, unsure
	}
	return i, to, to + 1
}

// word returns the offset behind the word at i.
func (q *quickReader) word(i int) int {
	for class[q.at(i)]&inWord != 0 {
		i++
	}
	return i
}

// flowValue reads a value inside of brackets, and the spaces behind it.
func (q *quickReader) flowValue(i int) int {
	switch c := q.at(i); {
	case c == '"' || c == '\'' || c == '[' || c == '{':
		i = q.enclosed(i)
		if i == unsure {
			return unsure
		}
	case class[c]&startsKey != 0 || c == '-' && class[q.at(i+1)]&inWord != 0:
		i = q.word(i)
	default:
		return unsure
	}
	return q.skipSpaces(i)
}
