package browsertest

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
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

// approveAndRollBack approves a commit twice, first as its author, which does not count, and rolls back.
func approveAndRollBack(t *testing.T, w *Window, f *fleet) {
	f.commit("main", "readme.md", "more", "Say <i>more</i>", "carol")
	f.send(http.MethodPost, "/api/v1/wake", "")
	w.Visit(f.root + "/environments/prod")
	w.WaitFor("#gates", "approval")
	f.signInAs("carol@example.com sre")
	w.Visit(f.root + "/levers/approve?env=prod")
	w.WaitFor("#consequences", "The gate approval does not pass yet")
	w.Click("#confirm")
	w.WaitFor("#written", "Written as")
	w.WaitFor("#gates", "carol@example.com is an author of what is approved")
	f.signInAs("alice@example.com sre")
	w.Visit(f.root + "/")
	w.Click(`a[href="./levers/approve?env=prod"]`)
	w.WaitFor("#consequences", "Approved already by carol@example.com")
	w.WaitFor("#consequences", "Then it is promoted to prod at once.")
	w.Click("#confirm")
	w.WaitFor("#written", "Written as")
	w.WaitUntil(`document.querySelector("#has").closest("section").textContent.includes("Say <i>more</i>")`)
	w.WaitFor(".title .tag", "verified")
	w.Visit(f.root + "/levers/rollback?env=prod")
	w.WaitFor("#consequences", "prod is then held until somebody releases it")
	w.Submit(`input[name="reason"]`, "checkout fails")
	w.WaitFor("#written", "Written as")
	w.WaitFor(".title .tag", "held")
	w.WaitUntil(`!document.querySelector("#has").closest("section").textContent.includes("Say <i>more</i>")`)
	if got := f.head("prod"); !strings.HasPrefix(got, "alice@example.com <alice@example.com>, Fairlead\nRoll prod back to ") || !strings.Contains(got, "Fairlead-Via: web") {
		t.Errorf("the commit is %s", got)
	}
}

