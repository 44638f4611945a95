package pack

import (
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/tree"
)

// A large folder in which little changes is written as a difference from what it was:
// that of 500 deployment targets has 18 kB, and differs in 20 bytes. What it was is not
// in the pack then; the server has it.

// isNearly reports whether most of a large folder, of so many entries and so many that are
// not in it, is in another one.
func isNearly(entries, fresh int) bool { return entries > maxAlike && fresh <= entries/maxAlike }

// from drops what comes before an entry.
func from(entries []tree.Entry, e tree.Entry) []tree.Entry {
	for len(entries) > 0 && tree.Order(entries[0], e) < 0 {
		entries = entries[1:]
	}
	return entries
}

// breaksChain reports whether a folder is written whole: about one of 32 is, chosen
// by its id, so that differences from differences come to an end.
func breaksChain(id tree.ID) bool { return id[0] < 256/32 }

// fromKnown encodes a folder as a difference from a known one; ok is false if there is none
// that it is much like.
func (e *encoder) fromKnown(t tree.Tree, known []tree.Tree) (ok bool, err error) {
	if len(known) == 0 || breaksChain(t.ID()) {
		return false, nil
	}
	base := known[len(known)-1].Opened()
	id := known[len(known)-1].ID()
	if base.ID() != id || base.IsEmpty() {
		return false, nil
	}
	before, text := base.Text(), t.Text()
	if len(text) < minFolder || !e.differs(before, text) {
		return false, nil
	}
	e.body = appendStored(e.body[:0], e.script)
	return true, e.put(encoded{id: t.ID(), kind: refDelta, base: id, folder: t, size: len(e.script), body: e.body})
}

// minFolder is the shortest text of a folder, in bytes, for which that is worth it.
const minFolder = 1 << 9

// differs makes the instructions that make one folder from another, or reports that they
// are not much shorter than its text. Where as many entries come as go, what did not change
// is most often in its place.
func (e *encoder) differs(base, text string) bool {
	if len(base) == len(text) {
		e.script.aligned([]byte(base), []byte(text))
		if len(e.script) < len(text)/16 {
			return true
		}
	}
	e.script.folder(base, text)
	return len(e.script) <= len(text)/2
}

// folder makes the instructions that make the text of one tree object from that of another.
// Entries that are the same are copied, as many as follow each other at a time.
func (s *script) folder(base, text string) {
	s.begin(len(base), len(text))
	at, from, n, end := 0, 0, 0, 0 // end is where in text comes what is neither made nor about to be copied
	for pos, size := 0, 0; pos < len(text); pos += size {
		size = tree.EntryLen(text[pos:])
		entry := text[pos : pos+size]
		for at < len(base) && !strings.HasPrefix(base[at:], entry) && before(base[at:], entry) {
			at += tree.EntryLen(base[at:])
		}
		if !strings.HasPrefix(base[at:], entry) {
			continue
		}
		if pos != end || at != from+n {
			s.copy(from, n)
			s.insert([]byte(text[end:pos]))
			from, n = at, 0
		}
		n, at, end = n+size, at+size, pos+size
	}
	s.copy(from, n)
	s.insert([]byte(text[end:]))
}

// before reports whether the first entry of a text comes before that of another.
func before(a, b string) bool {
	x, _, _ := tree.CutEntry(a)
	y, _, _ := tree.CutEntry(b)
	return tree.Order(x, y) < 0
}
