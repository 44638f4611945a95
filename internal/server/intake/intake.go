// Package intake reads the bodies of requests into memory that is bounded for all of them together.
//
// What the package keeps true: memory is reserved for bytes that have arrived, and not for those that
// a client has announced, so that clients who send slowly, or nothing, do not keep others waiting.
package intake

import (
	"errors"
	"io"
	"net/http"
	"slices"
)

// PieceSize is how much memory is reserved at a time, in bytes.
const PieceSize = 32 << 10

// usualSize is what most bodies need, in bytes: those of clusters of which nothing has changed.
const usualSize = 512

// Room is the memory for the bodies of requests.
type Room struct {
	pieces chan struct{} // has an element for each piece of a body that is in memory
}

// NewRoom returns room for so many bytes.
func NewRoom(size int) *Room { return &Room{make(chan struct{}, size/PieceSize)} }

// ReadBody reads the body of a request, of at most limit bytes, and waits while there is no room.
// release frees its memory.
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
			case <-r.Context().Done(): // the client has gone
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
