package pack

import (
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/tree"
)

// likenessKey returns a key that is equal for trees with the same names, such as the folders of
// deployment targets; "" for large trees.
func likenessKey(text string) string {
	key, n := make([]byte, 0, 128), 0
	for text != "" {
		e, rest, _ := tree.CutEntry(text)
		n++
		if n > maxAlike {
			return ""
		}
		key, text = append(append(key, '/'), e.Name...), rest
	}
	return string(key)
}

// maxAlike is the most entries of trees that are compared by name.
const maxAlike = 16

// encodeSimilar encodes an object as a delta from the last one of its kind and key if they are
// similar, and otherwise whole.
func (e *encoder) encodeSimilar(kind Kind, key string, id tree.ID, data []byte) error {
	if e.to.has(id) {
		return nil
	}
	if key == "" || len(data) < minSimilar || len(data) > maxSimilar {
		return e.encodeWhole(kind, id, data)
	}
	k := likeKey{kind, key}
	models := e.models[k]
	limit := len(data) / 2
	if kind == Tree { // half of it is ids, in which there is nothing to compress
		limit = len(data) * 7 / 8
	}
	for i, model := range models {
		if made, ok := model.encodeDelta(data, limit); ok {
			copy(models[1:], models[:i]) // the last used comes first
			models[0] = model
			e.body = appendUncompressed(e.body[:0], made)
			return e.emit(encoded{id: id, kind: offsetDelta, base: model.id, size: len(made), body: e.body})
		}
	}
	fresh := &likeModel{data: slices.Clone(data), id: id}
	models = slices.Insert(models, 0, fresh)
	e.models[k] = models[:min(len(models), maxModels)]
	if kind != Tree {
		fresh.texts = newDelta(fresh.data)
		return e.encodeWhole(kind, id, data)
	}
	// A small tree is not compressed: that takes ten times as long as everything else, and saves an eighth.
	e.body = appendUncompressed(e.body[:0], data)
	return e.emit(encoded{id: id, kind: kind, size: len(data), body: e.body})
}

// maxModels is how many objects of a kind and key are kept as bases, the last used first.
const maxModels = 4

const (
	minSimilar = 64      // shorter texts are as short as a delta
	maxSimilar = 1 << 20 // longer ones would keep too much in memory
)

// likeKey is equal for objects that are likely to be similar.
type likeKey struct {
	kind Kind
	key  string
}

// likeModel is an object that others are encoded as deltas from.
type likeModel struct {
	data  []byte
	texts *delta // nil for trees
	id    tree.ID
	out   script
}

// encodeDelta returns the instructions that make data from the model, or false if they would be
// longer than limit. Trees of the same names differ in ids, which are at the same offsets.
func (m *likeModel) encodeDelta(data []byte, limit int) ([]byte, bool) {
	if m.texts != nil {
		return m.texts.encodeText(data, limit)
	}
	m.out.encodeAligned(m.data, data)
	return m.out, len(m.out) <= limit
}

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
