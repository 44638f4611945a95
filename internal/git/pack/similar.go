package pack

import (
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/tree"
)

// likenessKey returns a key of a tree's names, which is equal for similar folders of deployment
// targets; "" for large trees.
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

const maxAlike = 16

// encodeSimilar encodes an object as a delta from a recent one with the same kind and key, if
// similar.
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
	if kind == Tree { // half is ids, which do not compress
		limit = len(data) * 7 / 8
	}
	for i, model := range models {
		if made, ok := model.encodeDelta(data, limit); ok {
			copy(models[1:], models[:i])
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
	// Compressing small trees would take ten times as long as everything else, and save an eighth.
	e.body = appendUncompressed(e.body[:0], data)
	return e.emit(encoded{id: id, kind: kind, size: len(data), body: e.body})
}

const maxModels = 4

const (
	minSimilar = 64
	maxSimilar = 1 << 20
)

type likeKey struct {
	kind Kind
	key  string
}

type likeModel struct {
	data  []byte
	texts *delta
	id    tree.ID
	out   script
}

// encodeDelta returns false if the instructions exceed limit bytes. Trees with the same names
// differ only in ids, at the same offsets.
func (m *likeModel) encodeDelta(data []byte, limit int) ([]byte, bool) {
	if m.texts != nil {
		return m.texts.encodeText(data, limit)
	}
	m.out.encodeAligned(m.data, data)
	return m.out, len(m.out) <= limit
}

// A large folder is written as a delta from its previous version, which the server has: of 18 kB
// for 500 deployment targets, 20 bytes change.

// breaksChain selects one folder in 32, by id, to be written whole, so that delta chains stay
// short.
func breaksChain(id tree.ID) bool { return id[0] < 256/32 }

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
	if len(before) == len(text) {
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

const minFolder = 1 << 9

func (s *script) encodeFolder(base, text string) {
	s.reset(len(base), len(text))
	at, from, n, end := 0, 0, 0, 0
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

func isEntryBefore(a, b string) bool {
	x, _, _ := tree.CutEntry(a)
	y, _, _ := tree.CutEntry(b)
	return tree.CompareEntries(x, y) < 0
}
