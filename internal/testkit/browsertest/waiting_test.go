package browsertest

import (
	"net/http"
	"strings"
	"testing"
)

// TestWaiting: a person finds what waits for them, and acts; who has approved, or wrote the commit, finds nothing.
func TestWaiting(t *testing.T) {
	browser := Start(t)
	f := startFleet(t, "  signIn: {proxy: {from: [127.0.0.1]}}\n")
	w := browser.Open(t, View{Width: 400, Script: true})
	f.commit("main", "readme.md", "more", "Say more", "carol")
	f.send(http.MethodPost, "/api/v1/wake", "")
	w.Visit(f.root + "/environments/prod")
	w.WaitFor("#gates", "approval missing")
	w.Visit(f.root + "/waiting?for=me")
	w.WaitFor("main", "It is not known who you are")
	w.Visit(f.root + "/waiting")
	w.WaitFor("#waiting", "prod")
	if strings.Contains(w.Text("#waiting"), "Approve") {
		t.Errorf("nobody may approve: %s", w.Text("#waiting"))
	}
	f.signInAs("bob shop") // without a role
	w.Visit(f.root + "/")
	w.WaitFor("#for-me", "For me: 0")
	f.signInAs("alice@example.com sre")
	w.Visit(f.root + "/")
	w.WaitFor("#for-me", "For me: 1")
	w.Click("#for-me")
	w.WaitFor("#waiting", "Approve…")
	checkWidth(t, w, 400, "waiting")
	checkAccessible(t, w, "waiting")
	f.signInAs("carol@example.com sre")
	w.Click(`#waiting a[href*="levers/approve"]`)
	w.Click("#confirm")
	w.WaitFor("#written", "Written as")
	w.WaitFor("#gates", "carol@example.com is an author of what is approved")
	w.Visit(f.root + "/waiting?for=me")
	w.WaitFor("main", "Nothing waits for you.")
	w.Visit(f.root + "/waiting")
	w.WaitFor("#waiting", "yours is there: carol@example.com is an author of what is approved")
}
