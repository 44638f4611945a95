// Package pack reads and writes Git packs: files that hold many objects, and their
// indexes.
//
// What the package keeps true: a pack holds each object once. A pack that is sent may be
// thin: its objects are deltas from others that the receiver has. A pack that is kept needs no
// other; it is on disk, whole and indexed, before Git can see it; and "git fsck --strict" and
// "git index-pack --strict" accept it.
package pack

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/tree"
)

// Pack is a set of objects in a file that Git does not see yet: [Pack.Keep] makes it
// part of a repository, [Pack.Discard] removes it.
type Pack struct {
	Objects int
	Bytes   int64
	Path    string

	checksum [checksumSize]byte
	entries  objectList
	bases    []tree.ID // of deltas, that are not in the pack
}

// Discard removes the pack; of no effect once it is kept.
func (p *Pack) Discard() { _ = os.Remove(p.Path) }

// Kind is the type of an object as packs have it.
type Kind byte

// The kinds of objects. Tags are never written.
const (
	Commit Kind = 1
	Tree   Kind = 2
	Blob   Kind = 3
)

// Writer writes objects into a new pack file, each once.
type Writer struct {
	file    *os.File
	out     *bufio.Writer
	crc     hash.Hash32
	offset  int64
	index   objectTable
	bases   map[tree.ID]struct{} // known folders that others are deltas from
	encoder *encoder
	header  []byte
}

const (
	packHeader  = 12 // "PACK", the version, the number of objects
	packVersion = 2
	packBuffer  = 1 << 18

	indexMagic   = "\xfftOc"
	largeOffset  = 1 << 31 // and more do not fit into the first table of an index
	checksumSize = sha1.Size
)

// Write makes a pack of what fill writes, in a file in dir.
func Write(dir string, fill func(*Writer) error) (pack *Pack, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	file, err := os.CreateTemp(dir, temporaryPack)
	if err != nil {
		return nil, err
	}
	pack = &Pack{Path: file.Name()}
	defer func() {
		err = errors.Join(err, file.Close())
		if err != nil {
			pack.Discard()
			pack = nil
		}
	}()
	w := newWriter(file)
	if _, err := w.writeBytes(make([]byte, packHeader)); err != nil { // the number of objects is known at the end
		return pack, err
	}
	if err := fill(w); err != nil {
		return pack, err
	}
	for id := range w.bases {
		if !w.has(id) {
			pack.bases = append(pack.bases, id)
		}
	}
	slices.SortFunc(pack.bases, func(a, b tree.ID) int { return bytes.Compare(a[:], b[:]) })
	return pack, w.finishPack(pack)
}

func newWriter(file *os.File) *Writer {
	w := &Writer{file: file, out: bufio.NewWriterSize(file, packBuffer), crc: crc32.NewIEEE(), bases: map[tree.ID]struct{}{}}
	w.encoder = newEncoder(w)
	w.encoder.parallelEncode = w.encodeParallel
	return w
}

// temporaryPack begins the names of packs that are not part of a mirror yet. Git's own
// maintenance removes old files of such names.
const temporaryPack = "tmp_pack_"

// appendOffset encodes the distance to a base: seven bits a byte, the highest first,
// in which each byte that follows adds one.
func appendOffset(dst []byte, distance int64) []byte {
	var digits [10]byte
	i := len(digits) - 1
	digits[i] = byte(distance & 0x7f)
	for distance >>= 7; distance > 0; distance >>= 7 {
		distance--
		i--
		digits[i] = byte(distance&0x7f) | 0x80
	}
	return append(dst, digits[i:]...)
}

// WriteTree writes a tree and everything in it that the known trees, which the receiver of the pack
// has, lack at the same path. If the first of them has nearly all of a large folder, the others
// are not read.
func (w *Writer) WriteTree(ctx context.Context, t tree.Tree, known []tree.Tree) error {
	return w.encoder.encodeTree(ctx, t, known)
}

// WriteObject writes an object if the pack lacks it.
func (w *Writer) WriteObject(kind Kind, id tree.ID, data []byte) error {
	if w.has(id) {
		return nil
	}
	return w.encoder.encodeWhole(kind, id, data)
}

func (w *Writer) has(id tree.ID) bool { return w.index.has(id) }

func (w *Writer) writeEncoded(o encoded) error {
	switch o.kind {
	case offsetDelta:
		at := w.index.table[w.index.slotOf(o.base)]
		if at == 0 {
			return fmt.Errorf("object %s is made from %s, which is not written", o.id, o.base)
		}
		w.header = appendOffset(appendObjectHeader(w.header[:0], o.kind, o.size), w.offset-w.index.entries.entryAt(int(at-1)).offset)
	case refDelta:
		if _, needed := w.bases[o.id]; needed || w.has(o.base) {
			// A base is whole, so that no cycle can come about.
			return w.encoder.encodeWhole(Tree, o.id, []byte(o.folder.Text()))
		}
		w.bases[o.base] = struct{}{}
		w.header = append(appendObjectHeader(w.header[:0], o.kind, o.size), o.base[:]...)
	default:
		w.header = appendObjectHeader(w.header[:0], o.kind, o.size)
	}
	return w.writeRaw(o.id, w.header, o.body)
}

