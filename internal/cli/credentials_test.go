package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// newPrivateFleet makes a control plane and a GitOps repository on a server that lets nobody in
// without the password "secret", speaking plain HTTP.
func newPrivateFleet(t *testing.T) (server *gittest.Server, controlPlane, gitOps, settings string) {
	t.Helper()
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("GIT_CONFIG_GLOBAL", "/dev/null")
	for _, who := range []string{"AUTHOR", "COMMITTER"} {
		t.Setenv("GIT_"+who+"_NAME", "ann")
		t.Setenv("GIT_"+who+"_EMAIL", "ann@git.example")
	}
	server = gittest.Serve(t)
	for _, name := range []string{"team/cp", "team/out"} {
		server.Create(name)
		server.RequirePassword(name, "secret")
	}
	controlPlane, gitOps = server.URL("team/cp"), server.URL("team/out")
	dir := t.TempDir()
	t.Setenv("FAIRLEAD_GIT_TOKEN", "secret")
	if code, _, stderr := run(t.Context(), "init", dir, "--sample", "--environments", "dev,stage", "--forge", "git", "--control-plane", controlPlane, "--gitops", gitOps); code != 0 {
		t.Fatal(stderr)
	}
	return server, controlPlane, gitOps, filepath.Join(dir, "fairlead.yaml")
}

// TestTokenAlone: without settings, FAIRLEAD_GIT_TOKEN opens a private control plane on plain HTTP
// to every command, and what is in the same place; a command that lacks it says so.
func TestTokenAlone(t *testing.T) {
	server, controlPlane, gitOps, _ := newPrivateFleet(t)
	work := server.Work(t, "team/cp")
	work.Write("NOTES", "x\n")
	work.Commit("a note")
	work.Push("main")
	t.Chdir(t.TempDir())
	at := []string{"--control-plane", controlPlane}
	because := append([]string{"--reason", "the test"}, at...)
	for _, command := range [][]string{
		append([]string{"check"}, at...),
		append([]string{"get", "environments"}, at...),
		append([]string{"render", "-e", "dev", "--out", filepath.Join(t.TempDir(), "out")}, at...),
		append([]string{"explain", "-e", "dev", "cloud/hello-web"}, at...),
		append([]string{"diff", "main~1", "main"}, at...),
		append([]string{"history", "dev"}, at...),
		append([]string{"hold", "stage"}, because...),
		append([]string{"release", "stage"}, at...),
		append([]string{"freeze", "q4"}, because...),
		append([]string{"freeze", "q4", "--remove"}, at...),
		append([]string{"approve", "stage", "main"}, because...),
		append([]string{"promote", "stage", "main", "--force"}, because...),
		append([]string{"rollback", "stage"}, because...),
		append([]string{"ephemeral", "create", "pr-7", "--from", "dev"}, at...),
		append([]string{"ephemeral", "list"}, at...),
		append([]string{"ephemeral", "extend", "pr-7"}, at...),
		append([]string{"ephemeral", "remove", "pr-7"}, at...),
		{"pr", "list", "--repo", gitOps},
		{"promote", "--path", "cluster-types", "copy", "--repo", controlPlane, "--branch", "dev", "--dry-run"},
	} {
		name := strings.Join(command[:2], " ")
		t.Setenv("FAIRLEAD_GIT_TOKEN", "")
		t.Setenv("XDG_CACHE_HOME", t.TempDir())
		if code, _, stderr := run(t.Context(), command...); code != 1 || !strings.Contains(stderr, "hint: set FAIRLEAD_GIT_TOKEN to a token that may read it") {
			t.Errorf("%s without a token ends with %d:\n%s", name, code, stderr)
		}
		t.Setenv("FAIRLEAD_GIT_TOKEN", "stale")
		if code, _, stderr := run(t.Context(), command...); code != 1 || !strings.Contains(stderr, "hint: FAIRLEAD_GIT_TOKEN may not do this, or is for another server") {
			t.Errorf("%s with another token ends with %d:\n%s", name, code, stderr)
		}
		t.Setenv("FAIRLEAD_GIT_TOKEN", "secret")
		if code, stdout, stderr := run(t.Context(), command...); code != 0 || strings.Contains(stderr, "without encryption") {
			t.Errorf("%s ends with %d:\n%s%s", name, code, stdout, stderr)
		}
	}
}

// TestTokenForForge: what FAIRLEAD_GIT_TOKEN alone cannot do, says what it needs besides.
func TestTokenForForge(t *testing.T) {
	_, controlPlane, _, _ := newPrivateFleet(t)
	t.Chdir(t.TempDir())
	code, _, stderr := run(t.Context(), "hold", "stage", "--reason", "the test", "--pull-request", "--control-plane", controlPlane)
	host := strings.TrimPrefix(strings.SplitN(controlPlane, "/team", 2)[0], "http://")
	if code != 1 || !strings.Contains(stderr, "hint: write fairlead.yaml with controlPlane: {repo: …} and forges: [{host: "+host+", kind: …}]") {
		t.Errorf("it ends with %d:\n%s", code, stderr)
	}
}

// TestMissingScheme: a URL without its scheme is not taken for a folder, nor for SSH; a folder of that
// name is one.
func TestMissingScheme(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("HOME", dir)
	t.Setenv("GIT_AUTHOR_NAME", "ann")
	t.Setenv("GIT_AUTHOR_EMAIL", "ann@git.example")
	for _, command := range [][]string{
		{"check", "--control-plane"}, {"get", "environments", "--control-plane"}, {"diff", "main", "dev", "--control-plane"},
		{"hold", "dev", "--reason", "x", "--control-plane"}, {"history", "dev", "--control-plane"}, {"promote", "dev", "--control-plane"},
		{"pr", "list", "--repo"}, {"promote", "--path", "a", "b", "--repo"}, {"init", "fleet", "--control-plane"}, {"init", "fleet", "--gitops"},
		{"verify", "--control-plane"},
	} {
		for location, want := range map[string]string{
			"git.example.com/team/fleet": "https://git.example.com/team/fleet",
			"localhost:3000/team/fleet":  "://localhost:3000/team/fleet",
		} {
			code, _, stderr := run(t.Context(), append(command, location)...)
			if code != 2 || !strings.Contains(stderr, location+" has no scheme") || !strings.Contains(stderr, want) {
				t.Errorf("%s %s ends with %d:\n%s", strings.Join(command, " "), location, code, stderr)
			}
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("something was made: %v (%v)", left, err)
	}
	if err := os.MkdirAll("git.example.com/team/fleet", 0o755); err != nil {
		t.Fatal(err)
	}
	if _, _, stderr := run(t.Context(), "check", "--control-plane", "git.example.com/team/fleet"); strings.Contains(stderr, "scheme") {
		t.Errorf("of a folder it says\n%s", stderr)
	}
}

// TestOneRepository: init refuses one repository for both, however it is spelt.
func TestOneRepository(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for _, gitOps := range []string{"https://git.example.com/team/fleet", "https://git.example.com/team/fleet.git/", "git@git.example.com:team/fleet.git"} {
		code, _, stderr := run(t.Context(), "init", "fleet", "--forge", "gitea", "--control-plane", "https://git.example.com/team/fleet", "--gitops", gitOps)
		if code != 2 || !strings.Contains(stderr, "the control plane and the GitOps repository are the same") {
			t.Errorf("%s ends with %d:\n%s", gitOps, code, stderr)
		}
	}
}
