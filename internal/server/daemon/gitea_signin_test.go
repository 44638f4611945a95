package daemon_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/answer"
)

// pageAddress is the address of the page in the settings. The port of the daemon is not known when they are written.
const pageAddress = "http://localhost:1/"

// visitor is a person with a browser that follows nothing by itself.
type visitor struct {
	*flow
	client *http.Client
}

func (f *flow) newVisitor() *visitor {
	jar, err := cookiejar.New(nil)
	must(f.T, err)
	return &visitor{f, &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// send sends a request to the page; a form is posted, and nil gets. It returns the status, where the answer leads,
// and its text.
func (v *visitor) send(path string, form url.Values) (code int, location, text string) {
	v.Helper()
	r, err := http.NewRequestWithContext(v.Context(), http.MethodGet, v.base+path, nil)
	if form != nil {
		r, err = http.NewRequestWithContext(v.Context(), http.MethodPost, v.base+path, strings.NewReader(form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	must(v.T, err)
	a, err := v.client.Do(r)
	must(v.T, err)
	defer a.Body.Close()
	body, err := io.ReadAll(a.Body)
	must(v.T, err)
	return a.StatusCode, a.Header.Get("Location"), string(body)
}

// signIn signs in a user of the Gitea, and returns the path that the page sends the browser back to.
func (v *visitor) signIn(name string) string {
	v.Helper()
	_, address, text := v.send("/sign-in?from=/environments/dev", nil)
	if !strings.HasPrefix(address, v.server.URL+"/login/oauth/authorize?") {
		v.Fatalf("signing in leads to %q: %s", address, text)
	}
	back := v.server.Authorize(name, address)
	path, ok := strings.CutPrefix(back, pageAddress)
	if !ok {
		v.Fatalf("the forge sends the browser to %s", back)
	}
	code, location, text := v.send("/"+path, nil)
	if code != http.StatusSeeOther || location != pageAddress+"environments/dev" {
		v.Fatalf("after signing in: %d %q %s", code, location, text)
	}
	return "/" + path
}

// act looks at an action in dev, and confirms it; it returns the answer of the last request.
func (v *visitor) act(lever, reason string) (code int, location, text string) {
	v.Helper()
	code, location, text = v.send("/api/v1/levers/"+lever+"?env=dev", nil)
	var shown answer.Lever
	if code != http.StatusOK || json.Unmarshal([]byte(text), &shown) != nil {
		return code, location, text
	}
	return v.send("/levers/"+lever, url.Values{"env": {"dev"}, "reason": {reason}, "seen": {shown.Seen}})
}

// TestGiteaSignIn: people sign in at a real Gitea, and what they do is written with their own token: the forge
// decides who may push, and a protected branch gets a pull request of theirs. Fairlead itself may only read.
func TestGiteaSignIn(t *testing.T) {
	f := newFlow(t, nil, "dev")
	owner, _, _ := strings.Cut(f.cp, "/")
	s := f.server
	reader := s.UserToken("reader-" + owner)
	for _, name := range []string{"alice-" + owner, "bob-" + owner} {
		s.UserToken(name)
	}
	alice, bob := "alice-"+owner, "bob-"+owner
	s.Join(f.cp, alice)
	s.Team(owner, "sre", alice, bob)
	app := s.NewApplication("fairlead", pageAddress+"sign-in/callback")
	f.env = map[string]string{"TOKEN": reader, "OAUTH": app.Secret, "KEY": strings.Repeat("k", 32)}
	f.more = fmt.Sprintf("web:\n  url: %s\n  actions: true\n  signIn: {forge: {clientID: %q, clientSecret: {env: OAUTH}}}\n  session: {key: {env: KEY}}\n"+
		"  roles: [{groups: [%s/sre], may: [hold, release, approve], in: [\"*\"]}]\n", pageAddress, app.ID, owner)
	f.serve("managed")
	f.await("the first cycle", func(status.Environment) bool { return true })

	v := f.newVisitor()
	back := v.signIn(alice)
	if code, _, text := v.send(back, nil); code != http.StatusForbidden || !strings.Contains(text, "did not begin to sign in, or has done so already") {
		t.Errorf("the same answer of the forge again: %d %s", code, text)
	}
	_, _, me := v.send("/api/v1/me", nil)
	for _, want := range []string{`"email":"` + alice + `@example.com"`, `"groups":["` + owner + `/sre"]`, `"issuer":"` + s.URL + `"`} {
		if !strings.Contains(strings.ReplaceAll(strings.ReplaceAll(me, " ", ""), "\n", ""), want) {
			t.Errorf("of Alice is said %s, want %s", me, want)
		}
	}
	code, location, text := v.act("hold", "a test")
	if code != http.StatusSeeOther || !strings.Contains(location, "written=") {
		t.Fatalf("Alice holds dev: %d %q %s", code, location, text)
	}
	_, commit, _ := strings.Cut(location, "written=")
	if who := s.Pusher(f.cp, commit); who != alice {
		t.Errorf("%s has pushed the commit", who)
	}

	w := f.newVisitor()
	w.signIn(bob)
	code, _, text = w.act("release", "")
	if code != http.StatusForbidden || !strings.Contains(text, "you may not write there") {
		t.Errorf("Bob, who may not push, releases dev: %d %s", code, text)
	}

	s.ProtectWith(f.cp, "dev", 0, requiredJob)
	code, location, text = v.act("release", "it is over")
	if code != http.StatusSeeOther || !strings.Contains(location, "proposed=") {
		t.Fatalf("Alice releases a protected branch: %d %q %s", code, location, text)
	}
	_, number, _ := strings.Cut(location, "proposed=")
	if who := s.Opener(f.cp, number); who != alice {
		t.Errorf("pull request %s is %s's", number, who)
	}
	if _, _, text := v.send("/environments/dev?proposed="+number, nil); !strings.Contains(text, "Proposed as pull request "+number) {
		t.Errorf("the page does not say that it is proposed: %s", text)
	}

	s.RemoveApplication(app)
	code, _, text = v.act("hold", "again")
	if code != http.StatusForbidden || !strings.Contains(text, "sign in again") {
		t.Errorf("after the forge has revoked the token: %d %s", code, text)
	}
	if strings.Contains(f.log.String(), app.Secret) {
		t.Error("the log has the secret of the application")
	}
}
