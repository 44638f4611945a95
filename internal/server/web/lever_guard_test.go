package web

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/server/answer"
)

// seenOf returns what a person has seen who looks at an action.
func seenOf(t *testing.T, h http.Handler, user, target string) string {
	t.Helper()
	w := askPerson(h, user, "sre", http.MethodGet, api+"/levers/"+target, "", "")
	var l answer.Lever
	err := json.Unmarshal(w.Body.Bytes(), &l)
	if err != nil || l.Seen == "" {
		t.Fatalf("%d: %v\n%s", w.Code, err, w.Body)
	}
	return l.Seen
}

// TestLeversAreGuarded: who may not act uses up nobody's share of looks, a form is not performed unseen, another
// site cannot have actions looked at, and an address cannot say that something was written.
func TestLeversAreGuarded(t *testing.T) {
	h := New(Options{Store: fleet(), People: newPeople(newPlane(t), t.TempDir()), Now: func() time.Time { return noon }})
	look := func(user, groups, target string) int {
		return askPerson(h, user, groups, http.MethodGet, "/levers/"+target, "", "").Code
	}
	for range 70 {
		if code := look("eve", "none", "hold?env=dev"); code != http.StatusForbidden {
			t.Fatalf("somebody who may not act gets %d", code)
		}
	}
	if code := look("alice", "sre", "hold?env=dev"); code != http.StatusOK {
		t.Errorf("somebody who may act gets %d after others asked", code)
	}
	if code := look("alice", "sre", "approve?env=dev&commit=deadbeef"); code != http.StatusNotFound {
		t.Errorf("a commit that is not there is answered with %d", code)
	}

	if code := look("alice", "sre", "freeze?name=q4&environments=dev"); code != http.StatusBadRequest {
		t.Errorf("a parameter that no action has is answered with %d", code)
	}

	const form = "application/x-www-form-urlencoded"
	post := func(seen string) *httptest.ResponseRecorder {
		return askPerson(h, "alice", "sre", http.MethodPost, "/levers/hold", form, url.Values{"env": {"dev"}, "reason": {"a test"}, "seen": {seen}}.Encode())
	}
	if w := post("force"); w.Code != http.StatusBadRequest {
		t.Errorf("a form that nobody has seen gets %d", w.Code)
	}
	w := post(seenOf(t, h, "alice", "hold?env=dev"))
	if w.Code != http.StatusSeeOther {
		t.Fatalf("a form that somebody has seen gets %d\n%s", w.Code, w.Body)
	}
	_, query, _ := strings.Cut(w.Header().Get("Location"), "?")
	for name, want := range map[string]bool{"dev": true, "prod": false} {
		if shown := askPerson(h, "alice", "sre", http.MethodGet, "/environments/"+name+"?"+query, "", ""); strings.Contains(shown.Body.String(), "Written as") != want {
			t.Errorf("the page of %s says that it was written: %v, want %v\n%s", name, !want, want, shown.Body)
		}
	}
	for _, query := range []string{"written=" + strings.Repeat("deadbeef", 5), "proposed=99999"} {
		shown := askPerson(h, "alice", "sre", http.MethodGet, "/environments/prod?"+query, "", "")
		if strings.Contains(shown.Body.String(), "Written as") || strings.Contains(shown.Body.String(), "Proposed as") {
			t.Errorf("an address says that something was done: %s", query)
		}
	}

	r := httptest.NewRequest(http.MethodGet, "/levers/hold?env=dev", http.NoBody)
	for name, value := range map[string]string{"X-User": "alice", "X-Groups": "sre", "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"} {
		r.Header.Set(name, value)
	}
	foreign := httptest.NewRecorder()
	h.ServeHTTP(foreign, r)
	if foreign.Code != http.StatusForbidden {
		t.Errorf("an image of another site gets %d", foreign.Code)
	}
}
