package source

import (
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
		{"", true, false}, {"none", false, false}, {other[len("https://"):], false, true},
	} {
		toOrigin.Store(0)
		toOther.Store(0)
		repo, err := git.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		var r repositories
		r.resetOptions(Options{
			ControlPlane: dir, CacheDir: t.TempDir(), CredentialsHost: test.host, Credentials: git.Credentials{Username: "robot", Secret: "hunter2"},
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
