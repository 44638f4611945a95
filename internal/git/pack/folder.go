package pack

import (
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/tree"
)

// A large folder in which little changes is written as a delta from its previous version,
// which the server has and which is not in the pack: a folder of 500 deployment targets has
// 18 kB, and 20 bytes of it change.

// breaksChain reports whether a folder is written whole: about one of 32 is, chosen
// by its id, so that chains of deltas stay short.
func breaksChain(id tree.ID) bool { return id[0] < 256/32 }

// encodeFromKnown encodes a folder as a delta from a known one; ok is false if no known one is
// similar enough.
func (e *encoder) encodeFromKnown(t tree.Tree, known []tree.Tree) (ok bool, err error) {
	if len(known) == 0 || breaksChain(t.ID()) {
		return false, nil
	}
	base := known[len(known)-1].Expand()
	id := known[len(known)-1].ID()
	if base.ID() != id || base.IsEmpty() {
		return false, nil
	}
	before, text := base.Text(), t.Text()
	if len(text) < minFolder {
		return false, nil
	}
	if len(before) == len(text) { // as many entries come as go: most of what did not change is at the same offset
		e.script.encodeAligned([]byte(before), []byte(text))
	}
	if len(before) != len(text) || len(e.script) >= len(text)/16 {
		e.script.encodeFolder(before, text)
		if len(e.script) > len(text)/2 {
			return false, nil
		}
	}
	e.body = appendUncompressed(e.body[:0], e.script)
	return true, e.emit(encoded{id: t.ID(), kind: refDelta, base: id, folder: t, size: len(e.script), body: e.body})
}

// minFolder is the shortest text of a folder, in bytes, that is encoded as a delta.
const minFolder = 1 << 9

// encodeFolder encodes the text of one tree object as a delta from that of another. Runs of equal
// entries are copied.
func (s *script) encodeFolder(base, text string) {
	s.reset(len(base), len(text))
	at, from, n, end := 0, 0, 0, 0 // text before end is encoded or in the pending copy
	for pos, size := 0, 0; pos < len(text); pos += size {
		size = tree.EntryLen(text[pos:])
		entry := text[pos : pos+size]
		for at < len(base) && !strings.HasPrefix(base[at:], entry) && isEntryBefore(base[at:], entry) {
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

// isEntryBefore reports whether the first entry of a text comes before that of another.
func isEntryBefore(a, b string) bool {
	x, _, _ := tree.CutEntry(a)
	y, _, _ := tree.CutEntry(b)
	return tree.CompareEntries(x, y) < 0
}
