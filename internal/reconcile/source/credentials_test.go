package source

import (
	"context"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// tlsServer answers nobody, and counts who shows it a credential.
func tlsServer(t *testing.T) (url string, shown *atomic.Int32) {
	t.Helper()
	shown = &atomic.Int32{}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, secret, ok := r.BasicAuth(); ok && secret == "hunter2" {
			shown.Add(1)
		}
		w.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SSL_CERT_FILE", file) // all servers of httptest have the same certificate
	return server.URL, shown
}

// hunter are the credentials of these tests.
func hunter(string) func(context.Context) (git.Credentials, error) {
	return func(context.Context) (git.Credentials, error) {
		return git.Credentials{Username: "robot", Secret: "hunter2"}, nil
	}
}

// TestCredentialsOfClone: of a clone with several remotes, only the host of origin is shown
// the token; and if who runs this has said which host it is for, only that one.
func TestCredentialsOfClone(t *testing.T) {
	origin, toOrigin := tlsServer(t)
	other, toOther := tlsServer(t)
	dir := t.TempDir()
	gittest.Git(t, dir, "init", "-q")
	for name, url := range map[string]string{"aaa": other, "origin": origin, "zzz": other} {
		gittest.Git(t, dir, "remote", "add", name, url+"/cp")
	}
	for _, test := range []struct {
		host            string
		origin, another bool
	}{
		{"", true, false}, {"none", false, false}, {other + "/cp", false, true},
	} {
		toOrigin.Store(0)
		toOther.Store(0)
		repo, err := git.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		var r repositories
		r.resetOptions(Options{
			ControlPlane: dir, CacheDir: t.TempDir(), CredentialsFor: test.host, Credentials: hunter,
			Map: map[string]string{"https://a.example/x": origin + "/x", "https://b.example/x": other + "/x"}, // so that both are reached
		})
		r.setOwnURLs(dir, repo)
		for _, url := range []string{origin, other} {
			if _, err := r.openOrFetch(t.Context(), url+"/workload"); err == nil {
				t.Error("it was opened")
			}
		}
		if got := toOrigin.Load() > 0; got != test.origin {
			t.Errorf("for %q: origin was shown the token: %v", test.host, got)
		}
		if got := toOther.Load() > 0; got != test.another {
			t.Errorf("for %q: another remote was shown the token: %v", test.host, got)
		}
	}
}

// TestCredentialsByScheme: the token is for one server, whatever it is asked by: what is for https
// is not sent over http, and the other way round, and a port is another server.
func TestCredentialsByScheme(t *testing.T) {
	for _, test := range []struct {
		controlPlane, place string
		shown               bool
	}{
		{"https://git.example.com/cp", "https://git.example.com/workload", true},
		{"http://git.example.com/cp", "http://git.example.com/workload", true},
		{"http://git.example.com:80/cp", "http://Git.Example.com/workload", true},
		{"https://git.example.com/cp", "https://git.example.com:443/workload", true},
		{"http://127.0.0.1:3000/cp", "http://127.0.0.1:3000/workload", true},
		{"https://git.example.com/cp", "http://git.example.com/workload", false},
		{"http://git.example.com/cp", "https://git.example.com/workload", false},
		{"http://127.0.0.1:3000/cp", "http://127.0.0.1:3001/workload", false},
		{"http://git.example.com/cp", "http://git.example.com.evil.example/workload", false},
		{"http://git.example.com/cp", "http://git.example.com@evil.example/workload", false},
		{"ssh://git@git.example.com/cp", "https://git.example.com/workload", false},
		{"/srv/cp", "https://git.example.com/workload", false},
	} {
		var r repositories
		r.resetOptions(Options{ControlPlane: test.controlPlane, Credentials: hunter})
		o, err := r.remoteOptions(test.place)
		if err != nil {
			t.Fatal(err)
		}
		who, err := o.Credentials(t.Context())
		if err != nil || (who.Secret != "") != test.shown {
			t.Errorf("with the control plane %s, %s is shown %q, %v", test.controlPlane, test.place, who.Secret, err)
		}
	}
}
