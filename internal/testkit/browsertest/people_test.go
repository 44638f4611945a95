package browsertest

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/testkit/issuertest"
)

// send sends a request to the page as a program does, with more headers in pairs, and returns the status and
// the body of the answer.
func (f *fleet) send(method, path, body string, headers ...string) (int, string) {
	f.t.Helper()
	r, err := http.NewRequestWithContext(f.t.Context(), method, f.root+path, strings.NewReader(body))
	if err != nil {
		f.t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		f.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		f.t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// TestSignInPage: people sign in at an issuer, come back to the page that they left, act, and sign out.
func TestSignInPage(t *testing.T) {
	browser, issuer := Start(t), issuertest.Start(t)
	t.Setenv("OIDC_SECRET", issuertest.ClientSecret)
	t.Setenv("SESSION_KEY", strings.Repeat("k", 32))
	f := startFleet(t, "  read: signed-in\n  signIn: {oidc: {issuer: \""+issuer.URL+"\", clientID: fairlead, clientSecret: {env: OIDC_SECRET}}}\n  session: {key: {env: SESSION_KEY}}\n")
	issuer.SignInAs(issuertest.Claims{"name": "Alice", "email": "alice@example.com", "email_verified": true, "groups": []string{"sre"}})
	for path, want := range map[string]int{"/api/v1/overview": http.StatusUnauthorized, "/events?page=/": http.StatusUnauthorized, "/healthz": http.StatusOK} {
		if code, text := f.send(http.MethodGet, path, ""); code != want {
			t.Errorf("somebody who has not signed in gets %d of %s: %s", code, path, text)
		}
	}
	if code, text := f.send(http.MethodGet, "/api/v1/me", "", "Authorization", "Bearer "+issuer.Token(issuertest.Claims{"groups": []string{"sre"}})); code != http.StatusOK || !strings.Contains(text, `"hold"`) {
		t.Errorf("a program with a token gets %d: %s", code, text)
	}
	w := browser.Open(t, View{Width: 1280, Script: true})
	w.Visit(f.root + "/environments/dev") // leads to the issuer, and back
	w.WaitFor(".person", "Alice")
	if got := w.Address(); got != "/environments/dev" {
		t.Errorf("after signing in one is at %s", got)
	}
	w.Click(`a[href="../levers/hold?env=dev"]`)
	w.Submit(`input[name="reason"]`, "a test")
	w.WaitFor("#written", "Written as")
	if got := f.head("dev"); !strings.HasPrefix(got, "Alice <alice@example.com>, Fairlead\nHold dev") || !strings.Contains(got, "Fairlead-Actor: "+issuer.URL+"#1234") {
		t.Errorf("the commit is %s", got)
	}
	w.Click(".person")
	w.WaitFor("main", "alice@example.com")
	var cookies string
	w.Ask("document.cookie", &cookies)
	if strings.Contains(cookies, "session") {
		t.Errorf("scripts see the cookies %s", cookies)
	}
	issuer.SignInAs(issuertest.Claims{"sub": "5", "name": "Bob"})
	w.Click(`form[action="./sign-out"] button`)
	w.WaitFor("main", "You have not signed in")
	w.WaitFor(".person", "Sign in")
	w.Click(".person")
	w.WaitFor(".person", "Bob")
}
