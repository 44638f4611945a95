package pack

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/adler32"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/tree"
)

var (
	// ErrNotFound means that no pack has the object.
	ErrNotFound = errors.New("no pack has this object")
	// ErrLarge means that an object exceeds the caller's limit.
	ErrLarge = errors.New("the object is too large")
)

// Set is the packs of a repository. It is not safe for concurrent use. Refresh reads only new
// indexes.
type Set struct {
	dir    string
	packs  []*indexedPack // newest first
	bySize []*indexedPack // most objects first
	open   []*indexedPack // open files, least recently used first

	in        *bufio.Reader
	inflater  io.ReadCloser
	bases     map[location]object
	basesSize int
	unindexed map[tree.ID]int64 // of a pack without an index yet
}

type location struct {
	pack   *indexedPack
	offset int64
}

type object struct {
	kind Kind
	data []byte
}

const (
	packEnding  = ".pack"
	indexEnding = ".idx"
	maxOpen     = 8
	maxBases    = 4 << 20
	maxChain    = 10_000
)

// Open returns the indexed packs in dir. The caller must close the Set.
func Open(dir string) (*Set, error) {
	s := newSet(dir)
	_, err := s.Refresh()
	return s, err
}

func newSet(dir string) *Set {
	return &Set{dir: dir, bases: map[location]object{}, in: bufio.NewReaderSize(nil, 4096)}
}

// Clone returns a Set for concurrent reading. The caller must close it.
func (s *Set) Clone() *Set {
	other := newSet(s.dir)
	for _, p := range s.packs {
		same := *p
		same.file = nil
		other.packs = append(other.packs, &same)
	}
	other.sortBySize()
	return other
}

// Refresh rereads the list of packs and reports whether it changed.
func (s *Set) Refresh() (changed bool, err error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return false, err
	}
	there := map[string]bool{}
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), indexEnding); ok && strings.HasPrefix(name, "pack-") {
			there[name] = true
		}
	}
	kept := make([]*indexedPack, 0, len(s.packs))
	for _, p := range s.packs {
		if !there[p.name] {
			for where, base := range s.bases {
				if where.pack == p {
					s.basesSize -= len(base.data)
					delete(s.bases, where)
				}
			}
			err = errors.Join(err, s.closePack(p))
			changed = true
			continue
		}
		delete(there, p.name)
		kept = append(kept, p)
	}
	for name := range there {
		p, failed := openPack(s.dir, name)
		if failed != nil {
			err = errors.Join(err, failed)
			continue
		}
		kept, changed = append(kept, p), true
	}
	slices.SortStableFunc(kept, func(a, b *indexedPack) int {
		return cmp.Or(cmp.Compare(b.made, a.made), strings.Compare(a.name, b.name))
	})
	s.packs = kept
	s.sortBySize()
	return changed, err
}

func (s *Set) sortBySize() {
	s.bySize = slices.Clone(s.packs)
	slices.SortStableFunc(s.bySize, func(a, b *indexedPack) int { return b.objects - a.objects })
}

func (s *Set) closePack(p *indexedPack) error {
	s.open = slices.DeleteFunc(s.open, func(o *indexedPack) bool { return o == p })
	if p.file == nil {
		return nil
	}
	err := p.file.Close()
	p.file = nil
	return err
}

// Close closes the files; reading opens them again.
func (s *Set) Close() error {
	var err error
	for _, p := range s.packs {
		err = errors.Join(err, s.closePack(p))
	}
	return err
}

func (s *Set) openFile(p *indexedPack) (*os.File, error) {
	if p.file != nil {
		return p.file, nil
	}
	if len(s.open) >= maxOpen {
		if err := s.closePack(s.open[0]); err != nil {
			return nil, err
		}
	}
	file, err := os.Open(filepath.Join(s.dir, p.name+packEnding))
	if err != nil {
		return nil, err
	}
	p.file, s.open = file, append(s.open, p)
	return file, nil
}

// Has reports whether a pack has an object.
func (s *Set) Has(id tree.ID) bool {
	_, ok := s.findObject(id)
	return ok
}

// findObject searches the largest packs first: the mirror's first pack has most objects.
func (s *Set) findObject(id tree.ID) (location, bool) {
	for _, p := range s.bySize {
		if at, ok := p.findOffset(id); ok {
			return location{p, at}, true
		}
	}
	return location{}, false
}

