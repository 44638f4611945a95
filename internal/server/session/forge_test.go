package session_test

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/server/session"
	"github.com/fairlead-io/fairlead/internal/testkit/issuertest"
)

// forgeServer is the part of a forge at which people sign in. It answers as the API of its kind is described.
type forgeServer struct {
	*httptest.Server
	mu      sync.Mutex
	codes   map[string]url.Values // what was asked for when the code was made
	expires int                   // seconds; 0 for never
	refused bool                  // its tokens count no more
	answers map[string]string     // by path of the API
}

// forgeToken is the token of everybody.
const forgeToken = "a-token-of-the-forge"

func startForge(t *testing.T, authorize, token string, answers map[string]string) *forgeServer {
	t.Helper()
	f := &forgeServer{codes: map[string]url.Values{}, answers: answers}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+authorize, func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		code := rand.Text()
		f.mu.Lock()
		f.codes[code] = query
		f.mu.Unlock()
		http.Redirect(w, r, query.Get("redirect_uri")+"?"+url.Values{"code": {code}, "state": {query.Get("state")}}.Encode(), http.StatusFound)
	})
	mux.HandleFunc("POST "+token, func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		asked, known := f.codes[r.PostFormValue("code")]
		delete(f.codes, r.PostFormValue("code"))
		sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
		w.Header().Set("Content-Type", "application/json")
		if !known || r.PostFormValue("client_id") != "the-client" || r.PostFormValue("client_secret") != issuertest.ClientSecret ||
			asked.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(sum[:]) || asked.Get("redirect_uri") != r.PostFormValue("redirect_uri") {
			// GitHub answers 200 with an error.
			_, _ = w.Write([]byte(`{"error": "bad_verification_code", "error_description": "The code is <b>incorrect</b> or expired."}`)) // a test's connection
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"access_token": forgeToken, "token_type": "bearer", "expires_in": f.expires}) // likewise
	})
	mux.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		text, known := f.answers[r.URL.Path]
		refused := f.refused
		f.mu.Unlock()
		switch {
		case refused || r.Header.Get("Authorization") != "Bearer "+forgeToken:
			w.WriteHeader(http.StatusUnauthorized)
		case !known:
			w.WriteHeader(http.StatusForbidden)
		case r.URL.Query().Get("page") > "1":
			_, _ = w.Write([]byte("[]"))
		default:
			_, _ = w.Write([]byte(text))
		}
	})
	f.Server = httptest.NewServer(mux)
	t.Cleanup(f.Close)
	return f
}

// newForgeWorld returns a page at which people sign in at a forge.
func newForgeWorld(t *testing.T, f *forgeServer, kind, api string) *world {
	t.Helper()
	w := &world{T: t, now: time.Now(), keys: []string{newKey}, cookies: map[string]*http.Cookie{}}
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(issuertest.ClientSecret), 0o600); err != nil {
		t.Fatal(err)
	}
	w.keeper = session.New(session.Options{
		URL: "https://fairlead.example.com/fleet/", Forge: &session.Forge{Kind: kind, Server: f.URL, API: f.URL + api, ClientID: "the-client", ClientSecret: config.SecretRef{File: secret}},
		Keys: func() ([]string, error) { return w.keys, nil }, Idle: 8 * time.Hour, Life: 24 * time.Hour, Now: func() time.Time { return w.now }, Logger: slog.New(slog.DiscardHandler),
		FilterGroups: func(all []string) []string {
			return slices.DeleteFunc(slices.Clone(all), func(g string) bool { return !strings.HasPrefix(g, "acme") })
		},
	})
	return w
}

// many returns the first page of a list, which is full.
func many(one string) string {
	return "[" + strings.Repeat(one+",", 49) + one + "]"
}

// forgeCases are the kinds of forges, with the answers that they give.
var forgeCases = map[string]struct {
	authorize, token, api string
	answers               map[string]string
	want                  session.Person
}{
	"github": {"/login/oauth/authorize", "/login/oauth/access_token", "/api/v3", map[string]string{
		"/api/v3/user":        `{"id": 7, "login": "alice", "name": "Alice <root>"}`,
		"/api/v3/user/emails": `[{"email": "old@example.com", "primary": false, "verified": true}, {"email": "alice@example.com", "primary": true, "verified": true}]`,
		"/api/v3/user/orgs":   `[{"login": "acme"}]`,
		"/api/v3/user/teams":  `[{"name": "Site Reliability", "slug": "sre", "organization": {"login": "acme"}}]`,
	}, session.Person{Subject: "7", Name: "Alice root", Email: "alice@example.com", Login: "alice", Groups: []string{"acme", "acme/sre"}}},
	"github, not verified, without groups": {"/login/oauth/authorize", "/login/oauth/access_token", "/api/v3", map[string]string{
		"/api/v3/user":        `{"id": 7, "login": "alice"}`,
		"/api/v3/user/emails": `[{"email": "alice@example.com", "primary": true, "verified": false}]`,
	}, session.Person{Subject: "7", Name: "alice", Login: "alice"}},
	"gitlab": {"/oauth/authorize", "/oauth/token", "/api/v4", map[string]string{
		"/api/v4/user":   `{"id": 7, "username": "alice", "name": "Alice", "email": "alice@example.com", "commit_email": "7-alice@users.noreply.gitlab.example", "confirmed_at": "2026-01-01T00:00:00Z"}`,
		"/api/v4/groups": `[{"full_path": "acme"}, {"full_path": "acme/platform/sre"}]`,
	}, session.Person{Subject: "7", Name: "Alice", Email: "7-alice@users.noreply.gitlab.example", Login: "alice", Groups: []string{"acme", "acme/platform/sre"}}},
	"gitlab, not confirmed": {"/oauth/authorize", "/oauth/token", "/api/v4", map[string]string{
		"/api/v4/user": `{"id": 7, "username": "alice", "name": "Alice", "email": "boss@example.com"}`, "/api/v4/groups": many(`{"full_path": "acme"}`),
	}, session.Person{Subject: "7", Name: "Alice", Login: "alice"}},
	"gitea": {"/login/oauth/authorize", "/login/oauth/access_token", "", map[string]string{
		"/api/v1/user": `{"id": 7, "login": "alice", "full_name": "Alice"}`, "/api/v1/user/emails": `[{"email": "alice@example.com", "primary": true, "verified": true}]`,
		"/api/v1/user/orgs": `[{"username": "acme"}]`, "/api/v1/user/teams": `[{"name": "sre", "organization": {"username": "acme"}}]`,
	}, session.Person{Subject: "7", Name: "Alice", Email: "alice@example.com", Login: "alice", Groups: []string{"acme", "acme/sre"}}},
}

