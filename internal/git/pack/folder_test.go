package pack

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/tree"
)

// entriesOf makes a folder of bytes: each is a name, and what it holds.
func entriesOf(data []byte) []tree.Entry {
	var entries []tree.Entry
	seen := map[string]bool{}
	for i, b := range data {
		name := fmt.Sprintf("%c%d", 'a'+b%8, b%32)
		if seen[name] {
			continue
		}
		seen[name] = true
		file := tree.File(name, []byte{b / 32})
		if b%3 == 0 {
			file = tree.Dir(name, tree.FromEntries([]tree.Entry{tree.File("f", data[i:i+1])}))
		}
		entries = append(entries, file)
	}
	return tree.FromEntries(entries).Entries()
}

// checkFolder applies the difference between two folders, and compares ids.
func checkFolder(t *testing.T, base, next []tree.Entry) {
	t.Helper()
	from, to := tree.AppendTree(nil, base), tree.AppendTree(nil, next)
	var s script
	s.encodeFolder(string(from), string(to))
	got, err := applyDelta(from, s)
	if err != nil || !bytes.Equal(got, to) {
		t.Fatalf("from %v\nto   %v\ncame %q (%v)", base, next, got, err)
	}
	again, err := apply(from, s)
	if err != nil || !bytes.Equal(again, got) {
		t.Fatalf("Git's way of applying it gives %q (%v)", again, err)
	}
}

func TestFolderRandom(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	bytesOf := func() []byte {
		data := make([]byte, random.IntN(60))
		for i := range data {
			data[i] = byte(random.Uint32())
		}
		return data
	}
	for range 3000 {
		base := bytesOf()
		next := bytes.Clone(base)
		for range random.IntN(4) {
			if len(next) > 0 {
				next[random.IntN(len(next))] ^= byte(1 << random.IntN(8))
			}
		}
		if random.IntN(10) == 0 {
			next = bytesOf()
		}
		checkFolder(t, entriesOf(base), entriesOf(next))
	}
}

func FuzzFolder(f *testing.F) {
	f.Add([]byte("abcdefg"), []byte("abxdefg"))
	f.Fuzz(func(t *testing.T, base, next []byte) { checkFolder(t, entriesOf(base), entriesOf(next)) })
}

// FuzzApply reads differences that are damaged: they are refused, or make what they say.
func FuzzApply(f *testing.F) {
	f.Add([]byte("0123456789"), []byte("\x0a\x05\x90\x05"))
	f.Add([]byte("0123456789"), []byte("\x0a\x03\x03abc"))
	f.Fuzz(func(t *testing.T, base, made []byte) {
		text, err := applyDelta(base, made)
		if err != nil {
			return
		}
		want, err := apply(base, made)
		if err != nil || !bytes.Equal(text, want) {
			t.Fatalf("%q makes %q, Git's way %q (%v)", made, text, want, err)
		}
	})
}

// FuzzHeader reads the beginnings of objects, and writes them again.
func FuzzHeader(f *testing.F) {
	f.Add([]byte{0x95, 0x0a})
	f.Add(append([]byte{0xe5, 0x0a}, 0x81, 0x00))
	f.Fuzz(func(t *testing.T, raw []byte) {
		h, err := parseHeader(raw)
		if err != nil || h.size < 0 {
			return
		}
		made := appendObjectHeader(nil, h.kind, h.size)
		switch h.kind {
		case offsetDelta:
			made = appendOffset(made, h.distance)
		case refDelta:
			made = append(made, h.base[:]...)
		}
		again, err := parseHeader(made)
		h.length = again.length
		if err != nil || again != h {
			t.Fatalf("%x is %+v, and comes back as %+v (%v)", raw, h, again, err)
		}
	})
}
