package cli

import (
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/server/display"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// TestVerifyShowsNoToken: a host that only the record of a commit names is not shown the
// token; one that --control-plane names is.
func TestVerifyShowsNoToken(t *testing.T) {
	shown := 0
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, secret, ok := r.BasicAuth(); ok && secret == "hunter2" {
			shown++
		}
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SSL_CERT_FILE", file)
	t.Setenv("FAIRLEAD_GIT_TOKEN", "hunter2")
	t.Setenv("XDG_CACHE_HOME", t.TempDir())

	s := gittest.Serve(t)
	s.Create("out")
	w := s.Work(t, "out")
	w.Switch("main")
	id := strings.Repeat("1", 40)
	w.Write(publish.RecordFile, "apiVersion: fairlead.io/v1alpha1\nkind: Output\nenvironments:\n  - environment: dev\n    tree: "+id+
		"\n    from:\n      - {layer: base, repo: "+server.URL+"/cp, commit: "+id+"}\n      - {layer: dev, repo: "+server.URL+"/cp, commit: "+id+"}\n")
	w.Commit("a record that names a server")
	for _, test := range []struct {
		origin, controlPlane string
		shown                bool
	}{
		{"", "", false}, {"https://git.example.com/acme/out", "", false}, {"https://git.example.com/acme/out", server.URL + "/cp", true}, {server.URL + "/out", server.URL + "/cp", true},
	} {
		shown = 0
		gittest.Git(t, w.Dir, "remote", "remove", "origin")
		if test.origin != "" {
			gittest.Git(t, w.Dir, "remote", "add", "origin", test.origin)
		} else {
			gittest.Git(t, w.Dir, "remote", "add", "other", server.URL+"/out")
		}
		v := &verifyCommand{app: &app{stdout: display.NewStream(io.Discard), stderr: display.NewStream(io.Discard)}, repo: w.Dir, controlPlane: test.controlPlane}
		if err := v.runVerify(t.Context(), ""); err == nil {
			t.Error("it was verified")
		}
		if (shown > 0) != test.shown {
			t.Errorf("origin %q, --control-plane %q: the token was shown %d times", test.origin, test.controlPlane, shown)
		}
		if test.origin == "" {
			gittest.Git(t, w.Dir, "remote", "add", "origin", "https://git.example.com/x")
		}
	}
}