// TestForgeSignIn: somebody signs in at each kind of forge. The token is in the sealed cookie, and ends the session
// when it ends.
func TestForgeSignIn(t *testing.T) {
	for name, test := range forgeCases {
		t.Run(name, func(t *testing.T) {
			f := startForge(t, test.authorize, test.token, test.answers)
			f.expires = 3600
			kind, _, _ := strings.Cut(name, ",")
			w := newForgeWorld(t, f, kind, test.api)
			path, err := w.finish(w.begin("/environments/prod"))
			if err != nil || path != "/environments/prod" {
				t.Fatalf("it returns to %s, %v", path, err)
			}
			got := w.who()
			if got == nil || got.Token.Reveal() != forgeToken || fmt.Sprint(got.Token) != "[redacted]" {
				t.Fatalf("it is %+v", got)
			}
			want := test.want
			want.Issuer = f.URL
			if want.Email == "" && !strings.HasSuffix(got.Email, "@noreply.fairlead.example.com") {
				t.Errorf("the address is %s", got.Email)
			}
			if strings.Contains(name, "not confirmed") {
				want.Groups = got.Groups
			}
			clean := *got
			clean.Token, clean.TokenEnds = config.Secret{}, time.Time{}
			if want.Email == "" {
				clean.Email = ""
			}
			if diff := cmp.Diff(fmt.Sprintf("%+v", want), fmt.Sprintf("%+v", clean)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			for _, c := range w.cookies {
				if strings.Contains(c.Value, forgeToken) {
					t.Error("the token can be read in the cookie")
				}
			}
			w.now = w.now.Add(2 * time.Hour)
			if w.who() != nil {
				t.Error("the session lasts longer than the token")
			}
		})
	}
}

// TestForgeRefused: an answer that is for another browser, comes again, is not of the forge, or whose token the forge
// has revoked signs nobody in.
func TestForgeRefused(t *testing.T) {
	test := forgeCases["github"]
	for name, one := range map[string]struct {
		before func(w *world, f *forgeServer)
		change func(target string) string
		want   string
	}{
		"another state":   {nil, func(target string) string { return strings.Replace(target, "state=", "state=x", 1) }, "for another sign-in"},
		"another browser": {func(w *world, _ *forgeServer) { w.cookies = map[string]*http.Cookie{} }, nil, "did not begin"},
		"too late":        {func(w *world, _ *forgeServer) { w.now = w.now.Add(11 * time.Minute) }, nil, "took too long"},
		"another code":    {nil, func(target string) string { return strings.Replace(target, "code=", "code=x", 1) }, "the forge refuses: bad_verification_code The code is bincorrect/b or expired"},
		"a code that was used": {func(_ *world, f *forgeServer) {
			f.mu.Lock()
			defer f.mu.Unlock()
			clear(f.codes)
		}, nil, "the forge refuses: bad_verification_code"},
		"a refusal": {nil, func(string) string { return session.CallbackPath + "?error=access_denied&state=STATE" }, "for another sign-in"},
		"revoked": {func(_ *world, f *forgeServer) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.refused = true
		}, nil, "does not take the token"},
		"nobody": {func(_ *world, f *forgeServer) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.answers = map[string]string{"/api/v3/user": `{"message": "hello"}`, "/api/v3/user/emails": "[]"}
		}, nil, "does not say who you are"},
	} {
		t.Run(name, func(t *testing.T) {
			f := startForge(t, test.authorize, test.token, test.answers)
			w := newForgeWorld(t, f, "github", test.api)
			target := w.begin("/")
			if one.before != nil {
				one.before(w, f)
			}
			if one.change != nil {
				target = one.change(target)
			}
			_, err := w.finish(target)
			if err == nil || !strings.Contains(err.Error(), one.want) {
				t.Errorf("the error is %v, want %s", err, one.want)
			}
			if w.who() != nil {
				t.Error("somebody is signed in")
			}
		})
	}
	w := newForgeWorld(t, startForge(t, test.authorize, test.token, test.answers), "github", test.api)
	r := w.request("/")
	r.Header.Set("Authorization", "Bearer "+forgeToken)
	if p, err := w.keeper.Identify(httptest.NewRecorder(), r); p != nil || err == nil {
		t.Errorf("a token of the forge, which may be for another application, makes %v", p)
	}
}
