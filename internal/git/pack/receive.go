package pack

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"os"
	"slices"

	"github.com/pjbgf/sha1cd"

	"github.com/fairlead-io/fairlead/internal/base/tree"
)

// ErrBroken means that a received pack is malformed.
var ErrBroken = errors.New("it cannot be read")

// Receive indexes a pack that is not thin and adds it to those in dir. It suits thousands of
// objects: it resolves each delta separately.
func Receive(dir string, in io.Reader) (err error) {
	file, err := os.CreateTemp(dir, temporaryPack)
	if err != nil {
		return err
	}
	p := &Pack{Path: file.Name()}
	defer p.Discard()
	defer func() { err = errors.Join(err, file.Close()) }()
	p.Bytes, err = io.Copy(file, in)
	if err != nil {
		return err
	}
	r := &receiver{pack: p, file: file, own: &indexedPack{file: file}, offsets: map[tree.ID]int64{}}
	if err := r.indexObjects(); err != nil {
		return fmt.Errorf("%w: %w", ErrBroken, err)
	}
	if p.entries.count() == 0 {
		return nil
	}
	if err := file.Sync(); err != nil {
		return err
	}
	return p.Keep(dir, nil)
}

type receiver struct {
	pack    *Pack
	file    *os.File
	own     *indexedPack
	offsets map[tree.ID]int64
	waiting []objectEntry
	raw     []byte
}

var kindNames = map[Kind]string{Commit: "commit", Tree: "tree", Blob: "blob", 4: "tag"}

func (r *receiver) indexObjects() error {
	end := r.pack.Bytes - checksumSize
	sum := sha1.New() // against transmission errors
	if _, err := io.Copy(sum, io.NewSectionReader(r.file, 0, max(0, end))); err != nil {
		return err
	}
	if _, err := r.file.ReadAt(r.pack.checksum[:], max(0, end)); err != nil || !bytes.Equal(sum.Sum(nil), r.pack.checksum[:]) {
		return errors.Join(errors.New("its checksum is wrong"), err)
	}
	var head [packHeader]byte
	if _, err := r.file.ReadAt(head[:], 0); err != nil || string(head[:4]) != "PACK" || binary.BigEndian.Uint32(head[4:]) != packVersion {
		return errors.Join(errors.New("it has no header"), err)
	}
	if err := r.scanObjects(int(binary.BigEndian.Uint32(head[8:])), end); err != nil {
		return err
	}
	if err := r.resolveDeltas(); err != nil {
		return err
	}
	r.pack.Objects = r.pack.entries.count()
	return nil
}

func (r *receiver) scanObjects(objects int, end int64) error {
	in := &countingReader{in: bufio.NewReaderSize(io.NewSectionReader(r.file, packHeader, end-packHeader), packBuffer), at: packHeader}
	var inflater io.ReadCloser
	id := sha1cd.New()
	for range objects {
		e := objectEntry{offset: in.at}
		room, err := in.in.Peek(maxHeader)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		h, err := parseHeader(room)
		if err != nil {
			return err
		}
		if _, err := io.CopyN(io.Discard, in, int64(h.length)); err != nil {
			return err
		}
		if inflater == nil {
			inflater, err = zlib.NewReader(in)
		} else {
			err = inflater.(zlib.Resetter).Reset(in, nil)
		}
		if err != nil {
			return err
		}
		e.id, err = hashObject(id, h, inflater)
		if err != nil {
			return fmt.Errorf("the object at %d: %w", e.offset, err)
		}
		e.crc, err = r.checksum(e.offset, in.at)
		if err != nil {
			return err
		}
		if h.isDelta() {
			r.waiting = append(r.waiting, e)
			continue
		}
		r.addObject(e)
	}
	if in.at != end {
		return errors.New("there is more in it than it says")
	}
	return nil
}

func (r *receiver) addObject(e objectEntry) {
	if _, twice := r.offsets[e.id]; twice {
		return
	}
	r.offsets[e.id] = e.offset
	r.pack.entries.appendEntry(e)
}

// maxMade bounds a delta's result in bytes: Git makes no deltas of larger objects, and a short
// delta can describe gigabytes.
const maxMade = 512 << 20

// hashObject reads an object to its end and returns its id; zero for a delta.
func hashObject(id hash.Hash, h header, data io.Reader) (tree.ID, error) {
	to := io.Discard
	if !h.isDelta() {
		if kindNames[h.kind] == "" {
			return tree.ID{}, fmt.Errorf("there are no objects of kind %d", h.kind)
		}
		id.Reset()
		fmt.Fprintf(id, "%s %d\x00", kindNames[h.kind], h.size)
		to = id
	}
	n, err := io.Copy(to, data) // reading to the end checks zlib's checksum
	if err == nil && n != int64(h.size) {
		err = fmt.Errorf("it has %d bytes, and should have %d", n, h.size)
	}
	if err != nil || h.isDelta() {
		return tree.ID{}, err
	}
	return tree.ID(id.Sum(nil)), nil
}

func (r *receiver) resolveDeltas() error {
	s := newSet("")
	s.unindexed = r.offsets
	id := sha1cd.New()
	for len(r.waiting) > 0 {
		var left []objectEntry
		for _, d := range r.waiting {
			made, err := s.readObject(location{r.own, d.offset}, maxMade)
			if errors.Is(err, errNoBase) {
				left = append(left, d)
				continue
			}
			if err != nil {
				return fmt.Errorf("the object at %d: %w", d.offset, err)
			}
			d.id, err = hashObject(id, header{kind: made.kind, size: len(made.data)}, bytes.NewReader(made.data))
			if err != nil {
				return err
			}
			r.addObject(d)
		}
		if len(left) == len(r.waiting) {
			return fmt.Errorf("the object at %d: %w", left[0].offset, errNoBase)
		}
		r.waiting = left
	}
	return nil
}

func (r *receiver) checksum(from, to int64) (uint32, error) {
	r.raw = slices.Grow(r.raw[:0], int(min(to-from, packBuffer)))
	sum := uint32(0)
	for from < to {
		r.raw = r.raw[:min(to-from, packBuffer)]
		if _, err := r.file.ReadAt(r.raw, from); err != nil {
			return 0, err
		}
		sum, from = crc32.Update(sum, crc32.IEEETable, r.raw), from+int64(len(r.raw))
	}
	return sum, nil
}

// countingReader is an io.ByteReader so that an inflater does not read ahead.
type countingReader struct {
	in *bufio.Reader
	at int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	c.at += int64(n)
	return n, err
}

func (c *countingReader) ReadByte() (byte, error) {
	b, err := c.in.ReadByte()
	if err == nil {
		c.at++
	}
	return b, err
}
