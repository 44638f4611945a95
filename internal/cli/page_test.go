package cli_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// TestTrigger: the daemon is woken once, below whatever path its page is; what does not take that is an
// error.
func TestTrigger(t *testing.T) {
	var woken atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.URL.Path != "/fairlead/api/v1/wake" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		woken.Add(1)
		w.WriteHeader(http.StatusAccepted)
	}))
	defer s.Close()
	host := strings.TrimPrefix(s.URL, "http://")
	for _, url := range []string{s.URL + "/fairlead", s.URL + "/fairlead/", host + "/fairlead"} {
		code, out, errs := run(t.Context(), "trigger", "--url", url)
		if want := "the daemon at " + s.URL + "/fairlead/ starts a cycle\n"; code != 0 || out != want || errs != "" {
			t.Errorf("--url %s: code %d, stdout %q, want %q, stderr %q", url, code, out, want, errs)
		}
	}
	if woken.Load() != 3 {
		t.Errorf("it was woken %d times, want 3", woken.Load())
	}
	code, out, errs := run(t.Context(), "trigger", "--url", s.URL)
	if code != 1 || out != "" || !strings.Contains(errs, "/api/v1/wake answers 404 Not Found") || !strings.Contains(errs, "hint: --url is that of the daemon's page") {
		t.Errorf("another page: code %d, stdout %q, stderr %q", code, out, errs)
	}
}