// FindPrefix returns the ids of all objects that begin with prefix.
func (s *Set) FindPrefix(prefix []byte) []tree.ID {
	var ids []tree.ID
	for _, p := range s.packs {
		var first tree.ID
		copy(first[:], prefix)
		for i := p.searchID(first); i < p.objects && bytes.HasPrefix(p.idAt(i), prefix); i++ {
			ids = append(ids, tree.ID(p.idAt(i)))
		}
	}
	return ids
}

// Read returns an object's kind and content, which must not be modified.
func (s *Set) Read(id tree.ID) (Kind, []byte, error) { return s.ReadLimited(id, math.MaxInt64) }

// ReadLimited is Read for at most limit bytes; the error is ErrLarge for more.
func (s *Set) ReadLimited(id tree.ID, limit int64) (Kind, []byte, error) {
	where, ok := s.findObject(id)
	if !ok {
		return 0, nil, ErrNotFound
	}
	o, err := s.readObject(where, limit)
	if errors.Is(err, ErrLarge) {
		return 0, nil, err
	}
	if err != nil {
		return 0, nil, fmt.Errorf("object %s in %s: %w", id, where.pack.name, err)
	}
	return o.kind, o.data, nil
}

// Size returns an object's size in bytes, at a third of the cost of Read.
func (s *Set) Size(id tree.ID) (int64, error) {
	where, ok := s.findObject(id)
	if !ok {
		return 0, ErrNotFound
	}
	h, err := s.readHeader(where)
	if err != nil {
		return 0, fmt.Errorf("object %s in %s: %w", id, where.pack.name, err)
	}
	if !h.isDelta() {
		return int64(h.size), nil
	}
	made, err := s.inflateBody(h)
	if err != nil {
		return 0, err
	}
	_, size, _, err := deltaSizes(made)
	return int64(size), err
}

func (s *Set) readObject(where location, limit int64) (object, error) {
	var deltas [][]byte
	var base object
	for {
		if known, ok := s.bases[where]; ok {
			base = known
			if len(deltas) == 0 && int64(len(base.data)) > limit {
				return object{}, ErrLarge
			}
			break
		}
		h, err := s.readHeader(where)
		if err != nil {
			return object{}, err
		}
		if len(deltas) == 0 && !h.isDelta() && int64(h.size) > limit {
			return object{}, ErrLarge
		}
		data, err := s.inflateBody(h)
		if err != nil {
			return object{}, err
		}
		if !h.isDelta() {
			base = object{h.kind, data}
			if len(deltas) > 0 && len(data) <= maxBases/4 {
				s.basesSize += len(data)
				if s.basesSize > maxBases {
					clear(s.bases)
					s.basesSize = len(data)
				}
				s.bases[where] = base
			}
			break
		}
		_, size, _, err := deltaSizes(data)
		if err != nil {
			return object{}, err
		}
		if len(deltas) == 0 && int64(size) > limit {
			return object{}, ErrLarge
		}
		deltas = append(deltas, data)
		if len(deltas) > maxChain {
			return object{}, errors.New("it is made from too many others")
		}
		where, err = s.findBase(where, h)
		if err != nil {
			return object{}, err
		}
	}
	var err error
	for _, made := range slices.Backward(deltas) {
		base.data, err = applyDelta(base.data, made)
		if err != nil {
			return object{}, err
		}
	}
	return base, nil
}

var errNoBase = errors.New("it is made from an object that is not in the pack")

func (s *Set) findBase(where location, h header) (location, error) {
	if h.kind == offsetDelta {
		return location{where.pack, where.offset - h.distance}, nil
	}
	if s.unindexed != nil {
		if at, ok := s.unindexed[h.base]; ok {
			return location{where.pack, at}, nil
		}
		return location{}, errNoBase
	}
	if at, ok := where.pack.findOffset(h.base); ok {
		return location{where.pack, at}, nil
	}
	found, ok := s.findObject(h.base)
	if !ok {
		return location{}, fmt.Errorf("it is made from %s, which is not there", h.base)
	}
	return found, nil
}

type header struct {
	kind     Kind
	size     int
	distance int64
	base     tree.ID
	length   int
}

func (h header) isDelta() bool { return h.kind == offsetDelta || h.kind == refDelta }

