package manifest

import "testing"

// What works on eight bytes at once must say the same as a look at each byte.
func TestEightBytesAtOnce(t *testing.T) {
	for _, around := range []byte{'a', '\n', ' ', '~', 0x7f, 0x80, 0xff} {
		for c := range 256 {
			for place := range 8 {
				word := []byte{around, around, around, around, around, around, around, around}
				word[place] = byte(c)
				checkWord(t, word)
			}
		}
	}
}

func checkWord(t *testing.T, word []byte) {
	t.Helper()
	odd, first, spaces := false, len(word), 0
	for i, c := range word {
		odd = odd || c != '\n' && (c < ' ' || c > '~')
		if c < ' ' || c == ':' || c == 0x7f {
			first = min(first, i)
		}
		if c == ' ' && spaces == i {
			spaces++
		}
	}
	if got := findOddASCII(word) != 0; got != odd {
		t.Errorf("oddASCII(%q): %v, want %v", word, got, odd)
	}
	if got := seekByte(word, 0, ':', 0x7f); got != first {
		t.Errorf("seek(%q) = %d, want %d", word, got, first)
	}
	if got := countSpaces(word, 0); got != spaces {
		t.Errorf("indent(%q) = %d, want %d", word, got, spaces)
	}
}

func TestHashTellsKeysApart(t *testing.T) {
	// The keys differ in one place, or only in what surrounds them.
	text := []byte("app.kubernetes.io/name app.kubernetes.io/Name pp.kubernetes.io/name x app")
	hashes := map[uint64]string{}
	for from := range text {
		for to := from + 1; to <= len(text); to++ {
			key := string(text[from:to])
			h := hashKey(text, from, to)
			if other, ok := hashes[h]; ok && other != key {
				t.Errorf("%q and %q have one hash", key, other)
			}
			if h != hashKey([]byte(key), 0, len(key)) {
				t.Errorf("the hash of %q depends on the text around it", key)
			}
			hashes[h] = key
		}
	}
}
