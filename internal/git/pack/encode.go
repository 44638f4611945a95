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

// encoded is an object that is encoded and has no offset in a pack yet.
type encoded struct {
	id     tree.ID
	kind   Kind
	size   int       // of the content, or of the instructions of a delta
	base   tree.ID   // of a delta
	folder tree.Tree // encoded as a delta from one that is not in the pack
	body   []byte    // valid until the next object
}

// sink takes objects.
type sink interface {
	has(tree.ID) bool
	writeEncoded(encoded) error
}

// encoder encodes the objects of trees. Its output depends on the trees and on what it
// encoded before.
type encoder struct {
	to   sink
	made int // objects so far
	// parallelEncode encodes entries concurrently; nil disables that.
	parallelEncode func(context.Context, []changedEntry) error
	models         map[likeKey][]*likeModel
	deflate        *zlib.Writer // nil until it is needed

	fresh         []changedEntry // of the folders that are being encoded
	compressed    bytes.Buffer
	scratch, body []byte
	script        script
}

func newEncoder(to sink) *encoder { return &encoder{to: to, models: map[likeKey][]*likeModel{}} }

// compressors are reused from one pack to the next: a new one takes a megabyte.
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

// encodeTree encodes a tree and everything in it that the known trees lack.
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

// changedEntry is an entry that is to be written.
type changedEntry struct {
	entry tree.Entry
	known []tree.Tree // folders at the same path
}

// appendChanged appends the entries of t that the known trees lack, and returns the known trees
// that it read.
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
	if len(known) < 2 || entries > maxAlike && fresh <= entries/maxAlike { // what others know besides is not worth looking into them
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

// minGroup is the number of objects from which on encoding them concurrently pays.
const minGroup = 512

// encodeEntries encodes the entries of a folder. If one of them has many objects, those after it
// are encoded concurrently.
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

// encodeEntry encodes the object that an entry names, and everything in it.
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

// encodeParallel encodes entries concurrently, each on its own, and writes them in their order: the
// pack does not depend on the number of processors.
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

// batch buffers encoded objects until they are written.
type batch struct {
	index   objectTable // offsets are those in bodies
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

// writeTo writes the objects that the pack lacks.
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
