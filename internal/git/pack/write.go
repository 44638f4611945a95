// Package pack reads and writes Git packs and their indexes.
//
// What the package keeps true: a pack holds each object once. A sent pack may be thin, with delta
// bases that only the receiver has. A kept pack is self-contained, and complete and indexed on disk
// before Git can see it. "git fsck --strict" and "git index-pack --strict" accept it.
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

// Pack is a file of objects outside of a repository until [Pack.Keep].
type Pack struct {
	Objects int
	Bytes   int64
	Path    string

	checksum [checksumSize]byte
	entries  objectList
	bases    []tree.ID // delta bases outside the pack
}

// Discard removes the pack. It has no effect after Keep.
func (p *Pack) Discard() { _ = os.Remove(p.Path) }

// Kind is an object's type, as encoded in packs.
type Kind byte

// The kinds of objects. Tags are never written.
const (
	Commit Kind = 1
	Tree   Kind = 2
	Blob   Kind = 3
)

// Writer writes each object once to a new pack.
type Writer struct {
	file    *os.File
	out     *bufio.Writer
	crc     hash.Hash32
	offset  int64
	index   objectTable
	bases   map[tree.ID]struct{}
	encoder *encoder
	header  []byte
}

const (
	packHeader  = 12 // "PACK", version, number of objects
	packVersion = 2
	packBuffer  = 1 << 18

	indexMagic   = "\xfftOc"
	largeOffset  = 1 << 31
	checksumSize = sha1.Size
)

// Write makes a pack in dir of the objects that fill writes.
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
	if _, err := w.writeBytes(make([]byte, packHeader)); err != nil {
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

// temporaryPack: Git's own maintenance removes old files with this prefix.
const temporaryPack = "tmp_pack_"

// appendOffset appends seven bits per byte, most significant first; each further byte adds one.
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

// WriteTree writes everything in a tree that known, the receiver's trees, lacks at the same path.
// If the first has nearly all of a large folder, the others are not read.
func (w *Writer) WriteTree(ctx context.Context, t tree.Tree, known []tree.Tree) error {
	return w.encoder.encodeTree(ctx, t, known)
}

// WriteObject writes an object unless the pack has it.
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
			// Whole, to prevent cycles.
			return w.encoder.encodeWhole(Tree, o.id, []byte(o.folder.Text()))
		}
		w.bases[o.base] = struct{}{}
		w.header = append(appendObjectHeader(w.header[:0], o.kind, o.size), o.base[:]...)
	default:
		w.header = appendObjectHeader(w.header[:0], o.kind, o.size)
	}
	return w.writeRaw(o.id, w.header, o.body)
}

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

// appendObjectHeader appends four bits of the size in the first byte, seven in each further byte.
func appendObjectHeader(dst []byte, kind Kind, size int) []byte {
	b := byte(kind)<<4 | byte(size&15)
	for size >>= 4; size > 0; size >>= 7 {
		dst = append(dst, b|0x80)
		b = byte(size & 0x7f)
	}
	return append(dst, b)
}

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
	// SHA-1 suffices against transmission errors.
	digest := sha1.New()
	if _, err := io.Copy(digest, io.NewSectionReader(w.file, 0, w.offset)); err != nil {
		return err
	}
	digest.Sum(p.checksum[:0])
	if _, err := w.file.WriteAt(p.checksum[:], w.offset); err != nil {
		return err
	}
	if err := w.file.Truncate(w.offset + checksumSize); err != nil { // a failed MakeWhole may have left more
		return err
	}
	p.entries, p.Objects, p.Bytes = w.index.entries, w.index.entries.count(), w.offset+checksumSize
	return w.file.Sync()
}

// ObjectReader returns a stored object.
type ObjectReader func(tree.ID) (Kind, []byte, error)

// MakeWhole adds the bases that a thin pack lacks, uncompressed; Repack drops them if older packs
// have them. If it fails, the pack stays thin.
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
	w.index.entries.pieces = slices.Clone(p.entries.pieces) // keeps p unchanged until the end
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

// Name returns the file name without extension.
func (p *Pack) Name() string { return fmt.Sprintf("pack-%x", p.checksum) }

// Keep makes the pack whole and adds it to those in dir. It renames the index last: without it, a
// pack does not exist for Git.
func (p *Pack) Keep(dir string, content ObjectReader) error {
	if err := p.MakeWhole(content); err != nil {
		return err
	}
	name := filepath.Join(dir, p.Name())
	index, err := os.CreateTemp(dir, "tmp_idx_")
	if err != nil {
		return err
	}
	defer os.Remove(index.Name())
	if err := errors.Join(p.writeIndex(index), index.Sync(), index.Close()); err != nil {
		return err
	}
	if err := os.Rename(p.Path, name+packEnding); err != nil {
		return err
	}
	if err := os.Rename(index.Name(), name+indexEnding); err != nil {
		return err
	}
	p.entries = objectList{}
	return nil
}

func (p *Pack) writeIndex(file io.Writer) error {
	all := p.entries.byID()
	sum := sha1.New()
	out := bufio.NewWriterSize(io.MultiWriter(file, sum), packBuffer)
	word := func(n uint32) { _, _ = out.Write(binary.BigEndian.AppendUint32(out.AvailableBuffer(), n)) }
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
