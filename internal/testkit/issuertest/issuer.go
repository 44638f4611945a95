// Package issuertest is an issuer of OpenID Connect for tests: it has discovery, keys, and the authorization
// code flow with PKCE, and signs in at once whoever comes.
//
// What the package keeps true: a code is good once, for the client, the address and the browser that asked
// for it; keys are made while tests run.
package issuertest

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"
)

// The client that the issuer knows.
const (
	ClientID     = "fairlead"
	ClientSecret = "not a secret"
)

// Claims are those of a token.
type Claims = map[string]any

// Issuer is a running issuer.
type Issuer struct {
	URL string
	t   testing.TB
	key *rsa.PrivateKey

	mu    sync.Mutex
	who   Claims // of whoever signs in
	codes map[string]grant
}

// grant is what a code stands for. It is good once.
type grant struct {
	claims              Claims
	challenge, redirect string
}

// Start starts an issuer, which ends with the test.
func Start(t testing.TB) *Issuer {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	i := &Issuer{t: t, key: key, codes: map[string]grant{}}
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	i.URL = server.URL
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		i.answer(w, Claims{
			"issuer": i.URL, "authorization_endpoint": i.URL + "/authorize", "token_endpoint": i.URL + "/token", "jwks_uri": i.URL + "/keys",
			"id_token_signing_alg_values_supported": []string{"RS256"}, "response_types_supported": []string{"code"}, "subject_types_supported": []string{"public"},
		})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		e := big.NewInt(int64(key.E)).Bytes()
		i.answer(w, Claims{"keys": []Claims{{"kty": "RSA", "alg": "RS256", "use": "sig", "kid": "1", "n": encode(key.N.Bytes()), "e": encode(e)}}})
	})
	mux.HandleFunc("GET /authorize", i.authorize)
	mux.HandleFunc("POST /token", i.exchange)
	return i
}

// SignInAs has the issuer sign in a person from now on. Claims replace those that the token would have.
func (i *Issuer) SignInAs(who Claims) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.who = who
}

// authorize sends a browser back with a code.
func (i *Issuer) authorize(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	back, err := url.Parse(query.Get("redirect_uri"))
	if err != nil || query.Get("client_id") != ClientID || query.Get("response_type") != "code" || query.Get("code_challenge_method") != "S256" {
		http.Error(w, "the request is not as it should be", http.StatusBadRequest)
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	claims := Claims{"nonce": query.Get("nonce")}
	maps.Copy(claims, i.who)
	code := rand.Text()
	i.codes[code] = grant{claims, query.Get("code_challenge"), query.Get("redirect_uri")}
	back.RawQuery = url.Values{"code": {code}, "state": {query.Get("state")}}.Encode()
	http.Redirect(w, r, back.String(), http.StatusFound)
}

// exchange answers with the token of a code.
func (i *Issuer) exchange(w http.ResponseWriter, r *http.Request) {
	id, secret, _ := r.BasicAuth()
	if id == "" {
		id, secret = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
	}
	secret, _ = url.QueryUnescape(secret)
	i.mu.Lock()
	g, known := i.codes[r.PostFormValue("code")]
	delete(i.codes, r.PostFormValue("code"))
	i.mu.Unlock()
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	if id != ClientID || secret != ClientSecret || !known || encode(sum[:]) != g.challenge || r.PostFormValue("redirect_uri") != g.redirect {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		i.answer(w, Claims{"error": "invalid_grant"})
		return
	}
	i.answer(w, Claims{"access_token": "none", "token_type": "Bearer", "id_token": i.Token(g.claims)})
}

// Token returns a token that is good for an hour, unless the claims say otherwise.
func (i *Issuer) Token(claims Claims) string {
	all := Claims{"iss": i.URL, "aud": ClientID, "sub": "1234", "iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix()}
	maps.Copy(all, claims)
	header, err := json.Marshal(Claims{"alg": "RS256", "kid": "1", "typ": "JWT"})
	if err != nil {
		i.t.Error(err)
	}
	body, err := json.Marshal(all)
	if err != nil {
		i.t.Error(err)
	}
	text := encode(header) + "." + encode(body)
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(rand.Reader, i.key, crypto.SHA256, sum[:])
	if err != nil {
		i.t.Error(err)
	}
	return text + "." + encode(signature)
}

func (i *Issuer) answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(v); err != nil {
		i.t.Error(err)
	}
}

func encode(data []byte) string { return base64.RawURLEncoding.EncodeToString(data) }
