package web

import (
	"net/http"
	"strings"
	"testing"
)

// TestTimesInWords: a page with a time in words is redirected to the exact time, by the time zone of its reader; a program is
// answered at once, in UTC. What is exact, or no time, is left as it is.
func TestTimesInWords(t *testing.T) {
	h := openPast() // at noon of 2026-11-21
	for _, c := range []struct{ target, zone, location string }{
		{"/environments/prod?at=10:00&x=%26", "", "?at=2026-11-21T10%3A00%3A00Z&x=%26"},
		{"/environments/prod?at=10:00", "Europe/Berlin", "?at=2026-11-21T09%3A00%3A00Z"},
		{"/environments/prod?at=yesterday+17:48", "Europe/Berlin", "?at=2026-11-20T16%3A48%3A00Z"},
		{"/environments?at=2h+ago", "No/Where", "?at=2026-11-21T10%3A00%3A00Z"},
		{"/history?since=-2h&until=2026-11-21+11:00", "Local", "?since=2026-11-21T10%3A00%3A00Z&until=2026-11-21T11%3A00%3A00Z"},
		{"/diff?from=prod@yesterday+10:00&to=prod", "", "?from=prod%402026-11-20T10%3A00%3A00Z&to=prod"},
		{"/environments/prod?at=2026-11-20", "", ""},
		{"/environments/prod?at=2026-11-20T10:00:00Z", "", ""},
		{"/history?since=2026-11-20", "", ""},
		{"/diff?from=prod@2026-11-20&to=prod", "", ""},
		{"/environments?at=" + c1, "", ""},
	} {
		w := askAs(h, c.target, "zone="+c.zone, "")
		want := http.StatusSeeOther
		if c.location == "" {
			want = http.StatusOK
		}
		if w.Code != want || w.Header().Get("Location") != c.location {
			t.Errorf("%s in %q is %d to %q, want %d to %q", c.target, c.zone, w.Code, w.Header().Get("Location"), want, c.location)
		}
	}
	for _, target := range []string{"/environments/prod?at=10:00", "/history?at=10:00"} {
		if w := ask(h, http.MethodGet, "/api/v1"+target); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"at": "2026-11-21T10:00:00Z"`) {
			t.Errorf("%s is %d: %s", target, w.Code, w.Body)
		}
	}
	if w := ask(h, http.MethodPost, "/wake?at=2h+ago"); strings.Contains(w.Header().Get("Location"), "at=") {
		t.Errorf("what is sent is %d to %q", w.Code, w.Header().Get("Location"))
	}
	if w := ask(h, http.MethodGet, "/environments/prod?at=noon"); w.Code != http.StatusBadRequest {
		t.Errorf("no time is %d", w.Code)
	}
	if body := askAs(h, "/settings", "zone=No/Where", "").Body.String(); !strings.Contains(body, "no time zone of this name") || !strings.Contains(body, `value="No/Where"`) {
		t.Errorf("a zone that does not exist is not shown as such:\n%s", body)
	}
}
