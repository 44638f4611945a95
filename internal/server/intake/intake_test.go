package intake

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestBodiesAreBounded: where there is no room, no more is taken into memory.
func TestBodiesAreBounded(t *testing.T) {
	m := NewRoom(2 * PieceSize)
	read := func(ctx context.Context, size int) ([]byte, func(), error) {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(strings.Repeat(" ", size))).WithContext(ctx)
		return m.ReadBody(httptest.NewRecorder(), r, 10*PieceSize)
	}
	body, release, err := read(t.Context(), PieceSize+1)
	if len(body) != PieceSize+1 || err != nil || len(m.pieces) != 2 {
		t.Fatalf("%d bytes, %d pieces: %v", len(body), len(m.pieces), err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if body, none, err := read(gone, 1); err == nil || body != nil {
		t.Errorf("one too many is read: %v", err)
	} else {
		none()
	}
	release()
	if len(m.pieces) != 0 {
		t.Errorf("%d pieces are kept", len(m.pieces))
	}
	if body, _, err := read(t.Context(), 0); len(body) != 0 || err != nil {
		t.Errorf("an empty body: %v", err)
	}
}
