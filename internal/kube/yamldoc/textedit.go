package yamldoc

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// ErrLayout means that a text is written in a way that cannot be edited without writing it again.
var ErrLayout = errors.New("the text is laid out in a way that is not edited; change it by hand")

// TextEdit is a change of one value of a document. Unlike [Encode] of changed nodes, it leaves all other
// text as it is: indentation, quotes, blank lines, comments.
type TextEdit struct {
	Path  Path
	Value *yaml.Node // what the value becomes; nil removes it, and mappings and lists that are empty then
	// Insert adds Value to the list at Path: after the item After, or at the end.
	Insert bool
	After  string
}

// Apply returns the text with the edit made in one of its documents, by index. That exactly the wanted
// value differs is checked by decoding both texts. The error is [ErrLayout] if the edit would need
// other text to be written again.
func (e TextEdit) Apply(text []byte, document int) ([]byte, error) {
	documents, err := Parse(text)
	if err != nil {
		return nil, err
	}
	if document >= len(documents) || RootOf(documents[document]) == nil {
		return nil, fmt.Errorf("there is no document %d", document+1)
	}
	w := &layout{lines: bytes.SplitAfter(text, []byte("\n")), end: "\n"}
	if bytes.Contains(text, []byte("\r\n")) {
		w.end = "\r\n"
	}
	if err := e.edit(w, RootOf(documents[document])); err != nil {
		return nil, fmt.Errorf("%s: %w", e.Path, err)
	}
	edited := bytes.Join(w.lines, nil)
	return edited, e.check(text, edited, document)
}

// check returns an error if the edited text does not hold exactly what is wanted.
func (e TextEdit) check(text, edited []byte, document int) error {
	want, err := decodeAll(text)
	if err != nil {
		return err
	}
	want[document], err = e.changeValue(want[document], e.Path)
	if err != nil {
		return err
	}
	got, err := decodeAll(edited)
	if err != nil || !reflect.DeepEqual(got, want) {
		return fmt.Errorf("%s: %w", e.Path, ErrLayout)
	}
	return nil
}

func decodeAll(text []byte) ([]any, error) {
	documents, err := Parse(text)
	values := make([]any, len(documents))
	for i, d := range documents {
		err = errors.Join(err, d.Decode(&values[i]))
	}
	return values, err
}

// place is where a value is: the index of it in the content of its mapping or list.
type place struct {
	parent *yaml.Node
	at     int
}

func (p place) value() *yaml.Node { return p.parent.Content[p.at] }

func (e TextEdit) edit(w *layout, root *yaml.Node) error {
	var trail []place
	n, rest := root, e.Path
	for len(rest) > 0 && !IsNull(n) {
		if n.Kind == yaml.AliasNode {
			return ErrLayout
		}
		if n.Kind != yaml.MappingNode && n.Kind != yaml.SequenceNode {
			return fmt.Errorf("%s is %s, which has no part %s", e.Path[:len(e.Path)-len(rest)], DescribeType(n), rest[0])
		}
		i := findStep(n, rest[0])
		if i < 0 {
			break
		}
		trail = append(trail, place{n, i})
		n, rest = n.Content[i], rest[1:]
	}
	value := e.Value
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "" && e.Value == nil:
		return ErrLayout
	case value == nil && len(rest) > 0:
		return fmt.Errorf("there is no %s", e.Path)
	case value == nil:
		return w.remove(trail)
	case e.Insert && len(rest) == 0 && n.Kind == yaml.SequenceNode && len(n.Content) > 0:
		return w.insertItem(n, e.After, value)
	case e.Insert && len(rest) == 0 && !IsNull(n) && n.Kind != yaml.SequenceNode:
		return fmt.Errorf("%s is not a list", e.Path)
	case e.Insert:
		value = &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{value}}
	}
	key := ""
	for _, step := range slices.Backward(rest) {
		if key != "" {
			value = mappingOf(key, value)
		}
		key = step
	}
	switch {
	case len(rest) > 0 && n.Kind == yaml.SequenceNode:
		return fmt.Errorf("%s has no item %s", e.Path[:len(e.Path)-len(rest)], rest[0])
	case len(rest) > 0 && !IsNull(n) && (len(n.Content) > 0 || value.Kind == yaml.ScalarNode):
		return w.insertPair(n, key, value)
	case len(rest) > 0: // a mapping in the place of nothing
		value = mappingOf(key, value)
	}
	if len(trail) == 0 {
		return ErrLayout
	}
	return w.replace(trail[len(trail)-1], value)
}