// beFaster has somebody act on what is there no more, and others who must not act: nothing is written.
func beFaster(t *testing.T, f *fleet) {
	f.signInAs("alice@example.com sre")
	code, text := f.send(http.MethodGet, "/api/v1/levers/hold?env=dev", "")
	var shown struct{ Seen string }
	if err := json.Unmarshal([]byte(text), &shown); err != nil || code != http.StatusOK || shown.Seen == "" {
		t.Fatalf("%d %s (%v)", code, text, err)
	}
	const form = "application/x-www-form-urlencoded"
	f.commit("dev", "note.txt", "x", "Somebody else was here", "carol")
	before := gittest.Commit(t, f.plane, "dev")
	for _, test := range []struct {
		name, user, path, body, kind string
		headers                      []string
		code                         int
		want                         string
	}{
		{"a form on what was", "alice sre", "/levers/hold", "env=dev&reason=x&seen=" + shown.Seen, form, nil, http.StatusConflict, "Somebody was faster"},
		{"a request on what was", "alice sre", "/api/v1/levers/hold", `{"env": "dev", "reason": "x", "seen": "` + shown.Seen + `"}`, "application/json", nil, http.StatusConflict, "not any more what you have seen"},
		{"without what was seen", "alice sre", "/levers/hold", "env=dev&reason=x", form, nil, http.StatusBadRequest, "what was seen"},
		{"without a reason", "alice sre", "/levers/hold", "env=dev&seen=force", form, nil, http.StatusBadRequest, "reason is missing"},
		{"another site", "alice sre", "/levers/hold", "env=dev&reason=x&seen=force", form, []string{"Sec-Fetch-Site", "cross-site"}, http.StatusForbidden, "another site"},
		{"another origin", "alice sre", "/levers/hold", "env=dev&reason=x&seen=force", form, []string{"Origin", "https://evil.example.com"}, http.StatusForbidden, "another site"},
		{"a form as a request", "alice sre", "/api/v1/levers/hold", "env=dev&reason=x&seen=force", form, nil, http.StatusBadRequest, "cannot be read"},
		{"nobody", "", "/api/v1/levers/hold", `{"env": "dev", "reason": "x", "seen": "force"}`, "application/json", nil, http.StatusUnauthorized, "sign in first"},
		{"a hostile name", "alice sre", "/levers/hold", "env=%3Cscript%3Ealert(1)%3C/script%3E&reason=x&seen=force", form, nil, http.StatusForbidden, "&lt;script&gt;"},
		{"no lever", "alice sre", "/levers/%3Cb%3E", "env=dev&seen=force", form, nil, http.StatusNotFound, "There is no action &lt;b&gt;."},
		{"a revision that is no commit", "alice sre", "/levers/rollback", "env=dev&commit=--upload-pack%3Dx&reason=x&seen=force", form, nil, http.StatusBadRequest, "not an id"},
	} {
		f.signInAs(test.user)
		code, text := f.send(http.MethodPost, test.path, test.body, append(test.headers, "Content-Type", test.kind)...)
		if code != test.code || !strings.Contains(text, test.want) || strings.Contains(text, "<script>alert") {
			t.Errorf("%s: %d, want %d and %q in\n%s", test.name, code, test.code, test.want, text)
		}
		if now := gittest.Commit(t, f.plane, "dev"); now != before {
			t.Fatalf("%s: something was written: %s", test.name, f.head("dev"))
		}
	}
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
	w.WaitFor(".title .tag", "verified")
	w.Click(`a[href="../levers/hold?env=dev"]`)
	w.Submit(`input[name="reason"]`, "a test")
	w.WaitFor("#written", "Written as")
	if got := f.head("dev"); !strings.HasPrefix(got, "Alice <alice@example.com>, Fairlead\nHold dev") || !strings.Contains(got, "Fairlead-Actor: "+issuer.URL+"#1234") {
		t.Errorf("the commit is %s", got)
	}
	w.Visit(f.root + "/levers/release?env=dev") // the session ends while somebody types
	w.Run(network.ClearBrowserCookies(), chromedp.SendKeys(`input[name="reason"]`, "it is over", chromedp.ByQuery))
	before := f.head("dev")
	w.Click("#confirm")
	w.WaitFor("main", "Your session has ended, and nothing was done.")
	w.forgive("status of 401")
	if f.head("dev") != before {
		t.Errorf("somebody whose session has ended writes %s", f.head("dev"))
	}
	w.Click(`main a[href*="sign-in?"]`)
	w.WaitFor("h1", "Release dev?")
	var typed string
	w.Ask(`document.querySelector('input[name="reason"]').value`, &typed)
	if typed != "it is over" {
		t.Errorf("what was typed is %q", typed)
	}
	w.Click(".person")
	w.WaitFor("main", "alice@example.com")
	var cookies string
	w.Ask("document.cookie", &cookies)
	if strings.Contains(cookies, "session") {
		t.Errorf("scripts see the cookies %s", cookies)
	}
	issuer.SignInAs(issuertest.Claims{"sub": "5", "name": "Bob", "aud": "another"})
	w.Click(`form[action="./sign-out"] button`)
	w.WaitFor("main", "You have not signed in")
	w.WaitFor(".person", "Sign in")
	w.Visit(f.root + "/environments/prod") // the token is for another program
	w.WaitFor("h1", "Refused")
	w.WaitFor("main", "The token of the issuer is refused: ")
	w.forgive("status of 403")
	checkAccessible(t, w, "a refused sign-in")
	checkWidth(t, w, 1280, "a refused sign-in")
	issuer.SignInAs(issuertest.Claims{"sub": "5", "name": "Bob"})
	w.Click(`main a[href*="sign-in?"]`)
	w.WaitFor(".person", "Bob")
	if got := w.Address(); got != "/environments/prod" {
		t.Errorf("after signing in again one is at %s", got)
	}
}

// TestStranger: whom a proxy names that is not one of those of the settings has not signed in, and does nothing.
func TestStranger(t *testing.T) {
	browser := Start(t)
	f := startFleet(t, "  signIn: {proxy: {from: [127.0.0.9]}}\n") // the proxy is 127.0.0.1
	f.signInAs("alice@example.com sre")
	w := browser.Open(t, View{Width: 400})
	w.Visit(f.root + "/environments/dev")
	if w.Text(".person") != "" || w.Text(".levers") != "" {
		t.Errorf("a stranger is %q, and may %q", w.Text(".person"), w.Text(".levers"))
	}
	w.Visit(f.root + "/me")
	w.WaitFor("main", "You have not signed in.")
	w.Visit(f.root + "/levers/hold?env=dev")
	w.WaitFor("h1", "Refused")
	w.forgive("status of 401")
	before := f.head("dev")
	code, text := f.send(http.MethodPost, "/api/v1/levers/hold", `{"env": "dev", "reason": "x", "seen": "force"}`, "Content-Type", "application/json", "X-Forwarded-User", "alice@example.com", "X-Forwarded-Groups", "sre")
	if code != http.StatusUnauthorized || f.head("dev") != before {
		t.Errorf("a stranger gets %d %s, and the branch is at %s", code, text, f.head("dev"))
	}
}
