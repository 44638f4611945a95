package model

import (
	"bytes"
	"encoding/binary"
	"regexp"
	"unicode/utf16"

	"github.com/fairlead-io/fairlead/internal/base/problem"
)

const byteOrderMark = "\ufeff"

// markedDocument matches a byte order mark at the beginning of a document that is not the first one.
var markedDocument = regexp.MustCompile(`(?m)^(---[ \t]*(?:#.*)?\r?\n)` + byteOrderMark)

// decodeText returns a file's text as UTF-8, as Flux reads it: UTF-16 with a byte order mark is decoded,
// and a byte order mark may begin each document. Other encodings are returned as they are.
func (r *reader) decodeText(data []byte) []byte {
	text, decoded := decodeUTF16(data)
	if decoded && bytes.Contains(bytes.TrimRight(text, "- \r\n"), []byte("\n---")) {
		r.addUnreadable(problem.Problem{Pos: r.positionAt(0), Hint: "save it as UTF-8", Summary: "Flux reads only the first document of a file in UTF-16"}, text)
		return nil
	}
	if bytes.Contains(text, []byte(byteOrderMark)) {
		text = markedDocument.ReplaceAll(text, []byte("$1"))
	}
	return text
}

// decodeUTF16 decodes UTF-16 that begins with a byte order mark, and reports whether the text is such.
func decodeUTF16(data []byte) ([]byte, bool) {
	var order binary.ByteOrder
	switch {
	case len(data)%2 != 0:
		return data, false
	case bytes.HasPrefix(data, []byte{0xff, 0xfe}):
		order = binary.LittleEndian
	case bytes.HasPrefix(data, []byte{0xfe, 0xff}):
		order = binary.BigEndian
	default:
		return data, false
	}
	units := make([]uint16, 0, len(data)/2)
	for rest := data[2:]; len(rest) > 0; rest = rest[2:] {
		units = append(units, order.Uint16(rest))
	}
	return []byte(string(utf16.Decode(units))), true
}
