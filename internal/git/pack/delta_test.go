package pack

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
)

// apply makes a text from a base as a delta says, as Git does.
func apply(base, made []byte) ([]byte, error) {
	size, n := binary.Uvarint(made)
	if n <= 0 || int(size) != len(base) {
		return nil, fmt.Errorf("the base has %d bytes and not %d", len(base), size)
	}
	made = made[n:]
	size, n = binary.Uvarint(made)
	made = made[n:]
	var text []byte
	for len(made) > 0 {
		op := made[0]
		made = made[1:]
		if op == 0 {
			return nil, fmt.Errorf("instruction 0")
		}
		if op < 0x80 {
			text, made = append(text, made[:op]...), made[op:]
			continue
		}
		var from, length int
		for i := range 7 {
			if op&(1<<i) == 0 {
				continue
			}
			if i < 4 {
				from |= int(made[0]) << (8 * i)
			} else {
				length |= int(made[0]) << (8 * (i - 4))
			}
			made = made[1:]
		}
		if length == 0 {
			length = 0x10000
		}
		text = append(text, base[from:from+length]...)
	}
	if int(size) != len(text) {
		return nil, fmt.Errorf("it makes %d bytes and not %d", len(text), size)
	}
	return text, nil
}

func checkDelta(t *testing.T, base, text []byte) int {
	t.Helper()
	made, ok := newDelta(base).encodeText(text, 1<<30)
	if !ok {
		t.Fatal("there is no delta without a limit")
	}
	got, err := apply(base, made)
	if err != nil || !bytes.Equal(got, text) {
		t.Fatalf("from %q\nto   %q\ncame %q (%v)", base, text, got, err)
	}
	var aligned script
	aligned.encodeAligned(base, text)
	if got, err := apply(base, aligned); err != nil || !bytes.Equal(got, text) {
		t.Fatalf("from %q\nto   %q, in the same places,\ncame %q (%v)", base, text, got, err)
	}
	return len(made)
}

func TestDelta(t *testing.T) {
	long := strings.Repeat("all work and no play\n", 10_000)
	for _, c := range []struct {
		base, text string
		most       int // bytes
	}{
		{"", "", 2}, {"", "x", 4}, {"x", "", 2}, {"abcdefgh", "abcdefgh", 5},
		{"name: alpha\nvalue: 1\nrest of it\n", "name: beta\nvalue: 1\nrest of it\n", 19},
		{"0123456789abcdef", strings.Repeat("0123456789abcdef", 3), 12},
		{long, long, 30}, {long, "x" + long + "y", 7000}, {"short", long, 1 << 20},
	} {
		if n := checkDelta(t, []byte(c.base), []byte(c.text)); n > c.most {
			t.Errorf("%.30q to %.30q takes %d bytes, want at most %d", c.base, c.text, n, c.most)
		}
	}
	if _, ok := newDelta([]byte("nothing alike")).encodeText([]byte("quite different text"), 5); ok {
		t.Error("a delta over the limit is given")
	}
}

// TestDeltaRandom edits random texts in random ways.
func TestDeltaRandom(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		base := make([]byte, random.IntN(3000))
		for i := range base {
			base[i] = byte('a' + random.IntN(4))
		}
		text := bytes.Clone(base)
		for range random.IntN(6) {
			at, n := random.IntN(len(text)+1), random.IntN(20)
			switch random.IntN(3) {
			case 0:
				text = append(text[:at:at], append(bytes.Repeat([]byte("z"), n), text[at:]...)...)
			case 1:
				text = append(text[:at:at], text[min(len(text), at+n):]...)
			case 2:
				text = append(text[at:len(text):len(text)], text[:at]...)
			}
		}
		checkDelta(t, base, text)
	}
}

func FuzzDelta(f *testing.F) {
	f.Add([]byte("name: alpha\nvalue: 1\n"), []byte("name: beta\nvalue: 1\n"))
	f.Fuzz(func(t *testing.T, base, text []byte) { checkDelta(t, base, text) })
}

func TestStored(t *testing.T) {
	for _, n := range []int{0, 1, 0xffff, 0x10000, 200_000} {
		data := bytes.Repeat([]byte("x"), n)
		in, err := zlib.NewReader(bytes.NewReader(appendUncompressed(nil, data)))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(in)
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("%d bytes come back as %d (%v)", n, len(got), err)
		}
	}
}

func TestOffset(t *testing.T) {
	for _, distance := range []int64{1, 127, 128, 16511, 16512, 1 << 20, 1<<40 + 12345} {
		value := int64(0)
		for i, b := range appendOffset(nil, distance) {
			if i > 0 {
				value = (value + 1) << 7
			}
			value |= int64(b & 0x7f)
		}
		if value != distance {
			t.Errorf("%d comes back as %d", distance, value)
		}
	}
}
