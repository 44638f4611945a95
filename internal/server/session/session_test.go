package session_test

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/server/session"
	"github.com/fairlead-io/fairlead/internal/testkit/issuertest"
)

var (
	newKey = strings.Repeat("n", 32)
	oldKey = strings.Repeat("o", 32)
)

// world is a page at which people sign in by an issuer, and a browser with cookies.
type world struct {
	*testing.T
	issuer  *issuertest.Issuer
	now     time.Time
	keys    []string
	keeper  *session.Keeper
	restart func() *session.Keeper
	cookies map[string]*http.Cookie
}

func newWorld(t *testing.T) *world {
	w := &world{T: t, issuer: issuertest.Start(t), now: time.Now(), keys: []string{newKey}, cookies: map[string]*http.Cookie{}}
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(issuertest.ClientSecret), 0o600); err != nil {
		t.Fatal(err)
	}
	o := session.Options{
		Ended: filepath.Join(t.TempDir(), "ended.json"),
		URL:   "https://fairlead.example.com/fleet/", OIDC: &config.OIDC{Issuer: w.issuer.URL, ClientID: issuertest.ClientID, ClientSecret: config.SecretRef{File: secret}, Groups: "groups"},
		Keys: func() ([]string, error) { return w.keys, nil }, Idle: 8 * time.Hour, Life: 24 * time.Hour, Now: func() time.Time { return w.now }, Logger: slog.New(slog.DiscardHandler),
		FilterGroups: func(all []string) []string {
			return slices.DeleteFunc(slices.Clone(all), func(g string) bool { return g != "sre" && g != "shop" })
		},
	}
	w.restart = func() *session.Keeper { return session.New(o) }
	w.keeper = w.restart()
	return w
}

// request returns a request with the cookies of the browser.
func (w *world) request(target string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, target, nil)
	for _, c := range w.cookies {
		r.AddCookie(&http.Cookie{Name: c.Name, Value: c.Value})
	}
	return r
}

// keep keeps the cookies of an answer.
func (w *world) keep(answer *httptest.ResponseRecorder) {
	w.Helper()
	for _, c := range answer.Result().Cookies() {
		if !c.Secure || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || !strings.HasPrefix(c.Name, "__Host-") || c.Domain != "" {
			w.Errorf("the cookie is %s", c)
		}
		w.cookies[c.Name] = c
		if c.MaxAge < 0 {
			delete(w.cookies, c.Name)
		}
	}
}

// begin goes to the issuer, and returns the target that it sends the browser back to.
func (w *world) begin(from string) string {
	w.Helper()
	answer := httptest.NewRecorder()
	address, err := w.keeper.Begin(answer, w.request("/sign-in"), from)
	if err != nil {
		w.Fatal(err)
	}
	w.keep(answer)
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Get(address)
	if err != nil {
		w.Fatal(err)
	}
	defer response.Body.Close()
	back, err := url.Parse(response.Header.Get("Location"))
	if err != nil || !strings.HasPrefix(back.String(), "https://fairlead.example.com/fleet/sign-in/callback?") {
		w.Fatalf("the issuer sends the browser to %s (%v)", back, err)
	}
	return session.CallbackPath + "?" + back.RawQuery
}

// finish comes back from the issuer.
func (w *world) finish(target string) (string, error) {
	w.Helper()
	answer := httptest.NewRecorder()
	path, _, err := w.keeper.Finish(answer, w.request(target))
	w.keep(answer)
	return path, err
}

// who returns the person of the browser's cookies.
func (w *world) who() *session.Person {
	w.Helper()
	answer := httptest.NewRecorder()
	p, err := w.keeper.Identify(answer, w.request("/"))
	if err != nil {
		w.Error(err)
	}
	w.keep(answer)
	return p
}

