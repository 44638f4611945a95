package pack

import (
	"encoding/binary"
	"errors"
	"hash/adler32"
	"math"
	"math/bits"
)

// delta encodes texts as copies from a base and inserted bytes, in the format of Git's packs.
type delta struct {
	base  []byte
	heads [1 << deltaBits]int32 // 1 + last offset in base with this hash
	prev  []int32               // by offset: 1 + previous offset with the same hash
	out   script
}

const (
	deltaBits = 11
	// deltaWord is the shortest copy; its instruction takes up to seven bytes.
	deltaWord = 8
	maxTries  = 8
	maxCopy   = 0xffff
	maxInsert = 0x7f
)

// newDelta indexes a base, which must not be modified afterwards.
func newDelta(base []byte) *delta {
	d := &delta{base: base, prev: make([]int32, len(base))}
	for i := 0; i+deltaWord <= len(base); i++ {
		h := wordHash(base[i:])
		d.prev[i] = d.heads[h]
		d.heads[h] = int32(i + 1)
	}
	return d
}

func wordHash(b []byte) uint32 {
	return uint32(binary.LittleEndian.Uint64(b) * 0x9e3779b97f4a7c15 >> (64 - deltaBits))
}

// encodeText returns false if the instructions exceed limit bytes. They are valid until the next
// call.
func (d *delta) encodeText(text []byte, limit int) ([]byte, bool) {
	d.out.reset(len(d.base), len(text))
	done := 0
	expect := 0
	for i := 0; i+deltaWord <= len(text); {
		from, n, back := d.findMatch(text, i, done, expect)
		if n == 0 {
			i++
			continue
		}
		d.out.insert(text[done : i-back])
		d.out.copy(from-back, n+back)
		i += n
		done, expect = i, from+n
		if len(d.out) > limit {
			return nil, false
		}
	}
	d.out.insert(text[done:])
	return d.out, len(d.out) <= limit
}

// findMatch returns the longest match for text at i, extended back to at most done. It tries the
// continuation of the last copy first.
func (d *delta) findMatch(text []byte, i, done, expect int) (from, n, back int) {
	try := func(at int) {
		if length := commonPrefix(d.base[at:], text[i:]); length >= deltaWord && length > n {
			from, n = at, length
		}
	}
	expect += i - done
	if expect+deltaWord <= len(d.base) {
		try(expect)
	}
	next := d.heads[wordHash(text[i:])]
	for range maxTries {
		if next == 0 || n >= len(text)-i {
			break
		}
		try(int(next - 1))
		next = d.prev[next-1]
	}
	for n > 0 && back < i-done && back < from && d.base[from-back-1] == text[i-back-1] {
		back++
	}
	return from, n, back
}

func commonPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	i := 0
	for ; i+8 <= n; i += 8 {
		if x := binary.LittleEndian.Uint64(a[i:]) ^ binary.LittleEndian.Uint64(b[i:]); x != 0 {
			return i + bits.TrailingZeros64(x)/8
		}
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}

type script []byte

func (s *script) reset(base, text int) {
	*s = binary.AppendUvarint((*s)[:0], uint64(base))
	*s = binary.AppendUvarint(*s, uint64(text))
}

func (s *script) insert(text []byte) {
	for len(text) > 0 {
		n := min(len(text), maxInsert)
		*s = append(append(*s, byte(n)), text[:n]...)
		text = text[n:]
	}
}

func (s *script) encodeAligned(base, text []byte) {
	s.reset(len(base), len(text))
	done := 0
	for i := 0; i < min(len(base), len(text)); {
		n := commonPrefix(base[i:], text[i:])
		if n < deltaWord {
			i += n + 1
			continue
		}
		s.insert(text[done:i])
		s.copy(i, n)
		i += n
		done = i
	}
	s.insert(text[done:])
}

// copy appends copy instructions: a byte with one bit per non-zero byte of offset and size, then
// those bytes.
func (s *script) copy(from, n int) {
	for n > 0 {
		size := min(n, maxCopy)
		out := append(*s, 0x80)
		at := len(out) - 1
		for i := range 4 {
			if b := byte(from >> (8 * i)); b != 0 {
				out[at] |= 1 << i
				out = append(out, b)
			}
		}
		for i := range 2 {
			if b := byte(size >> (8 * i)); b != 0 {
				out[at] |= 1 << (4 + i)
				out = append(out, b)
			}
		}
		*s, from, n = out, from+size, n-size
	}
}

var errDelta = errors.New("the difference that it is made from is damaged")

func deltaSizes(made []byte) (base, text int, rest []byte, err error) {
	for _, size := range []*int{&base, &text} {
		n, length := binary.Uvarint(made)
		if length <= 0 || n > math.MaxInt32 {
			return 0, 0, nil, errDelta
		}
		*size, made = int(n), made[length:]
	}
	return base, text, made, nil
}

func applyDelta(base, made []byte) ([]byte, error) {
	from, size, made, err := deltaSizes(made)
	if err != nil || from != len(base) {
		return nil, errDelta
	}
	text := make([]byte, 0, min(size, len(base)+len(made)+1<<20)) // a damaged size must not exhaust memory
	for len(made) > 0 {
		op := made[0]
		made = made[1:]
		var piece []byte
		if op&0x80 == 0 {
			if op == 0 || len(made) < int(op) {
				return nil, errDelta
			}
			piece, made = made[:op], made[op:]
		} else {
			var numbers [7]int
			for i := range numbers {
				if op&(1<<i) == 0 {
					continue
				}
				if len(made) == 0 {
					return nil, errDelta
				}
				numbers[i], made = int(made[0]), made[1:]
			}
			at := numbers[0] | numbers[1]<<8 | numbers[2]<<16 | numbers[3]<<24
			length := numbers[4] | numbers[5]<<8 | numbers[6]<<16
			if length == 0 {
				length = 0x10000
			}
			if at+length > len(base) {
				return nil, errDelta
			}
			piece = base[at : at+length]
		}
		text = append(text, piece...)
		if len(text) > size {
			return nil, errDelta
		}
	}
	if len(text) != size {
		return nil, errDelta
	}
	return text, nil
}

// appendUncompressed appends a zlib stream without compression, for which deltas are too short.
func appendUncompressed(dst, data []byte) []byte {
	const maxBlock = 0xffff
	dst = append(dst, 0x78, 0x01)
	rest := data
	for {
		n := min(len(rest), maxBlock)
		final := byte(0)
		if n == len(rest) {
			final = 1
		}
		dst = append(dst, final, byte(n), byte(n>>8), ^byte(n), ^byte(n>>8))
		dst = append(dst, rest[:n]...)
		rest = rest[n:]
		if len(rest) == 0 {
			break
		}
	}
	return binary.BigEndian.AppendUint32(dst, adler32.Checksum(data))
}
