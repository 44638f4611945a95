package manifest

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// Classes of bytes in the small reader's YAML.
const (
	startsKey   uint8 = 1 << iota // starts a key or a word
	inWord                        // in a word: a plain scalar in a flow collection
	startsPlain                   // starts a plain scalar
)

var class = buildClasses()

func buildClasses() (table [256]uint8) {
	for i := range table {
		c := byte(i)
		switch {
		case c >= '0' && c <= '9', c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z', c == '_', c == '.', c == '/':
			table[c] = startsKey | inWord | startsPlain
		case c == '-':
			table[c] = inWord
		case c == '$', c == '(', c == ')', c == '+', c == '=', c == '~', c == '^', c == '<', c == ';', c == '\\', c >= 0x80:
			table[c] = startsPlain
		}
	}
	return table
}

// Masks for eight bytes at once.
const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// isOrdinary accepts UTF-8 text of printable characters, tabs and line feeds, which YAML allows
// everywhere.
func isOrdinary(text []byte) bool {
	for len(text) > 0 {
		if len(text) >= 16 && findOddASCII(text)|findOddASCII(text[8:]) == 0 {
			text = text[16:]
			continue
		}
		size := 1
		if c := text[0]; c >= utf8.RuneSelf {
			var r rune
			r, size = utf8.DecodeRune(text)
			switch { // control characters, other line breaks, byte order marks, non-characters
			case r == utf8.RuneError && size == 1, r < 0xa0, r == 0x2028, r == 0x2029, r == 0xfeff, r == 0xfffe, r == 0xffff:
				return false
			}
		} else if c < ' ' && c != '\n' && c != '\t' || c == 0x7f {
			return false
		}
		text = text[size:]
	}
	return true
}

// findOddASCII returns 0 if the first eight bytes are printable ASCII or line feeds. A byte whose
// high bit was set loses it in a subtraction if it is smaller, without borrowing from the next
// byte.
func findOddASCII(text []byte) uint64 {
	w := binary.LittleEndian.Uint64(text)
	deleteOrMore := w | (w + ones)
	printable := (w | highs) - ones*' '
	notLineFeed := ((w ^ ones*'\n') | highs) - ones
	return (deleteOrMore | notLineFeed&^printable) & highs
}

// seekByte returns the offset of the next byte that is below ' ', a or b, or the length of the
// text.
func seekByte(text []byte, i int, a, b byte) int {
	as, bs := ones*uint64(a), ones*uint64(b)
	for ; len(text)-i >= 8; i += 8 {
		w := binary.LittleEndian.Uint64(text[i:])
		x, y := w^as, w^bs
		// A zero byte of x or y, or a byte of w below ' ', gets its high bit. Only bytes above it
		// may get it wrongly.
		if hit := ((w-ones*' ')&^w | (x-ones)&^x | (y-ones)&^y) & highs; hit != 0 {
			return i + bits.TrailingZeros64(hit)/8
		}
	}
	for i < len(text) && text[i] >= ' ' && text[i] != a && text[i] != b {
		i++
	}
	return i
}

func countSpaces(text []byte, i int) int {
	start := i
	for ; i+8 <= len(text); i += 8 {
		if other := binary.LittleEndian.Uint64(text[i:]) ^ ones*' '; other != 0 {
			return i - start + bits.TrailingZeros64(other)/8
		}
	}
	for i < len(text) && text[i] == ' ' {
		i++
	}
	return i - start
}

// hashKey has no random seed, so that every run decides the same.
func hashKey(text []byte, from, to int) uint64 {
	const prime = 0x9e3779b97f4a7c15
	h := uint64(to - from)
	for ; to-from >= 8; from += 8 {
		h = bits.RotateLeft64((h^binary.LittleEndian.Uint64(text[from:]))*prime, 29)
	}
	var last uint64
	if from+8 <= len(text) {
		last = binary.LittleEndian.Uint64(text[from:]) & (1<<(8*uint(to-from)) - 1)
	} else {
		for k := to - 1; k >= from; k-- {
			last = last<<8 | uint64(text[k])
		}
	}
	return (h ^ last) * prime
}