// TestSignIn: somebody signs in at the issuer, and out; a session ends, and goes on with another key.
func TestSignIn(t *testing.T) {
	w := newWorld(t)
	w.issuer.SignInAs(issuertest.Claims{"name": "Alice <root>\n", "email": "alice@example.com", "email_verified": true, "groups": []string{"sre", "other"}})
	if w.who() != nil {
		t.Error("somebody is signed in without a cookie")
	}
	path, err := w.finish(w.begin("/environments/prod?q=1#next"))
	if err != nil || path != "/environments/prod?q=1" {
		t.Fatalf("it returns to %s, %v", path, err)
	}
	p := w.who()
	if p == nil || p.Name != "Alice root" || p.Email != "alice@example.com" || p.Subject != "1234" || !slices.Equal(p.Groups, []string{"sre"}) || p.Actor() != w.issuer.URL+"#1234" {
		t.Fatalf("it is %+v", p)
	}
	w.keys = []string{oldKey, newKey} // the keys change, and the cookie is still good
	for range 3 {
		w.now = w.now.Add(7 * time.Hour)
		if w.who() == nil {
			t.Fatal("a session that is used has ended")
		}
	}
	w.keys = []string{oldKey} // it was sealed with the new one meanwhile
	if w.who() == nil {
		t.Error("a session has not got a cookie of the new key")
	}
	w.now = w.now.Add(3*time.Hour + time.Minute)
	if w.who() != nil {
		t.Error("a session lasts longer than a day")
	}
	w.now = time.Now()
	if _, err := w.finish(w.begin("/")); err != nil || w.who() == nil {
		t.Fatalf("signing in again: %v", err)
	}
	w.now = w.now.Add(9 * time.Hour)
	if w.who() != nil {
		t.Error("a session that is not used lasts longer than 8 hours")
	}
	w.now = w.now.Add(-9 * time.Hour)
	w.keys = []string{newKey}
	if w.who() != nil {
		t.Error("a session outlives its key")
	}
	w.keys = []string{oldKey}
	answer, copied := httptest.NewRecorder(), w.request("/")
	w.keeper.SignOut(answer, w.request("/sign-out"))
	w.keep(answer)
	if w.who() != nil || len(w.cookies) > 0 {
		t.Errorf("after signing out there are %v", w.cookies)
	}
	for _, when := range []string{"signing out", "a restart"} {
		p, err := w.keeper.Identify(nil, copied)
		if p != nil || err != nil {
			t.Errorf("after %s a copied cookie is that of %+v (%v)", when, p, err)
		}
		w.keeper = w.restart()
	}
	if _, err := w.finish(w.begin("/")); err != nil || w.who() == nil {
		t.Errorf("signing in again: %v", err)
	}
}

// TestUnverifiedAddress: an address that the issuer does not vouch for is nobody's.
func TestUnverifiedAddress(t *testing.T) {
	w := newWorld(t)
	for _, claims := range []issuertest.Claims{{"email": "alice@example.com"}, {"email": "alice@example.com", "email_verified": false}, {"email": "a<b>@x", "email_verified": true}} {
		w.issuer.SignInAs(claims)
		if _, err := w.finish(w.begin("/")); err != nil {
			t.Fatal(err)
		}
		p := w.who()
		if p == nil || !strings.HasSuffix(p.Email, "@noreply.fairlead.example.com") || p.Name != "1234" || !gate.IsPlaceholder(p.Actor(), p.Email) {
			t.Fatalf("%v are %+v", claims, p)
		}
		if claimed := slices.Contains(p.Aliases, "alice@example.com"); claimed != (claims["email_verified"] != true) {
			t.Errorf("%v: the aliases are %q", claims, p.Aliases)
		}
	}
}