func mappingOf(key string, value *yaml.Node) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	AddPair(n, key, value)
	return n
}

// layout is the lines of a text that is edited. It is edited once: the positions of nodes are those before.
type layout struct {
	lines [][]byte
	end   string // of a line
}

func (w *layout) column(n *yaml.Node) int {
	line, at := w.lines[n.Line-1], 0
	for range n.Column - 1 {
		_, size := utf8.DecodeRune(line[at:])
		at += size
	}
	return at
}

// blockEnd returns the line after the last one of a block that begins on a line, and whose further lines
// are indented by more than some columns. Blank lines and comments at its end are not part of it.
func (w *layout) blockEnd(first, indent int, isList bool) int {
	end := first + 1
	for i := end; i < len(w.lines); i++ {
		line := strings.TrimRight(string(w.lines[i]), "\r\n\t ")
		content := strings.TrimLeft(line, " ")
		deep := len(line) - len(content)
		switch {
		case content == "" || content[0] == '#' && deep <= indent:
		case deep > indent || isList && deep == indent && (content == "-" || strings.HasPrefix(content, "- ")):
			end = i + 1
		default:
			return end
		}
	}
	return end
}

// endOf returns the line after a value whose key, or dash, is at a line and a column.
func (w *layout) endOf(p place) int {
	first, indent := w.start(p)
	isList := p.parent.Kind == yaml.MappingNode && p.value().Kind == yaml.SequenceNode
	return w.blockEnd(first, indent, isList)
}

func (w *layout) start(p place) (line, column int) {
	if p.parent.Kind == yaml.MappingNode {
		key := p.parent.Content[p.at-1]
		return key.Line - 1, w.column(key)
	}
	item := p.value()
	before := w.lines[item.Line-1][:w.column(item)]
	return item.Line - 1, bytes.LastIndexByte(before, '-')
}

func (w *layout) replace(p place, value *yaml.Node) error {
	old := p.value()
	if from, to, ok := w.inlineSpan(old); ok {
		if new, ok := inlineText(value, old.Style, isFlow(p.parent)); ok {
			w.splice(old.Line-1, from, to, new)
			return nil
		}
	}
	first, column := w.start(p)
	if isFlow(p.parent) || column < 0 {
		return ErrLayout
	}
	whole := &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{value}}
	if p.parent.Kind == yaml.MappingNode {
		whole = mappingOf(p.parent.Content[p.at-1].Value, value)
	}
	added, err := w.encode(whole, column)
	if err != nil {
		return err
	}
	added[0] = append(bytes.Clone(w.lines[first][:column]), added[0][column:]...)
	w.lines = slices.Replace(w.lines, first, w.endOf(p), added...)
	return nil
}

func (w *layout) insertPair(m *yaml.Node, key string, value *yaml.Node) error {
	if isFlow(m) {
		pair, ok := inlineText(&yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle, Content: mappingOf(key, value).Content}, 0, true)
		if !ok {
			return ErrLayout
		}
		return w.insertInline(m, pair[1:len(pair)-1])
	}
	first := m.Content[0]
	at := w.endOf(place{m, len(m.Content) - 1})
	return w.insertLines(at, mappingOf(key, value), w.column(first))
}

func (w *layout) insertItem(list *yaml.Node, after string, value *yaml.Node) error {
	at := len(list.Content) - 1
	if after != "" {
		at = findStep(list, after)
	}
	if at < 0 {
		return fmt.Errorf("there is no item %s", after)
	}
	if isFlow(list) {
		item, ok := inlineText(value, 0, true)
		if !ok || at != len(list.Content)-1 {
			return ErrLayout
		}
		return w.insertInline(list, item)
	}
	p := place{list, at}
	_, column := w.start(p)
	if column < 0 {
		return ErrLayout
	}
	return w.insertLines(w.endOf(p), &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{value}}, column)
}

// insertInline adds text before the end of a mapping or list in flow style.
func (w *layout) insertInline(n *yaml.Node, text string) error {
	_, to, ok := w.inlineSpan(n)
	if !ok {
		return ErrLayout
	}
	if len(n.Content) > 0 {
		text = ", " + text
	}
	w.splice(n.Line-1, to-1, to-1, text)
	return nil
}

