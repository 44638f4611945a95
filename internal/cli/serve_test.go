package cli_test

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// TestOnceWithoutControlPlane: serve --once exits with 1 if the control plane could not be
// reached, also where an old copy of it was rendered.
func TestOnceWithoutControlPlane(t *testing.T) {
	server := gittest.Serve(t)
	server.Create("cp")
	server.Create("out")
	dir := t.TempDir()
	if code, _, stderr := run(t.Context(), "init", dir, "--sample", "--forge", "git", "--control-plane", server.URL("cp"), "--gitops", server.URL("out")); code != 0 {
		t.Fatal(stderr)
	}
	settings := filepath.Join(dir, "fairlead.yaml")
	for name, want := range map[string]int{"there": 0, "away": 1} {
		remove := func() {}
		if want != 0 {
			if code, stdout, stderr := run(t.Context(), "serve", "--once", "--config", settings); code != 0 { // so that there is a copy
				t.Fatal(stdout, stderr)
			}
			remove = server.Inject("cp", gittest.Fault{Status: http.StatusServiceUnavailable})
		}
		code, stdout, stderr := run(t.Context(), "serve", "--once", "--config", settings)
		if code != want || strings.Contains(stderr, "the control plane cannot be read") != (want != 0) || !strings.Contains(stdout, "dev ") {
			t.Errorf("%s: code %d\n%s\n%s", name, code, stdout, stderr)
		}
		remove()
	}
}

// TestOnceWithoutEnvironments: serve --once exits with 1 once the control plane has lost all environments.
func TestOnceWithoutEnvironments(t *testing.T) {
	server := gittest.Serve(t)
	server.Create("cp")
	server.Create("out")
	dir := t.TempDir()
	if code, _, stderr := run(t.Context(), "init", dir, "--sample", "--forge", "git", "--control-plane", server.URL("cp"), "--gitops", server.URL("out")); code != 0 {
		t.Fatal(stderr)
	}
	people := server.Work(t, "cp")
	people.Remove(".environments")
	people.Commit("empty")
	people.Push()
	code, stdout, stderr := run(t.Context(), "serve", "--once", "--config", filepath.Join(dir, "fairlead.yaml"))
	if code != 1 || !strings.Contains(stderr, "dev") {
		t.Errorf("code %d\n%s\n%s", code, stdout, stderr)
	}
}