// TestRefusedSignIn: an answer that is for others, too late, or comes again signs nobody in.
func TestRefusedSignIn(t *testing.T) {
	for _, test := range []struct {
		name   string
		claims issuertest.Claims
		change func(w *world, target string) string
		want   string
	}{
		{"expired", issuertest.Claims{"exp": time.Now().Add(-time.Hour).Unix()}, nil, "expired"},
		{"another audience", issuertest.Claims{"aud": "others"}, nil, "audience"},
		{"another issuer", issuertest.Claims{"iss": "https://elsewhere.example.com"}, nil, "issue"},
		{"another nonce", issuertest.Claims{"nonce": "x"}, nil, "for another sign-in"},
		{"no subject", issuertest.Claims{"sub": ""}, nil, "who you are"},
		{"another state", nil, func(_ *world, target string) string {
			return strings.Replace(target, "state=", "state=x", 1)
		}, "for another sign-in"},
		{"another browser", nil, func(w *world, target string) string { w.cookies = map[string]*http.Cookie{}; return target }, "did not begin"},
		{"too late", nil, func(w *world, target string) string { w.now = w.now.Add(11 * time.Minute); return target }, "too long"},
		{"replayed", nil, func(w *world, target string) string {
			if _, err := w.finish(target); err != nil {
				w.Error(err)
			}
			return target
		}, "has done so already"},
		{"replayed with the cookie of before", nil, func(w *world, target string) string {
			before := w.cookies["__Host-fairlead-sign-in"]
			if _, err := w.finish(target); err != nil {
				w.Error(err)
			}
			w.cookies["__Host-fairlead-sign-in"] = before
			return target
		}, "invalid_grant"},
		{"the issuer refuses", nil, func(w *world, target string) string { return target + "&error=access_denied" }, "access_denied"},
		{"the session as the state", nil, func(w *world, target string) string {
			if _, err := w.finish(target); err != nil {
				w.Error(err)
			}
			c := w.cookies["__Host-fairlead-session"]
			c.Name = "__Host-fairlead-sign-in"
			w.cookies = map[string]*http.Cookie{c.Name: c}
			return target
		}, "did not begin"},
		{"a changed cookie", nil, func(w *world, target string) string {
			c := w.cookies["__Host-fairlead-sign-in"]
			c.Value = "A" + c.Value[1:] + "A"
			return target
		}, "did not begin"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			w.issuer.SignInAs(test.claims)
			target := w.begin("/")
			if test.change != nil {
				target = test.change(w, target)
			}
			kept := w.cookies["__Host-fairlead-session"]
			if _, err := w.finish(target); !errors.Is(err, session.ErrRefused) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("it is %v, want %q", err, test.want)
			}
			if kept == nil && w.who() != nil {
				t.Error("somebody is signed in")
			}
		})
	}
}

