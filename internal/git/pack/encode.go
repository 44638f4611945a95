package pack

import (
	"bytes"
	"compress/zlib"
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"

	"github.com/fairlead-io/fairlead/internal/base/parallel"
	"github.com/fairlead-io/fairlead/internal/base/tree"
)

type encoded struct {
	id     tree.ID
	kind   Kind
	size   int
	base   tree.ID
	folder tree.Tree // set if base is outside the pack
	body   []byte    // valid until the next object
}

type sink interface {
	has(tree.ID) bool
	writeEncoded(encoded) error
}

// encoder encodes trees. Its output depends on what it encoded before.
type encoder struct {
	to   sink
	made int
	// nil encodes serially
	parallelEncode func(context.Context, []changedEntry) error
	models         map[likeKey][]*likeModel
	deflate        *zlib.Writer

	fresh         []changedEntry // a stack of the entries of the folders being encoded
	compressed    bytes.Buffer
	scratch, body []byte
	script        script
}

func newEncoder(to sink) *encoder { return &encoder{to: to, models: map[likeKey][]*likeModel{}} }

// compressors are reused: each takes a megabyte.
var compressors sync.Pool

func (e *encoder) close() {
	if e.deflate != nil {
		e.deflate.Reset(io.Discard)
		compressors.Put(e.deflate)
		e.deflate = nil
	}
}

func (e *encoder) emit(o encoded) error {
	e.made++
	return e.to.writeEncoded(o)
}

func (e *encoder) encodeTree(ctx context.Context, t tree.Tree, known []tree.Tree) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if e.to.has(t.ID()) || slices.ContainsFunc(known, func(k tree.Tree) bool { return tree.Equal(k, t) }) {
		return nil
	}
	t = t.Expand()
	begin := len(e.fresh)
	var all []changedEntry
	all, known = appendChanged(e.fresh, t, known)
	e.fresh = all
	if err := e.encodeEntries(ctx, all[begin:]); err != nil {
		return err
	}
	e.fresh = e.fresh[:begin]
	if ok, err := e.encodeFromKnown(t, known); ok || err != nil {
		return err
	}
	text := t.Text()
	e.scratch = append(e.scratch[:0], text...)
	return e.encodeSimilar(Tree, likenessKey(text), t.ID(), e.scratch)
}

type changedEntry struct {
	entry tree.Entry
	known []tree.Tree
}

// appendChanged returns the entries of t that the known trees lack, and the known trees that it
// compared.
func appendChanged(into []changedEntry, t tree.Tree, known []tree.Tree) (all []changedEntry, looked []tree.Tree) {
	var first tree.Tree
	if len(known) > 0 {
		first = known[0]
	}
	begin := len(into)
	all = into
	for old, e := range tree.ChangedEntries(first, t) {
		one := changedEntry{entry: e}
		if old.IsDir() {
			one.known = append(one.known, old.Tree())
		}
		all = append(all, one)
	}
	entries, fresh := t.Len(), len(all)-begin
	if len(known) < 2 || entries > maxAlike && fresh <= entries/maxAlike { // comparing the others would not pay
		return all, known[:min(len(known), 1)]
	}
	for _, k := range known[1:] {
		entries, kept := k.Entries(), all[:begin]
		for _, one := range all[begin:] {
			for len(entries) > 0 && tree.CompareEntries(entries[0], one.entry) < 0 {
				entries = entries[1:]
			}
			if len(entries) > 0 && entries[0].Name == one.entry.Name {
				if entries[0].ID == one.entry.ID && entries[0].Mode == one.entry.Mode {
					continue
				}
				if entries[0].IsDir() {
					one.known = append(one.known, entries[0].Tree())
				}
			}
			kept = append(kept, one)
		}
		all = kept
	}
	return all, known
}

const minGroup = 512

func (e *encoder) encodeEntries(ctx context.Context, all []changedEntry) error {
	for i, one := range all {
		before := e.made
		if err := e.encodeEntry(ctx, one); err != nil {
			return err
		}
		if e.parallelEncode != nil && e.made-before >= minGroup {
			return e.parallelEncode(ctx, all[i+1:])
		}
	}
	return nil
}

func (e *encoder) encodeEntry(ctx context.Context, one changedEntry) error {
	switch f := one.entry; {
	case f.Mode == tree.ModeDir:
		return e.encodeTree(ctx, f.Tree(), one.known)
	case f.Mode == tree.ModeSubmodule:
		return nil
	case f.Data == nil && f.ID != emptyBlob:
		return fmt.Errorf("the content of %s (%s) is not at hand", f.Name, f.ID)
	default:
		return e.encodeSimilar(Blob, f.Name, f.ID, f.Data)
	}
}

var emptyBlob = tree.HashBlob(nil)

func (e *encoder) encodeWhole(kind Kind, id tree.ID, data []byte) (err error) {
	if e.deflate == nil {
		var ok bool
		e.deflate, ok = compressors.Get().(*zlib.Writer)
		if !ok {
			e.deflate, err = zlib.NewWriterLevel(io.Discard, zlib.BestSpeed)
		}
		if err != nil {
			return err
		}
	}
	e.compressed.Reset()
	e.deflate.Reset(&e.compressed)
	if _, err := e.deflate.Write(data); err != nil {
		return err
	}
	if err := e.deflate.Close(); err != nil {
		return err
	}
	return e.emit(encoded{id: id, kind: kind, size: len(data), body: e.compressed.Bytes()})
}

// encodeParallel keeps the order of entries, so that the pack does not depend on the number of
// processors.
func (w *Writer) encodeParallel(ctx context.Context, all []changedEntry) error {
	var free sync.Pool
	encode := func(i int) *batch {
		b, ok := free.Get().(*batch)
		if !ok {
			b = &batch{}
		}
		e := newEncoder(b)
		defer e.close()
		b.err = e.encodeEntry(ctx, all[i])
		return b
	}
	return parallel.EachInOrder(runtime.GOMAXPROCS(0), len(all), encode, func(b *batch) error {
		err := b.writeTo(w)
		clear(b.index.table)
		b.index.entries.clear()
		clear(b.objects)
		b.objects, b.bodies = b.objects[:0], b.bodies[:0]
		free.Put(b)
		return err
	})
}

type batch struct {
	index   objectTable
	objects []encoded
	bodies  []byte
	err     error
}

func (b *batch) has(id tree.ID) bool { return b.index.has(id) }

func (b *batch) writeEncoded(o encoded) error {
	b.index.addEntry(objectEntry{id: o.id, offset: int64(len(b.bodies))})
	b.bodies = append(b.bodies, o.body...)
	o.body = nil
	b.objects = append(b.objects, o)
	return nil
}

func (b *batch) writeTo(w *Writer) error {
	if b.err != nil {
		return b.err
	}
	for i, o := range b.objects {
		if w.has(o.id) {
			continue
		}
		end := int64(len(b.bodies))
		if i+1 < b.index.entries.count() {
			end = b.index.entries.entryAt(i + 1).offset
		}
		o.body = b.bodies[b.index.entries.entryAt(i).offset:end]
		if err := w.writeEncoded(o); err != nil {
			return err
		}
	}
	return nil
}
