package values

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
)

// Digest identifies an assignment's values, so that equal values are recognized in the
// next run.
type Digest [16]byte

func digestOf(data map[string]any) Digest {
	sum := sha256.Sum256(appendValue(nil, data))
	return Digest(sum[:len(Digest{})])
}

func appendValue(b []byte, v any) []byte {
	switch v := v.(type) {
	case string:
		return appendText(append(b, 's'), v)
	case map[string]any:
		items := make([][]byte, 0, len(v))
		for key, item := range v {
			items = append(items, appendValue(appendText(nil, key), item))
		}
		return appendSorted(append(b, 'm'), items)
	case map[any]any:
		items := make([][]byte, 0, len(v))
		for key, item := range v {
			items = append(items, appendValue(appendValue(nil, key), item))
		}
		return appendSorted(append(b, 'm'), items)
	case []any:
		b = binary.AppendUvarint(append(b, 'l'), uint64(len(v)))
		for _, item := range v {
			b = appendValue(b, item)
		}
		return b
	}
	return appendText(append(b, 'v'), fmt.Sprintf("%T %v", v, v))
}

func appendSorted(b []byte, items [][]byte) []byte {
	slices.SortFunc(items, bytes.Compare)
	b = binary.AppendUvarint(b, uint64(len(items)))
	for _, item := range items {
		b = append(b, item...)
	}
	return b
}

func appendText(b []byte, text string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}
