package github_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/forge/github"
	"github.com/fairlead-io/fairlead/internal/testkit/githubfake"
)

const appPath = "/app/installations/77/access_tokens"

func appKey(t *testing.T) (*rsa.PrivateKey, []byte) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	check(t, err)
	return key, pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
}

// sharedKey is for tests that need any key.
var sharedKey = sync.OnceValues(func() (*rsa.PrivateKey, []byte) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, nil
	}
	return key, pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
})

func tokens(t *testing.T, s *githubfake.Server, key []byte, now func() time.Time) *github.App {
	t.Helper()
	a, err := github.NewApp(github.AppOptions{ID: "12", Installation: 77, Key: key, API: s.API(), Now: now})
	check(t, err)
	return a
}

func TestAppToken(t *testing.T) {
	s, _ := gitHubServer(t)
	key, text := appKey(t)
	s.Install("12", 77, &key.PublicKey)
	now := start
	a := tokens(t, s, text, func() time.Time { return now })
	g := gitHub(t, s, forge.Options{Token: a.Token})
	asked := func() (n int) {
		for _, r := range s.Requests() {
			if r.Path == appPath {
				n++
			}
		}
		return n
	}
	for _, step := range []struct {
		after time.Duration
		want  int // tokens that were asked for
	}{{0, 1}, {time.Minute, 1}, {53 * time.Minute, 1}, {54 * time.Minute, 2}, {107 * time.Minute, 2}, {3 * time.Hour, 3}} {
		now = start.Add(step.after) // a token is of a minute before, GitHub's clock being behind
		_, err := g.Pulls(t.Context(), "out/dev", "main")
		check(t, err)
		equal(t, "tokens after "+step.after.String(), asked(), step.want)
	}
}

func TestAppTokenIsAskedForOnce(t *testing.T) {
	s, _ := gitHubServer(t)
	key, text := appKey(t)
	s.Install("12", 77, &key.PublicKey)
	a := tokens(t, s, text, func() time.Time { return start })
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if _, err := a.Token(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	equal(t, "requests", len(s.Requests()), 1)
}

func TestAppIsRefused(t *testing.T) {
	s, _ := gitHubServer(t)
	key, _ := appKey(t)
	_, other := appKey(t)
	a := tokens(t, s, other, func() time.Time { return start })
	_, err := a.Token(t.Context())
	equal(t, "kind without an installation", kindOf(err), "not found")
	s.Install("12", 77, &key.PublicKey)
	_, err = a.Token(t.Context())
	wantError(t, err, "get a token for installation 77 of GitHub App 12: the token was not accepted: 401")
}

func TestAppKeyIsNone(t *testing.T) {
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(t, err)
	der, err := x509.MarshalPKCS8PrivateKey(curve)
	check(t, err)
	encode := func(der []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}) }
	for want, key := range map[string][]byte{
		"the key of GitHub App 12: read it: it is not a key in PEM": []byte("hunter2"),
		"it is not a private RSA key":                               encode(der),
		"not a private RSA key":                                     encode([]byte("hunter2")),
		"PEM":                                                       nil,
	} {
		_, err := github.NewApp(github.AppOptions{ID: "12", Installation: 77, Key: key, Now: func() time.Time { return start }})
		wantError(t, err, want)
		if hint(err) == "" || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("got the error %v, hint %q", err, hint(err))
		}
	}
	key, _ := appKey(t)
	der, err = x509.MarshalPKCS8PrivateKey(key)
	check(t, err)
	_, err = github.NewApp(github.AppOptions{ID: "12", Installation: 77, Key: encode(der), Now: func() time.Time { return start }})
	check(t, err)
	_, err = github.NewApp(github.AppOptions{})
	wantError(t, err, "needs its id")
}

func TestAppHidesCredentials(t *testing.T) {
	s, _ := gitHubServer(t)
	key, text := appKey(t)
	s.Install("12", 77, &key.PublicKey)
	a := tokens(t, s, text, func() time.Time { return start })
	token, err := a.Token(t.Context())
	check(t, err)
	o := github.AppOptions{ID: "12", Key: text}
	shown := fmt.Sprintf("%v %+v %#v %s %v %+v %#v %s", a, a, a, a, o, o, o, o)
	if strings.Contains(shown, token) || strings.Contains(shown, key.D.String()) || strings.Contains(shown, fmt.Sprint(text[:20])[1:40]) {
		t.Errorf("a secret is in %s", shown)
	}
}
