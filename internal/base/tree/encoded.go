package tree

import "strings"

// encodedDir is a tree object; its entries are parsed on demand.
type encodedDir struct {
	text          string
	completeEntry func(Entry) Entry
}

// FromText returns the directory of a Git tree object. text must be canonical. Entries have name,
// mode and id; whole, if not nil, adds [UnreadDir] or the content. Reading a little of a large
// directory costs only its text.
func FromText(id ID, text string, whole func(Entry) Entry) Tree {
	if text == "" {
		return Tree{}
	}
	return Tree{&dir{id: id, encoded: encodedDir{text, whole}}}
}

// Text returns the content of t's Git tree object.
func (t Tree) Text() string {
	t = t.Expand()
	switch {
	case t.d == nil:
		return ""
	case t.d.encoded.text != "":
		return t.d.encoded.text
	}
	return string(AppendTree(nil, t.d.entries))
}

// Len returns the number of direct entries.
func (t Tree) Len() int {
	n := 0
	for c := t.newCursor(); !c.done(); n++ {
		c.skip()
	}
	return n
}

type cursor struct {
	text   string
	dir    encodedDir
	listed []Entry
}

func (t Tree) newCursor() cursor {
	t = t.Expand()
	if t.d == nil {
		return cursor{}
	}
	return cursor{t.d.encoded.text, t.d.encoded, t.d.entries}
}

func (c *cursor) done() bool { return c.text == "" && len(c.listed) == 0 }

func (c *cursor) head() Entry {
	if c.text == "" {
		return c.listed[0]
	}
	e, _, _ := CutEntry(c.text)
	return e
}

func (c *cursor) next() Entry {
	if c.text == "" {
		e := c.listed[0]
		c.listed = c.listed[1:]
		return e
	}
	e, rest, _ := CutEntry(c.text)
	c.text = rest
	return e
}

func (c *cursor) skip() {
	if c.text == "" {
		c.listed = c.listed[1:]
		return
	}
	c.text = c.text[EntryLen(c.text):]
}

func (c *cursor) skipSame(o *cursor) {
	n := sameStart(c.text, o.text)
	c.text, o.text = c.text[n:], o.text[n:]
}

// sameStart returns the length of the common leading entries. Large folders mostly differ in one
// entry, so pieces are compared before entries.
func sameStart(a, b string) int {
	const piece = 1 << 10
	n := 0
	for n < len(a) {
		size := EntryLen(a[n:])
		if len(b)-n < size || a[n:n+size] != b[n:n+size] {
			break
		}
		n += size
		if end := n + piece; end < len(a) && end < len(b) && a[n:end] == b[n:end] {
			for next := n + EntryLen(a[n:]); next <= end; next = n + EntryLen(a[n:]) {
				n = next
			}
		}
	}
	return n
}

func (e *encodedDir) completed(one Entry) Entry {
	if e.completeEntry == nil || one.Name == "" {
		return one
	}
	return e.completeEntry(one)
}

// EntryLen returns the length of the first entry of a tree object's text.
func EntryLen(text string) int { return strings.IndexByte(text, 0) + 1 + len(ID{}) }
