// Package intake reads request bodies within a common bound of memory.
//
// What the package keeps true: memory is reserved only for bytes that have arrived, so that slow or
// silent clients do not block others.
package intake

import (
	"errors"
	"io"
	"net/http"
	"slices"
)

// PieceSize is the unit of reservation, in bytes.
const PieceSize = 32 << 10

// usualSize suffices for reports of unchanged clusters, in bytes.
const usualSize = 512

// Room is the memory for request bodies.
type Room struct {
	pieces chan struct{}
}

// NewRoom returns room for size bytes.
func NewRoom(size int) *Room { return &Room{make(chan struct{}, size/PieceSize)} }

// ReadBody reads a body of at most limit bytes, and waits for memory, which release frees.
func (m *Room) ReadBody(w http.ResponseWriter, r *http.Request, limit int64) (body []byte, release func(), err error) {
	taken := 0
	release = func() {
		for range taken {
			<-m.pieces
		}
	}
	in := http.MaxBytesReader(w, r.Body, limit)
	body = make([]byte, 0, usualSize)
	for {
		n, err := in.Read(body[len(body):cap(body)])
		for len(body)+n > taken*PieceSize {
			select {
			case m.pieces <- struct{}{}:
				taken++
			case <-r.Context().Done(): // the client is gone
				return nil, release, r.Context().Err()
			}
		}
		body = body[:len(body)+n]
		if errors.Is(err, io.EOF) {
			return body, release, nil
		}
		if err != nil {
			return nil, release, err
		}
		if len(body) == cap(body) {
			body = slices.Grow(body, 1)
		}
	}
}
