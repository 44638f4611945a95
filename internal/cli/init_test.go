package cli_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/cli"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// TestInitOnServer: what init writes is enough for the commands that come next, on a server that
// asks for a password.
func TestInitOnServer(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	server := gittest.Serve(t)
	for _, name := range []string{"team/cp", "team/out"} {
		server.Create(name)
		server.RequirePassword(name, "secret")
	}
	dir := t.TempDir()
	t.Setenv("FAIRLEAD_GIT_TOKEN", "secret")
	t.Setenv("FAIRLEAD_GIT_USERNAME", "harbor")
	if code, _, stderr := run(t.Context(), "init", dir, "--sample", "--forge", "git", "--control-plane", server.URL("team/cp"), "--gitops", server.URL("team/out")); code != 0 {
		t.Fatal(stderr)
	}
	settings := filepath.Join(dir, "fairlead.yaml")
	replaceIn(t, settings, "127.0.0.1:8080", "127.0.0.1:0") // another program may have the port
	for _, command := range [][]string{{"doctor"}, {"serve", "--check"}, {"serve", "--once"}} {
		if code, stdout, stderr := run(t.Context(), append(command, "--config", settings)...); code != 0 {
			t.Errorf("%s ends with %d:\n%s%s", command, code, stdout, stderr)
		}
	}
}

// TestInitSettings: the settings name the forges of the servers and the token for them, which is for
// nothing else on the server.
func TestInitSettings(t *testing.T) {
	for _, c := range []struct {
		name                  string
		forge, token, user    string
		controlPlane, gitOps  string
		wantForge, wantRemote string // parts of the settings
		without               string // which they do not have
	}{
		{"token", "git", "x", "", "team/cp", "team/out", "    kind: git\n", "/team\n    token: {env: FAIRLEAD_GIT_TOKEN}\n\n", "username"},
		{"user name", "git", "x", "harbor", "team/cp", "team/out", "    kind: git\n", "/team\n    token: {env: FAIRLEAD_GIT_TOKEN}\n    username: harbor\n", ""},
		{"folders in common", "gitea", "x", "", "a/b/cp", "a/b/out", "    kind: gitea\n", "/a/b\n", ""},
		{"nothing in common", "gitlab", "x", "", "a/cp", "b/out", "    kind: gitlab\n", "/a/cp.git\n    token: {env: FAIRLEAD_GIT_TOKEN}\n  - url: http://", ""},
		{"GitHub Enterprise Server", "github", "x", "", "a/cp", "a/out", "    kind: github\n    api: http://127.0.0.1:", "/a\n", ""},
		{"no token", "git", "", "", "a/cp", "a/out", "    kind: git\n", "", "remotes:"},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := gittest.Serve(t)
			server.Create(c.controlPlane)
			server.Create(c.gitOps)
			t.Setenv("FAIRLEAD_GIT_TOKEN", c.token)
			t.Setenv("FAIRLEAD_GIT_USERNAME", c.user)
			dir := t.TempDir()
			if code, _, stderr := run(t.Context(), "init", dir, "--forge", c.forge, "--control-plane", server.URL(c.controlPlane), "--gitops", server.URL(c.gitOps)); code != 0 {
				t.Fatal(stderr)
			}
			text, err := os.ReadFile(filepath.Join(dir, "fairlead.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{c.wantForge, c.wantRemote} {
				if !strings.Contains(string(text), want) {
					t.Errorf("the settings have no %q:\n%s", want, text)
				}
			}
			if c.without != "" && strings.Contains(string(text), c.without) {
				t.Errorf("the settings have %q:\n%s", c.without, text)
			}
			if code, stdout, stderr := run(t.Context(), "serve", "--check", "--config", filepath.Join(dir, "fairlead.yaml")); code != 0 {
				t.Errorf("the settings are refused:\n%s%s", stdout, stderr)
			}
		})
	}
}

// TestWithoutGit: where there is no git command, one sentence says so, and nothing is left behind.
func TestWithoutGit(t *testing.T) {
	t.Setenv("PATH", "")
	t.Setenv("TMPDIR", t.TempDir())
	folder := filepath.Join(t.TempDir(), "fleet")
	for _, args := range [][]string{{"demo", "--once"}, {"init", folder}} {
		var out, errs bytes.Buffer
		code := cli.Main(t.Context(), args, &out, &errs)
		if code != 1 || !strings.Contains(errs.String(), " needs the git command, which is not installed\nfairlead: hint: install Git") || strings.Count(errs.String(), "\n") != 2 {
			t.Errorf("%s: code %d, stdout %q, stderr %q", args[0], code, out.String(), errs.String())
		}
	}
	for _, path := range []string{folder, filepath.Join(os.TempDir(), "fairlead-demo-*")} {
		if left, _ := filepath.Glob(path); left != nil {
			t.Errorf("it leaves %s", left)
		}
	}
}
