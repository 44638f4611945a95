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
	put(encoded) error
}

// encoder encodes the objects of trees. Its output depends on the trees and on what it
// encoded before.
type encoder struct {
	to   sink
	made int // objects so far
	// spread encodes entries concurrently; nil disables that.
	spread  func(context.Context, []freshEntry) error
	models  map[likeKey][]*likeModel
	deflate *zlib.Writer // nil until it is needed

	fresh         []freshEntry // of the folders that are being encoded
	compressed    bytes.Buffer
	scratch, body []byte
	script        script
}

func newEncoder(to sink) *encoder { return &encoder{to: to, models: map[likeKey][]*likeModel{}} }

// compressors are reused from one pack to the next: a new one takes a megabyte.
var compressors sync.Pool

func compressor() (*zlib.Writer, error) {
	if w, ok := compressors.Get().(*zlib.Writer); ok {
		return w, nil
	}
	return zlib.NewWriterLevel(io.Discard, zlib.BestSpeed)
}

func (e *encoder) close() {
	if e.deflate != nil {
		e.deflate.Reset(io.Discard)
		compressors.Put(e.deflate)
		e.deflate = nil
	}
}

func (e *encoder) put(o encoded) error {
	e.made++
	return e.to.put(o)
}

// tree encodes a tree and everything in it that the known trees lack.
func (e *encoder) tree(ctx context.Context, t tree.Tree, known []tree.Tree) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if e.to.has(t.ID()) || slices.ContainsFunc(known, func(k tree.Tree) bool { return tree.Equal(k, t) }) {
		return nil
	}
	t = t.Opened()
	begin := len(e.fresh)
	var all []freshEntry
	all, known = freshEntries(e.fresh, t, known)
	e.fresh = all
	if err := e.entries(ctx, all[begin:]); err != nil {
		return err
	}
	e.fresh = e.fresh[:begin]
	if ok, err := e.fromKnown(t, known); ok || err != nil {
		return err
	}
	text := t.Text()
	e.scratch = append(e.scratch[:0], text...)
	return e.similar(Tree, likeness(text), t.ID(), e.scratch)
}

// freshEntry is an entry that is to be written.
type freshEntry struct {
	entry tree.Entry
	known []tree.Tree // folders at the same path
}

// freshEntries appends the entries of t that the known trees lack, and returns the known trees
// that it read.
func freshEntries(into []freshEntry, t tree.Tree, known []tree.Tree) (all []freshEntry, looked []tree.Tree) {
	var first tree.Tree
	if len(known) > 0 {
		first = known[0]
	}
	begin := len(into)
	all = into
	for old, e := range tree.Fresh(first, t) {
		one := freshEntry{entry: e}
		if old.IsDir() {
			one.known = append(one.known, old.Tree())
		}
		all = append(all, one)
	}
	if len(known) < 2 || isNearly(t.Len(), len(all)-begin) { // what others know besides is not worth looking into them
		return all, known[:min(len(known), 1)]
	}
	for _, k := range known[1:] {
		entries, kept := k.Entries(), all[:begin]
		for _, one := range all[begin:] {
			entries = from(entries, one.entry)
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

// entries encodes the entries of a folder. If one of them has many objects, those after it
// are encoded concurrently.
func (e *encoder) entries(ctx context.Context, all []freshEntry) error {
	for i, one := range all {
		before := e.made
		if err := e.entry(ctx, one); err != nil {
			return err
		}
		if e.spread != nil && e.made-before >= minGroup {
			return e.spread(ctx, all[i+1:])
		}
	}
	return nil
}

// entry encodes the object that an entry names, and everything in it.
func (e *encoder) entry(ctx context.Context, one freshEntry) error {
	switch f := one.entry; {
	case f.Mode == tree.ModeDir:
		return e.tree(ctx, f.Tree(), one.known)
	case f.Mode == tree.ModeSubmodule:
		return nil
	case f.Data == nil && f.ID != emptyBlob:
		return fmt.Errorf("the content of %s (%s) is not at hand", f.Name, f.ID)
	default:
		return e.similar(Blob, f.Name, f.ID, f.Data)
	}
}

var emptyBlob = tree.HashBlob(nil)

// whole encodes an object that is not a delta.
func (e *encoder) whole(kind Kind, id tree.ID, data []byte) (err error) {
	if e.deflate == nil {
		e.deflate, err = compressor()
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
	return e.put(encoded{id: id, kind: kind, size: len(data), body: e.compressed.Bytes()})
}

// spread encodes entries concurrently, each on its own, and writes them in their order: the
// pack does not depend on the number of processors.
func (w *Writer) spread(ctx context.Context, all []freshEntry) error {
	var free sync.Pool
	encode := func(i int) *batch {
		b, ok := free.Get().(*batch)
		if !ok {
			b = &batch{}
		}
		e := newEncoder(b)
		defer e.close()
		b.err = e.entry(ctx, all[i])
		return b
	}
	return parallel.InOrder(runtime.GOMAXPROCS(0), len(all), encode, func(b *batch) error {
		err := b.writeTo(w)
		b.reset()
		free.Put(b)
		return err
	})
}

// batch buffers encoded objects until they are written.
type batch struct {
	index   written // offsets are those in bodies
	objects []encoded
	bodies  []byte
	err     error
}

// reset empties the batch, so that it can be used again.
func (b *batch) reset() {
	clear(b.index.table)
	b.index.entries.reset()
	clear(b.objects)
	b.objects, b.bodies = b.objects[:0], b.bodies[:0]
}

func (b *batch) has(id tree.ID) bool { return b.index.has(id) }

func (b *batch) put(o encoded) error {
	b.index.add(entry{id: o.id, offset: int64(len(b.bodies))})
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
		if i+1 < b.index.entries.len() {
			end = b.index.entries.at(i + 1).offset
		}
		o.body = b.bodies[b.index.entries.at(i).offset:end]
		if err := w.put(o); err != nil {
			return err
		}
	}
	return nil
}
