package gittest

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/idxfile"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"

	"github.com/fairlead-io/fairlead/internal/git/pack"
)

// object is an object with its content.
type object struct {
	id   objectID
	kind pack.Kind
	data []byte
}

// The kinds of deltas in a pack, and the sizes of its header and its checksum.
const (
	offsetDelta = 6
	idDelta     = 7
	headerSize  = 12
)

// decodePack returns the objects of a pack. Those that some are deltas from may be elsewhere:
// base returns them.
func decodePack(text []byte, base func(objectID) (object, error)) ([]object, error) {
	if len(text) < headerSize+sha1.Size || string(text[:8]) != "PACK\x00\x00\x00\x02" {
		return nil, errLeft
	}
	content, sum := text[:len(text)-sha1.Size], text[len(text)-sha1.Size:]
	if is := sha1.Sum(content); !bytes.Equal(is[:], sum) {
		return nil, errLeft
	}
	var all []object
	at, byID := map[int64]object{}, map[objectID]object{}
	in := bytes.NewReader(content)
	in.Reset(content[headerSize:])
	for range binary.BigEndian.Uint32(text[8:]) {
		offset := int64(len(content) - in.Len())
		kind, err := readKind(in)
		if err != nil {
			return nil, err
		}
		var from object
		switch kind {
		case offsetDelta:
			distance, err := readDistance(in)
			if err != nil {
				return nil, err
			}
			from = at[offset-distance]
		case idDelta:
			var id objectID
			if _, err := io.ReadFull(in, id[:]); err != nil {
				return nil, err
			}
			from = byID[id]
			if from.data == nil {
				from, err = base(id)
				if err != nil {
					return nil, err
				}
			}
		}
		o := object{kind: kind}
		o.data, err = inflate(in)
		if err == nil && kind >= offsetDelta {
			o.kind = from.kind
			o.data, err = packfile.PatchDelta(from.data, o.data)
		}
		if err != nil || o.kind < pack.Commit || o.kind > pack.Blob {
			return nil, errLeft
		}
		o.id = objectID(plumbing.ComputeHash(plumbing.ObjectType(o.kind), o.data))
		at[offset], byID[o.id] = o, o
		all = append(all, o)
	}
	if in.Len() > 0 {
		return nil, errLeft
	}
	return all, nil
}

// readKind reads the header of an object.
func readKind(in *bytes.Reader) (pack.Kind, error) {
	first, err := in.ReadByte()
	for more := first; err == nil && more&0x80 != 0; {
		more, err = in.ReadByte()
	}
	return pack.Kind(first >> 4 & 7), err
}

// readDistance reads how far before an object the one is that it is a delta from.
func readDistance(in *bytes.Reader) (int64, error) {
	b, err := in.ReadByte()
	distance := int64(b & 0x7f)
	for err == nil && b&0x80 != 0 {
		b, err = in.ReadByte()
		distance = (distance+1)<<7 | int64(b&0x7f)
	}
	return distance, err
}

func inflate(in *bytes.Reader) ([]byte, error) {
	z, err := zlib.NewReader(in)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(z)
	return data, errors.Join(err, z.Close())
}

// deflaters write zlib streams without compressing: what a test sends is read at once, in the same process.
var deflaters = sync.Pool{New: func() any {
	z, _ := zlib.NewWriterLevel(nil, zlib.NoCompression) // there is this level
	return z
}}

func encodePack(all []object) (text []byte, index *idxfile.Writer, err error) {
	index = &idxfile.Writer{}
	err = index.OnHeader(uint32(len(all)))
	var out bytes.Buffer
	out.WriteString("PACK\x00\x00\x00\x02")
	out.Write(binary.BigEndian.AppendUint32(nil, uint32(len(all))))
	z := deflaters.Get().(*zlib.Writer)
	defer deflaters.Put(z)
	for _, o := range all {
		offset := out.Len()
		size := len(o.data)
		b := byte(o.kind)<<4 | byte(size&15)
		for size >>= 4; size > 0; size >>= 7 {
			out.WriteByte(b | 0x80)
			b = byte(size & 0x7f)
		}
		out.WriteByte(b)
		z.Reset(&out)
		_, written := z.Write(o.data)
		err = errors.Join(err, written, z.Close(), index.OnInflatedObjectContent(plumbing.Hash(o.id), int64(offset), crc32.ChecksumIEEE(out.Bytes()[offset:]), nil))
	}
	sum := sha1.Sum(out.Bytes())
	return append(out.Bytes(), sum[:]...), index, errors.Join(err, index.OnFooter(plumbing.Hash(sum)))
}

// keepObjects adds a pack of objects to a repository.
func keepObjects(dir string, all []object) error {
	text, writer, err := encodePack(all)
	if err != nil {
		return err
	}
	index, err := writer.Index()
	if err != nil {
		return err
	}
	var table bytes.Buffer
	if _, err := idxfile.NewEncoder(&table).Encode(index); err != nil {
		return err
	}
	folder := filepath.Join(dir, "objects/pack")
	name := filepath.Join(folder, "pack-"+plumbing.Hash(index.PackfileChecksum).String())
	if _, err := os.Lstat(name + ".idx"); err == nil { // it was sent before
		return nil
	}
	for _, file := range []struct {
		ending string
		data   []byte
	}{{".pack", text}, {".idx", table.Bytes()}} { // without an index it is not there
		made, err := os.CreateTemp(folder, "tmp_")
		if err != nil {
			return err
		}
		_, err = made.Write(file.data)
		if err := errors.Join(err, made.Chmod(0o444), made.Close()); err != nil {
			return err
		}
		if err := os.Rename(made.Name(), name+file.ending); err != nil {
			return err
		}
	}
	return nil
}