// TestBearer: a program sends a token of the same issuer, for Fairlead.
func TestBearer(t *testing.T) {
	w := newWorld(t)
	good := w.issuer.Token(issuertest.Claims{"groups": "sre"})
	other := issuertest.Start(t)
	for _, test := range []struct {
		name    string
		headers []string
		want    string // the groups; an error if it is "refused"
	}{
		{"a token", []string{"Bearer " + good}, "sre"},
		{"lower case", []string{"bearer " + good}, "sre"},
		{"another scheme is for a proxy", []string{"Basic eDp5"}, "nobody"},
		{"expired", []string{"Bearer " + w.issuer.Token(issuertest.Claims{"exp": 1})}, "refused"},
		{"for others", []string{"Bearer " + w.issuer.Token(issuertest.Claims{"aud": "others"})}, "refused"},
		{"of another issuer's key", []string{"Bearer " + other.Token(issuertest.Claims{"iss": w.issuer.URL})}, "refused"},
		{"of another issuer", []string{"Bearer " + other.Token(nil)}, "refused"},
		{"issued to another client", []string{"Bearer " + w.issuer.Token(issuertest.Claims{"azp": "others"})}, "refused"},
		{"for several, and issued to nobody", []string{"Bearer " + w.issuer.Token(issuertest.Claims{"aud": []string{issuertest.ClientID, "others"}})}, "refused"},
		{"of the future", []string{"Bearer " + w.issuer.Token(issuertest.Claims{"iat": time.Now().Add(time.Hour).Unix()})}, "refused"},
		{"of no time", []string{"Bearer " + w.issuer.Token(issuertest.Claims{"iat": nil})}, "refused"},
		{"twice", []string{"Bearer " + good, "Bearer " + good}, "refused"},
		{"no signature", []string{"Bearer " + good[:strings.LastIndex(good, ".")+1]}, "refused"},
		{"no token", []string{"Bearer x"}, "refused"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header["Authorization"] = test.headers
		p, err := w.keeper.Identify(nil, r)
		got := "nobody"
		switch {
		case errors.Is(err, session.ErrRefused):
			got = "refused"
		case err != nil:
			t.Error(err)
		case p != nil:
			got = strings.Join(p.Groups, " ")
		}
		if got != test.want {
			t.Errorf("%s: %s (%v), want %s", test.name, got, err, test.want)
		}
	}
}

// TestReturn: after signing in one is at a page of this site.
func TestReturn(t *testing.T) {
	w := newWorld(t)
	for path, want := range map[string]string{
		"/environments/prod?q=a%20b": "environments/prod?q=a%20b", "/": "", "": "", "/environments/a%2Fb": "environments/a%2Fb",
		"//evil.example.com": "", "https://evil.example.com/": "", "/\\evil.example.com": "", "\\\\evil.example.com": "", "/%2F/evil": "", "evil": "",
		"/%5cevil": "", "javascript:alert(1)": "", "/a\nb": "", "/%0d%0aLocation:x": "", "/sign-in?from=/": "", "/sign-out": "", "/../x": "", "/a/..": "", "/" + strings.Repeat("a", 2000): "",
		"/x#//evil": "x", "https:evil": "", "//user@evil/": "",
	} {
		if got := w.keeper.Address(path); got != "https://fairlead.example.com/fleet/"+want {
			t.Errorf("%q leads to %s", path, got)
		}
	}
}

// TestProxy: the headers of the proxy count from its addresses alone.
func TestProxy(t *testing.T) {
	issuer := issuertest.Start(t)
	headers := &config.Proxy{From: []string{"10.0.0.0/24", "::1"}, User: "X-User", Name: "X-Name", Email: "X-Email", Groups: "X-Groups"}
	token := &config.Proxy{From: []string{"10.0.0.0/24"}, JWT: &config.ProxyToken{Header: "X-Token", Issuer: issuer.URL, Audience: "fairlead", Groups: "groups"}}
	keys := &config.Proxy{From: []string{"10.0.0.0/24"}, JWT: &config.ProxyToken{Header: "X-Token", Issuer: issuer.URL, Audience: "fairlead", Groups: "groups", Keys: issuer.URL + "/keys"}}
	good := issuer.Token(issuertest.Claims{"groups": []string{"sre"}, "name": "Bob"})
	for _, test := range []struct {
		name, from string
		proxy      *config.Proxy
		headers    map[string][]string
		want       string
	}{
		{"from the proxy", "10.0.0.7:1234", headers, map[string][]string{"X-User": {"bob"}, "X-Name": {"Bob"}, "X-Email": {"bob@example.com"}, "X-Groups": {"sre, other"}}, "Bob <bob@example.com> [sre] proxy#bob"},
		{"from the proxy, as IPv4 in IPv6", "[::ffff:10.0.0.7]:1234", headers, map[string][]string{"X-User": {"bob@example.com"}}, "bob@example.com <bob@example.com> [] proxy#bob@example.com"},
		{"a stranger", "10.0.1.7:1234", headers, map[string][]string{"X-User": {"bob"}}, "nobody"},
		{"nobody knows from where", "@", headers, map[string][]string{"X-User": {"bob"}}, "nobody"},
		{"a stranger who says to be the proxy", "192.0.2.1:1", headers, map[string][]string{"X-User": {"bob"}, "X-Forwarded-For": {"10.0.0.7"}, "X-Real-Ip": {"10.0.0.7"}}, "nobody"},
		{"nobody has signed in", "10.0.0.7:1", headers, map[string][]string{"X-Groups": {"sre"}}, "nobody"},
		{"twice", "10.0.0.7:1", headers, map[string][]string{"X-User": {"bob", "root"}}, "refused"},
		{"groups twice", "10.0.0.7:1", headers, map[string][]string{"X-User": {"bob"}, "X-Groups": {"a", "sre"}}, "refused"},
		{"a login that is no name", "10.0.0.7:1", headers, map[string][]string{"X-User": {"bob <root>"}}, "refused"},
		{"a token", "10.0.0.7:1", token, map[string][]string{"X-Token": {good}}, "Bob <> [sre] " + issuer.URL + "#1234"},
		{"a token, with the keys", "10.0.0.7:1", keys, map[string][]string{"X-Token": {"Bearer " + good}}, "Bob <> [sre] " + issuer.URL + "#1234"},
		{"a token of a stranger", "192.0.2.1:1", token, map[string][]string{"X-Token": {good}}, "nobody"},
		{"a token that has expired", "10.0.0.7:1", token, map[string][]string{"X-Token": {issuer.Token(issuertest.Claims{"exp": 1})}}, "refused"},
		{"a token for others", "10.0.0.7:1", keys, map[string][]string{"X-Token": {issuer.Token(issuertest.Claims{"aud": "x"})}}, "refused"},
		{"headers beside a token do not count", "10.0.0.7:1", token, map[string][]string{"X-Forwarded-User": {"bob"}}, "nobody"},
	} {
		var log strings.Builder
		k := session.New(session.Options{URL: "https://fairlead.example.com/", Proxy: test.proxy, Now: time.Now, Logger: slog.New(slog.NewTextHandler(&log, nil)),
			FilterGroups: func(all []string) []string {
				return slices.DeleteFunc(slices.Clone(all), func(g string) bool { return g != "sre" })
			}})
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr, r.Header = test.from, test.headers
		p, err := k.Identify(nil, r)
		got := "nobody"
		switch {
		case errors.Is(err, session.ErrRefused):
			got = "refused"
		case err != nil:
			t.Error(err)
		case p != nil:
			email := p.Email
			if strings.HasSuffix(email, "@noreply.fairlead.example.com") {
				email = ""
			}
			got = p.Name + " <" + email + "> [" + strings.Join(p.Groups, " ") + "] " + p.Actor()
		}
		if got != test.want {
			t.Errorf("%s: %s (%v), want %s", test.name, got, err, test.want)
		}
		if strings.Contains(test.name, "stranger") != strings.Contains(log.String(), "not from the proxy") && test.from != "@" {
			t.Errorf("%s: the log is %q", test.name, log.String())
		}
	}
}

// TestLocal: who asks from this machine is the person of the demo, unless somebody else may be behind the request.
func TestLocal(t *testing.T) {
	k := session.New(session.Options{Local: &session.Person{Issuer: "demo", Subject: "demo", Name: "Demo"}, Now: time.Now, Logger: slog.New(slog.DiscardHandler)})
	if k.HasPage() || !k.IsLocal() {
		t.Error("there is nowhere to sign in, and everybody on this machine has")
	}
	for _, test := range []struct {
		from, header string
		want         bool
	}{
		{"127.0.0.1:1234", "", true},
		{"127.8.0.1:1234", "", true},
		{"[::1]:1234", "", true},
		{"[::ffff:127.0.0.1]:1234", "", true},
		{"192.0.2.1:1234", "", false},
		{"[2001:db8::1]:1234", "", false},
		{"@", "", false},
		{"", "", false},
		{"127.0.0.1:1234", "X-Forwarded-For", false},
		{"127.0.0.1:1234", "Forwarded", false},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr = test.from
		if test.header != "" {
			r.Header.Set(test.header, "192.0.2.1")
		}
		who, err := k.Identify(httptest.NewRecorder(), r)
		if err != nil || (who != nil) != test.want {
			t.Errorf("%s %s: %v, %v", test.from, test.header, who, err)
		}
	}
}
