package web

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestReadersApart: people who may do the same share a kept page, and each gets it with their own name: at the same
// time, by the tag of another, and after signing out.
func TestReadersApart(t *testing.T) {
	h := New(Options{Store: fleet(), People: newPeople("https://git.example.com/cp", t.TempDir()), Now: func() time.Time { return noon }})
	get := func(user, groups, path, tag string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, path, http.NoBody)
		if user != "" {
			r.Header.Set("X-User", user)
			r.Header.Set("X-Groups", groups)
		}
		if tag != "" {
			r.Header.Set("If-None-Match", tag)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	names := []string{"", "alice@example.com", "bob@example.com", "carol@example.com"}
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			user, path := names[i%len(names)], []string{"/", "/environments/test", "/commits"}[i%3]
			w := get(user, "sre", path, "")
			for _, other := range names[1:3] {
				if has := strings.Contains(w.Body.String(), other); has != (other == user) {
					t.Errorf("%s as %q has %s: %v", path, user, other, has)
				}
			}
			if w.Header().Get("Cache-Control") != "private, no-cache" || !strings.Contains(fmt.Sprint(w.Header()["Vary"]), "Cookie") || strings.Contains(w.Body.String(), "<f-") {
				t.Errorf("%s as %q: %v", path, user, w.Header())
			}
		})
	}
	all.Wait()
	tag := get("alice@example.com", "sre", "/", "").Header().Get("ETag")
	for _, test := range []struct {
		user, groups string
		code         int
	}{{"alice@example.com", "sre", http.StatusNotModified}, {"bob@example.com", "sre", http.StatusOK}, {"alice@example.com", "other", http.StatusOK}, {"", "", http.StatusOK}} {
		if w := get(test.user, test.groups, "/", tag); w.Code != test.code || strings.Contains(w.Body.String(), "alice@example.com") && test.user != "alice@example.com" {
			t.Errorf("%q of %s with the tag of alice gets %d", test.user, test.groups, w.Code)
		}
	}
}

// TestSilentRepositories: each page says which repositories do not answer, if some do not.
func TestSilentRepositories(t *testing.T) {
	page := ask(open(fleet()), http.MethodGet, "/commits").Body.String()
	if !strings.Contains(page, "repositories answer; what comes from the others is as it was last read: <bdi>https://git.example.com/org/control-plane</bdi>") {
		t.Errorf("the page does not say it:\n%s", page)
	}
	if page := ask(open(stuck()), http.MethodGet, "/commits").Body.String(); strings.Contains(page, "repositories answer") {
		t.Error("a page says it where all answer")
	}
}