func (w *layout) insertLines(at int, value *yaml.Node, column int) error {
	added, err := w.encode(value, column)
	if err != nil {
		return err
	}
	if at > 0 && !bytes.HasSuffix(w.lines[at-1], []byte("\n")) {
		w.lines[at-1] = append(bytes.Clone(w.lines[at-1]), w.end...)
	}
	w.lines = slices.Insert(w.lines, at, added...)
	return nil
}

// remove takes out the pair or the item at the end of a trail, or what would be empty without it.
func (w *layout) remove(trail []place) error {
	for len(trail) > 1 {
		parent := trail[len(trail)-1].parent
		if len(parent.Content) > 2 || parent.Kind == yaml.SequenceNode && len(parent.Content) > 1 {
			break
		}
		trail = trail[:len(trail)-1]
	}
	p := trail[len(trail)-1]
	first, column := w.start(p)
	if isFlow(p.parent) || column < 0 || len(bytes.TrimSpace(w.lines[first][:column])) > 0 {
		return ErrLayout
	}
	end, head := w.endOf(p), p.value().HeadComment
	if p.parent.Kind == yaml.MappingNode {
		head = p.parent.Content[p.at-1].HeadComment
	}
	if head != "" { // the comment above it goes with it
		for first > 0 && bytes.HasPrefix(bytes.TrimSpace(w.lines[first-1]), []byte("#")) {
			first--
		}
	}
	w.lines = slices.Delete(w.lines, first, end)
	return nil
}

func (w *layout) splice(line, from, to int, text string) {
	old := w.lines[line]
	w.lines[line] = slices.Concat(old[:from], []byte(text), old[to:])
}

func (w *layout) encode(value *yaml.Node, column int) ([][]byte, error) {
	text, err := Encode(value)
	if err != nil {
		return nil, err
	}
	var lines [][]byte
	for line := range bytes.SplitSeq(bytes.TrimSuffix(text, []byte("\n")), []byte("\n")) {
		indent := column
		if len(line) == 0 {
			indent = 0
		}
		lines = append(lines, slices.Concat(bytes.Repeat([]byte(" "), indent), line, []byte(w.end)))
	}
	return lines, nil
}

// inlineSpan returns the bytes of a line that a value has to itself; false if it has other lines too, or
// its text is not found.
func (w *layout) inlineSpan(n *yaml.Node) (from, to int, ok bool) {
	if n.Line == 0 || n.Anchor != "" || n.Style&yaml.TaggedStyle != 0 {
		return 0, 0, false
	}
	from = w.column(n)
	line := w.lines[n.Line-1][from:]
	switch {
	case n.Kind == yaml.ScalarNode && n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		return 0, 0, false
	case n.Kind == yaml.ScalarNode && n.Style == 0:
		return from, from + len(n.Value), n.Value != "" && bytes.HasPrefix(line, []byte(n.Value))
	case n.Kind == yaml.ScalarNode || isFlow(n):
		length := flowLength(line)
		return from, from + length, length > 0
	}
	return 0, 0, false
}

// flowLength returns the length of the quoted scalar, or of the mapping or list in flow style, that a line
// begins with; 0 if that does not end on the line.
func flowLength(line []byte) int {
	depth, quote := 0, byte(0)
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case quote == '"' && c == '\\':
			i++
		case quote != 0 && c != quote:
		case quote == '\'' && i+1 < len(line) && line[i+1] == '\'':
			i++
		case quote != 0:
			quote = 0
		case c == '"' || c == '\'':
			quote = c
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		case c == '#':
			return 0
		}
		if depth == 0 && quote == 0 {
			return i + 1
		}
	}
	return 0
}

func isFlow(n *yaml.Node) bool { return n.Style&yaml.FlowStyle != 0 }

// inlineText returns a value on one line, with the quotes of a style if it is text; false if it needs more.
func inlineText(value *yaml.Node, style yaml.Style, inFlow bool) (string, bool) {
	if value.Kind != yaml.ScalarNode && !isFlow(value) {
		return "", false
	}
	n := *value
	quotes := style & (yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle)
	switch {
	case n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str":
	case quotes != 0 && !strings.Contains(n.Value, "\n"):
		n.Style = quotes
	case inFlow && strings.ContainsAny(n.Value, ",[]{}"):
		n.Style = yaml.DoubleQuotedStyle
	}
	text, err := Encode(&n)
	line := strings.TrimSuffix(string(text), "\n")
	return line, err == nil && !strings.Contains(line, "\n")
}