// writeRaw appends an object by its header and body.
func (w *Writer) writeRaw(id tree.ID, header, body []byte) error {
	at := w.offset
	w.crc.Reset()
	for _, part := range [][]byte{header, body} {
		if _, err := w.writeBytes(part); err != nil {
			return err
		}
	}
	w.index.addEntry(objectEntry{id, w.crc.Sum32(), at})
	return nil
}

func (w *Writer) writeBytes(p []byte) (int, error) {
	n, err := w.out.Write(p)
	w.crc.Write(p[:n])
	w.offset += int64(n)
	return n, err
}

// appendObjectHeader encodes kind and size: four bits of the size in the first byte,
// seven in each that follows.
func appendObjectHeader(dst []byte, kind Kind, size int) []byte {
	b := byte(kind)<<4 | byte(size&15)
	for size >>= 4; size > 0; size >>= 7 {
		dst = append(dst, b|0x80)
		b = byte(size & 0x7f)
	}
	return append(dst, b)
}

// finishPack writes the header and the checksum and syncs the file.
func (w *Writer) finishPack(p *Pack) error {
	w.encoder.close()
	if err := w.out.Flush(); err != nil {
		return err
	}
	header := binary.BigEndian.AppendUint32([]byte("PACK"), packVersion)
	header = binary.BigEndian.AppendUint32(header, uint32(w.index.entries.count()))
	if _, err := w.file.WriteAt(header, 0); err != nil {
		return err
	}
	// This checksum is against damage on the way, for which plain SHA-1 does.
	digest := sha1.New()
	if _, err := io.Copy(digest, io.NewSectionReader(w.file, 0, w.offset)); err != nil {
		return err
	}
	digest.Sum(p.checksum[:0])
	if _, err := w.file.WriteAt(p.checksum[:], w.offset); err != nil {
		return err
	}
	if err := w.file.Truncate(w.offset + checksumSize); err != nil { // more was written if it failed before
		return err
	}
	p.entries, p.Objects, p.Bytes = w.index.entries, w.index.entries.count(), w.offset+checksumSize
	return w.file.Sync()
}

// ObjectReader returns the kind and the content of an object that is stored.
type ObjectReader func(tree.ID) (Kind, []byte, error)

// MakeWhole makes a thin pack whole: it appends the bases that deltas need, uncompressed:
// Tidy drops them if older packs have them. If it fails, the pack is as thin as before.
func (p *Pack) MakeWhole(content ObjectReader) (err error) {
	if len(p.bases) == 0 {
		return nil
	}
	file, err := os.OpenFile(p.Path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	w := newWriter(file)
	w.index.entries.pieces = slices.Clone(p.entries.pieces) // what is added is not yet in p
	w.offset, err = file.Seek(p.Bytes-checksumSize, io.SeekStart)
	if err != nil {
		return err
	}
	var body []byte
	for _, id := range p.bases {
		kind, data, err := content(id)
		if err != nil {
			return fmt.Errorf("object %s: %w", id, err)
		}
		body = appendUncompressed(body[:0], data)
		if err := w.writeEncoded(encoded{id: id, kind: kind, size: len(data), body: body}); err != nil {
			return err
		}
	}
	p.bases = nil
	return w.finishPack(p)
}

// Name returns the pack's name in Git, without an ending.
func (p *Pack) Name() string { return fmt.Sprintf("pack-%x", p.checksum) }

// Keep makes the pack whole and adds it to the repository whose packs are in dir. The pack is
// written before its index: without one it does not exist for Git.
func (p *Pack) Keep(dir string, content ObjectReader) error {
	if err := p.MakeWhole(content); err != nil {
		return err
	}
	name := filepath.Join(dir, p.Name())
	index, err := os.CreateTemp(dir, "tmp_idx_")
	if err != nil {
		return err
	}
	defer os.Remove(index.Name()) // of no effect once it is renamed
	if err := errors.Join(p.writeIndex(index), index.Sync(), index.Close()); err != nil {
		return err
	}
	if err := os.Rename(p.Path, name+packEnding); err != nil {
		return err
	}
	if err := os.Rename(index.Name(), name+indexEnding); err != nil {
		return err
	}
	p.entries = objectList{} // the index has them now
	return nil
}

// writeIndex writes a pack index of version 2.
func (p *Pack) writeIndex(file io.Writer) error {
	all := p.entries.byID()
	sum := sha1.New()
	out := bufio.NewWriterSize(io.MultiWriter(file, sum), packBuffer)
	word := func(n uint32) { _, _ = out.Write(binary.BigEndian.AppendUint32(out.AvailableBuffer(), n)) } // its error is kept for Flush
	_, _ = out.WriteString(indexMagic)
	word(packVersion)
	next := 0
	for first := range 256 {
		for next < len(all) && int(all[next].id[0]) <= first {
			next++
		}
		word(uint32(next))
	}
	for _, e := range all {
		_, _ = out.Write(e.id[:])
	}
	for _, e := range all {
		word(e.crc)
	}
	var large []int64
	for _, e := range all {
		if e.offset < largeOffset {
			word(uint32(e.offset))
			continue
		}
		word(largeOffset | uint32(len(large)))
		large = append(large, e.offset)
	}
	for _, offset := range large {
		word(uint32(offset >> 32))
		word(uint32(offset))
	}
	_, _ = out.Write(p.checksum[:])
	if err := out.Flush(); err != nil {
		return err
	}
	_, err := file.Write(sum.Sum(nil))
	return err
}
