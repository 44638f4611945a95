package pack

import (
	"bytes"

	"github.com/fairlead-io/fairlead/internal/tree"
)

// likeness tells trees that have the same names in them, such as the folders of
// deployment targets.
func likeness(t tree.Tree) string {
	if t.Len() > maxAlike {
		return ""
	}
	key := make([]byte, 0, 128)
	for _, e := range t.Entries() {
		key = append(append(key, '/'), e.Name...)
	}
	return string(key)
}

// maxAlike is the most entries of trees that are compared: in larger ones, what is
// different outweighs what is not.
const maxAlike = 16

// similar appends an object that is likely to be much like the last one of its kind
// and key, and then is a difference from that.
func (w *Writer) similar(kind Kind, key string, id tree.ID, data []byte) error {
	if w.has(id) {
		return nil
	}
	if key == "" || len(data) < minSimilar || len(data) > maxSimilar {
		return w.Object(kind, id, data)
	}
	k := likeKey{kind, key}
	models := w.models[k]
	limit := len(data) / 2
	if kind == Tree { // half of it is ids, in which there is nothing to compress
		limit = len(data) * 7 / 8
	}
	for i, model := range models {
		if made, ok := model.of(data, limit); ok {
			w.header = appendOffset(appendObjectHeader(w.header[:0], offsetDelta, len(made)), w.offset-model.at)
			w.body = appendStored(w.body[:0], made)
			copy(models[1:], models[:i])
			models[0] = model
			return w.raw(id, w.header, w.body)
		}
	}
	at := w.offset
	if err := w.whole(kind, id, data); err != nil {
		return err
	}
	models = append(models, nil)
	copy(models[1:], models)
	models[0] = newLikeModel(kind, bytes.Clone(data), at)
	w.models[k] = models[:min(len(models), maxModels)]
	return nil
}

// whole appends an object that is like no other. A small tree is not compressed: that
// takes ten times as long as all else, and gains an eighth.
func (w *Writer) whole(kind Kind, id tree.ID, data []byte) error {
	if kind != Tree {
		return w.Object(kind, id, data)
	}
	w.header, w.body = appendObjectHeader(w.header[:0], kind, len(data)), appendStored(w.body[:0], data)
	return w.raw(id, w.header, w.body)
}

// maxModels is how many objects of a kind and key are kept to compare with, those
// that were of use last first.
const maxModels = 4

const (
	minSimilar = 64      // shorter texts are as short as a difference
	maxSimilar = 1 << 20 // longer ones would keep too much in memory
)

// likeKey names objects that are likely to be alike.
type likeKey struct {
	kind Kind
	key  string
}

// likeModel is the object that others are differences from, and where it is.
type likeModel struct {
	data  []byte
	texts *delta // nil for trees
	at    int64
	out   script
}

func newLikeModel(kind Kind, data []byte, at int64) *likeModel {
	m := &likeModel{data: data, at: at}
	if kind != Tree {
		m.texts = newDelta(data)
	}
	return m
}

// of gives the instructions that make data from the model, or false if they would be
// longer than limit. Trees of the same names differ in ids, which are in the same places.
func (m *likeModel) of(data []byte, limit int) ([]byte, bool) {
	if m.texts != nil {
		return m.texts.of(data, limit)
	}
	m.out.aligned(m.data, data)
	return m.out, len(m.out) <= limit
}
