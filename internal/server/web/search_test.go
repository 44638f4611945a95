package web

import (
	"net/http"
	"testing"
)

// TestSearchPull: the number of an open pull request leads to what it changes.
func TestSearchPull(t *testing.T) {
	h := open(fleet())
	for query, want := range map[string]string{"%2312": "./environments/stage/pulls/12", "%23120": "", "%23": "", "12": ""} {
		w := ask(h, http.MethodGet, "/search?q="+query)
		if got := w.Header().Get("Location"); got != want {
			t.Errorf("%s leads to %q (%d), want %q", query, got, w.Code, want)
		}
	}
}
