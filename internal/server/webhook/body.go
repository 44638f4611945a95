package webhook

import (
	"errors"
	"io"
	"net/http"
)

const (
	// pieceSize is how much of a body is read at a time.
	pieceSize = 32 << 10
	// maxPieces is how many pieces are in memory at the same time: four of the largest bodies.
	maxPieces = 4 * maxBodySize / pieceSize
)

// readBody reads the body of a request. Memory is reserved for the bytes that have arrived, so
// that a client that sends slowly, or nothing, does not block others. release frees it.
func (p *receiver) readBody(w http.ResponseWriter, r *http.Request) (body []byte, release func(), err error) {
	taken := 0
	release = func() {
		for range taken {
			<-p.pieces
		}
	}
	in := http.MaxBytesReader(w, r.Body, maxBodySize-1)
	var piece [pieceSize]byte
	for {
		n, err := in.Read(piece[:])
		for len(body)+n > taken*pieceSize {
			select {
			case p.pieces <- struct{}{}:
				taken++
			case <-r.Context().Done(): // the client has gone
				return nil, release, r.Context().Err()
			}
		}
		body = append(body, piece[:n]...)
		if errors.Is(err, io.EOF) {
			return body, release, nil
		}
		if err != nil {
			return nil, release, err
		}
	}
}