const maxHeader = 2*binary.MaxVarintLen64 + len(tree.ID{})

func (s *Set) readHeader(where location) (header, error) {
	file, err := s.openFile(where.pack)
	if err != nil {
		return header{}, err
	}
	if where.offset < packHeader {
		return header{}, errNoHeader
	}
	s.in.Reset(&shortFirstReader{in: io.NewSectionReader(file, where.offset, 1<<62)})
	room, err := s.in.Peek(maxHeader)
	if err != nil && !errors.Is(err, io.EOF) {
		return header{}, err
	}
	h, err := parseHeader(room)
	if err == nil {
		_, err = s.in.Discard(h.length)
	}
	return h, err
}

// shortFirstReader reads at most 512 bytes at first: most objects are short.
type shortFirstReader struct {
	in    io.Reader
	begun bool
}

func (r *shortFirstReader) Read(room []byte) (int, error) {
	if !r.begun {
		r.begun, room = true, room[:min(len(room), 512)]
	}
	return r.in.Read(room)
}

// maxShift bounds numbers, with room for seven more bits.
const maxShift = 48

var errNoHeader = errors.New("its beginning cannot be read")

// parseHeader parses four bits of the size in the first byte, seven in each further byte, then a
// delta's base.
func parseHeader(raw []byte) (header, error) {
	if len(raw) == 0 {
		return header{}, errNoHeader
	}
	h := header{kind: Kind(raw[0] >> 4 & 7), size: int(raw[0] & 15), length: 1}
	for shift := 4; raw[h.length-1]&0x80 != 0; shift += 7 {
		if h.length == len(raw) || shift > maxShift {
			return header{}, errNoHeader
		}
		h.size |= int(raw[h.length]&0x7f) << shift
		h.length++
	}
	rest := raw[h.length:]
	switch h.kind {
	case offsetDelta:
		// Seven bits per byte; each further byte adds one.
		for i, b := range rest {
			h.distance = h.distance<<7 | int64(b&0x7f)
			if h.distance >= 1<<maxShift {
				break
			}
			if b&0x80 == 0 {
				h.length += i + 1
				return h, nil
			}
			h.distance++
		}
		return header{}, errNoHeader
	case refDelta:
		if len(rest) < len(h.base) {
			return header{}, errNoHeader
		}
		h.length += copy(h.base[:], rest)
	}
	return h, nil
}

func (s *Set) inflateBody(h header) (data []byte, err error) {
	if data, ok, err := readUncompressed(s.in, h.size); ok || err != nil {
		return data, err
	}
	if s.inflater == nil {
		s.inflater, err = zlib.NewReader(s.in)
	} else {
		err = s.inflater.(zlib.Resetter).Reset(s.in, nil)
	}
	if err != nil {
		return nil, err
	}
	// A damaged size must not exhaust memory.
	room := bytes.NewBuffer(make([]byte, 0, min(h.size, 1<<20)+bytes.MinRead))
	n, err := room.ReadFrom(io.LimitReader(s.inflater, int64(h.size)+1))
	if err == nil && n != int64(h.size) {
		err = fmt.Errorf("it has not the %d bytes that it should", h.size)
	}
	return room.Bytes(), err
}

// readUncompressed reads one block of [appendUncompressed], as most of Fairlead's bodies, at a
// tenth of the cost of inflating. For any other body, ok is false and nothing is consumed.
func readUncompressed(in *bufio.Reader, size int) (data []byte, ok bool, err error) {
	head, _ := in.Peek(7) // the inflater reports a short body
	if len(head) < 7 || head[0] != 0x78 || head[1] != 0x01 || head[2] != 1 || int(binary.LittleEndian.Uint16(head[3:])) != size ||
		binary.LittleEndian.Uint16(head[3:]) != ^binary.LittleEndian.Uint16(head[5:]) {
		return nil, false, nil
	}
	data = make([]byte, len(head)+size+adler32.Size)
	if _, err := io.ReadFull(in, data); err != nil {
		return nil, false, err
	}
	data, sum := data[len(head):len(head)+size:len(head)+size], data[len(head)+size:]
	if adler32.Checksum(data) != binary.BigEndian.Uint32(sum) {
		return nil, false, zlib.ErrChecksum
	}
	return data, true, nil
}
