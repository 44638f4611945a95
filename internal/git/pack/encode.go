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

// encoded is an object that is not yet at a place in a pack.
type encoded struct {
	id     tree.ID
	kind   Kind
	size   int       // of the content, or of the instructions of a difference
	base   tree.ID   // of a difference
	folder tree.Tree // that is a difference from one that is not in the pack
	body   []byte    // good until the next object
}

// sink takes objects.
type sink interface {
	has(tree.ID) bool
	put(encoded) error
}

// encoder encodes the objects of trees. What it makes depends on the trees and on what it
// has encoded before.
type encoder struct {
	to   sink
	made int // objects so far
	// spread encodes entries at the same time; nil if that is not to be.
	spread  func(context.Context, []freshEntry) error
	models  map[likeKey][]*likeModel
	deflate *zlib.Writer // nil until it is needed

	fresh         []freshEntry // of the folders that are being encoded
	compressed    bytes.Buffer
	scratch, body []byte
	script        script
}

func newEncoder(to sink) *encoder { return &encoder{to: to, models: map[likeKey][]*likeModel{}} }

// compressors are kept from one pack to the next: a new one takes a megabyte.
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

// tree encodes a tree and what is in it, but for what the known trees have.
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

// freshEntry is one that is to be written.
type freshEntry struct {
	tree.Entry
	known []tree.Tree // folders in its place
}

// freshEntries appends what is in a tree and not in the known ones, and gives those of them
// that were looked into.
func freshEntries(into []freshEntry, t tree.Tree, known []tree.Tree) (all []freshEntry, looked []tree.Tree) {
	var first tree.Tree
	if len(known) > 0 {
		first = known[0]
	}
	begin := len(into)
	all = into
	for old, e := range tree.Fresh(first, t) {
		one := freshEntry{Entry: e}
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
			entries = from(entries, one.Entry)
			if len(entries) > 0 && entries[0].Name == one.Name {
				if entries[0].ID == one.ID && entries[0].Mode == one.Mode {
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

// minGroup is the number of objects from which on it is worth it to encode them beside
// others.
const minGroup = 512

// entries encodes what is in a folder. If one of them came to many objects, those after it
// are encoded at the same time.
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

// entry encodes what an entry names.
func (e *encoder) entry(ctx context.Context, one freshEntry) error {
	switch one.Mode {
	case tree.ModeDir:
		return e.tree(ctx, one.Tree(), one.known)
	case tree.ModeSubmodule:
		return nil
	}
	if one.Data == nil && one.ID != emptyBlob {
		return fmt.Errorf("the content of %s (%s) is not at hand", one.Name, one.ID)
	}
	return e.similar(Blob, one.Name, one.ID, one.Data)
}

var emptyBlob = tree.HashBlob(nil)

// whole encodes an object that is not a difference.
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

// spread encodes entries at the same time, each by itself, and writes them in their order:
// what is written does not depend on how many processors there are.
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

// batch keeps objects until it is their turn.
type batch struct {
	written // where the body of each is
	objects []encoded
	bodies  []byte
	err     error
}

// reset empties the batch, so that it can be used again.
func (b *batch) reset() {
	clear(b.table)
	b.entries.reset()
	clear(b.objects)
	b.objects, b.bodies = b.objects[:0], b.bodies[:0]
}

func (b *batch) put(o encoded) error {
	b.add(entry{id: o.id, offset: int64(len(b.bodies))})
	b.bodies = append(b.bodies, o.body...)
	o.body = nil
	b.objects = append(b.objects, o)
	return nil
}

// writeTo writes the objects that the pack does not have yet.
func (b *batch) writeTo(w *Writer) error {
	if b.err != nil {
		return b.err
	}
	for i, o := range b.objects {
		if w.has(o.id) {
			continue
		}
		end := int64(len(b.bodies))
		if i+1 < b.entries.len() {
			end = b.entries.at(i + 1).offset
		}
		o.body = b.bodies[b.entries.at(i).offset:end]
		if err := w.put(o); err != nil {
			return err
		}
	}
	return nil
}
