package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/server/display"
	"github.com/fairlead-io/fairlead/internal/testkit/githubfake"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// promotePath runs `fairlead promote --path` in an empty folder.
func promotePath(t *testing.T, args ...string) (printed string, err error) {
	t.Helper()
	t.Chdir(t.TempDir())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	var out, errs bytes.Buffer
	c := newPromote(&app{stdout: display.NewStream(&out), stderr: display.NewStream(&errs), format: "text"})
	c.SetArgs(append([]string{"--path", "--author", "Alice <alice@example.com>"}, args...))
	c.SilenceErrors, c.SilenceUsage = true, true
	err = c.ExecuteContext(t.Context())
	return out.String() + errs.String(), err
}

// TestPathCredentials: each of two repositories is shown its own secret, and no other.
func TestPathCredentials(t *testing.T) {
	server := gittest.Serve(t)
	for _, name := range []string{"acme/staging", "other/production"} {
		server.Create(name)
		w := server.Work(t, name)
		w.Switch("main")
		w.Write("README.md", "of "+name+"\n")
		w.Write("apps/shop.yaml", "of "+name+"\n")
		w.Commit("begin")
		w.Push("HEAD:main")
	}
	server.RequirePassword("acme/staging", "source-secret")
	server.RequirePassword("other/production", "target-secret")
	t.Setenv("SOURCE", "source-secret")
	t.Setenv("TARGET", "target-secret")
	from, to := server.URL("acme/staging"), server.URL("other/production")
	host := strings.TrimPrefix(strings.TrimSuffix(from, "/acme/staging.git"), "http://")
	file := filepath.Join(t.TempDir(), "fairlead.yaml")
	settings := fmt.Sprintf("controlPlane: {repo: %q}\ndataDir: data\noutput: {branchPrefix: robot/}\nforges: [{host: %q, kind: git}]\nremotes:\n- {url: %q, token: {env: SOURCE}}\n- {url: %q, token: {env: TARGET}}\n", from, host, from, to)
	if err := os.WriteFile(file, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"apps", "clusters/apps", "--to-repo", to, "--config", file},
		{"apps", "clusters/more", "--to-repo", to, "--repo", from, "--config", file},
	} {
		printed, err := promotePath(t, args...)
		if err != nil || !strings.Contains(printed, " proposes it\n") || strings.Contains(printed, "secret") {
			t.Fatalf("%q: %v: %s", args, err, printed)
		}
	}
	ours := 0
	for ref, commit := range gittest.Refs(t, server.Dir("other/production")) {
		if !strings.HasPrefix(ref, "refs/heads/robot/copy/") {
			continue
		}
		ours++
		files := gittest.Files(t, server.Dir("other/production"), commit)
		if files["clusters/apps/shop.yaml"]+files["clusters/more/shop.yaml"] != "of acme/staging\n" || files["apps/shop.yaml"] != "of other/production\n" {
			t.Errorf("%s holds %q", ref, files)
		}
	}
	if ours != 2 {
		t.Errorf("there are %d branches of ours", ours)
	}
	for name, secret := range map[string]string{"acme/staging": "source-secret", "other/production": "target-secret"} {
		for _, r := range server.Requests(name) {
			if r.Password != "" && r.Password != secret {
				t.Errorf("%s is shown %s", name, r.Password)
			}
		}
	}
}

// TestPathOnGitHub: in a job nothing has to be said, and the pull request is on the forge.
func TestPathOnGitHub(t *testing.T) {
	fake := githubfake.Serve(t)
	url := fake.Create("acme/fleet")
	w := fake.Git.Work(t, "acme/fleet")
	w.Switch("main")
	w.Write("clusters/staging/app.yaml", "image: 2 # @everybody\n")
	w.Write("clusters/production/app.yaml", "image: 1\n")
	w.Commit("begin [link](https://evil.example) @everybody")
	w.Push("HEAD:main")
	for name, value := range map[string]string{
		"GITHUB_REPOSITORY": "acme/fleet", "GITHUB_SERVER_URL": strings.TrimSuffix(url, "/acme/fleet.git"), "GITHUB_API_URL": fake.API(), "GITHUB_TOKEN": fake.Token,
	} {
		t.Setenv(name, value)
	}
	for range 2 {
		printed, err := promotePath(t, "clusters/staging", "clusters/production", "--branch", "main")
		if err != nil || !strings.Contains(printed, "pull request https://") {
			t.Fatalf("%v: %s", err, printed)
		}
	}
	body := ""
	opened := 0
	for _, r := range fake.Requests() {
		if r.Method == "POST" && strings.HasSuffix(r.Path, "/pulls") {
			opened++
			body = r.Body
		}
	}
	if opened != 1 || strings.Contains(body, "@everybody") || strings.Contains(body, "[link](") || !strings.Contains(body, "1 file changed") {
		t.Errorf("%d were opened, the last as %s", opened, body)
	}
}
