package manifest

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// What a byte may be in the small reader's YAML.
const (
	startsKey   uint8 = 1 << iota // the first byte of a key, or of a word
	inWord                        // a byte of a word: a plain scalar in a flow collection
	startsPlain                   // the first byte of a plain scalar
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

// The masks below work on eight bytes at once.
const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// isOrdinary reports whether text holds only characters that YAML allows
// everywhere and that mean nothing but themselves: printable ones, tabs and
// line feeds, in UTF-8. The small reader looks at tabs itself.
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
			switch { // control characters, line breaks of other scripts, byte order marks, and what is no character
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

// findOddASCII is 0 if the first eight bytes of text are printable ASCII and line
// feeds. With its high bit set beforehand, a byte loses that bit in a
// subtraction if it is smaller, and borrows nothing from the next one.
func findOddASCII(text []byte) uint64 {
	w := binary.LittleEndian.Uint64(text)
	deleteOrMore := w | (w + ones)
	printable := (w | highs) - ones*' '
	notLineFeed := ((w ^ ones*'\n') | highs) - ones
	return (deleteOrMore | notLineFeed&^printable) & highs
}

// seekByte returns the offset of the first byte from i on that is below ' ', or is a
// or b; the length of the text if there is none.
func seekByte(text []byte, i int, a, b byte) int {
	as, bs := ones*uint64(a), ones*uint64(b)
	for ; len(text)-i >= 8; i += 8 {
		w := binary.LittleEndian.Uint64(text[i:])
		x, y := w^as, w^bs
		// A zero byte of x or y, and one of w below ' ', gets its high bit in
		// the difference. Only bytes above such a one may get it wrongly.
		if hit := ((w-ones*' ')&^w | (x-ones)&^x | (y-ones)&^y) & highs; hit != 0 {
			return i + bits.TrailingZeros64(hit)/8
		}
	}
	for i < len(text) && text[i] >= ' ' && text[i] != a && text[i] != b {
		i++
	}
	return i
}

// countSpaces counts the spaces from i on.
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

// hashKey returns equal numbers for equal keys, and almost surely different ones for
// others. It has no random seed, so that every run decides alike.
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
