package access_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/config/access"
	"github.com/fairlead-io/fairlead/internal/git"
)

const text = `
controlPlane: {repo: https://git.example.com/acme/cp}
dataDir: /nowhere
remotes:
- {url: https://git.example.com/acme, token: {file: token}, username: robot}
- {url: https://git.example.com/acme/private, token: {env: OTHER}}
- {url: "ssh://git@git.example.com/", ssh: {key: {env: KEY}, passphrase: {env: PASSPHRASE}}}
- {url: https://github.com/acme, githubApp: {id: 1, installation: 2, key: {env: KEY}}}
forges:
- {host: "git.example.com:8443", kind: github, api: https://api.example.com}
- {host: lab.example.com, kind: gitlab}
- {host: TEA.example.com, kind: gitea}
- {host: plain.example.com, kind: git}
map: {"https://elsewhere.example.com/a.git": "https://mirror.example.com/a"}
`

// settings reads the settings above; the folder has the file token.
func settings(t *testing.T) (*config.Settings, string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "token"), []byte("first\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	environment := map[string]string{"OTHER": "other-token", "KEY": "some key", "PASSPHRASE": "open it"}
	s, problems := config.Parse("fairlead.yaml", []byte(text), dir, func(name string) string { return environment[name] })
	if problems.Stops() {
		t.Fatal(problems)
	}
	return s, dir
}

func TestForgeOf(t *testing.T) {
	s, _ := settings(t)
	for place, want := range map[string]access.ForgeLocation{
		"https://github.com/acme/out.git":           {Kind: "github", API: "https://api.github.com", Repo: "acme/out"},
		"git@github.com:acme/out.git":               {Kind: "github", API: "https://api.github.com", Repo: "acme/out"},
		"https://gitlab.com/acme/team/out":          {Kind: "gitlab", API: "https://gitlab.com/api/v4", Repo: "acme/team/out"},
		"git@gitlab.com:acme/out":                   {Kind: "gitlab", API: "https://gitlab.com/api/v4", Repo: "acme/out"},
		"https://git.example.com:8443/acme/out.git": {Kind: "github", API: "https://api.example.com", Repo: "acme/out"},
		"https://Lab.example.com/acme/out":          {Kind: "gitlab", API: "https://Lab.example.com/api/v4", Repo: "acme/out"},
		"http://tea.example.com/acme/out/":          {Kind: "gitea", API: "http://tea.example.com", Repo: "acme/out"},
		"https://plain.example.com/acme/out":        {Kind: "git", Repo: "acme/out"},
		"ssh://git@git.example.com/acme/out":        {Kind: "git", Repo: "acme/out"},
		"/srv/git/out.git":                          {Kind: "git", Repo: "srv/git/out"},
	} {
		got, err := access.LocateForge(s, place)
		if err != nil {
			t.Errorf("%s: %v", place, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", place, diff)
		}
	}
	_, err := access.LocateForge(s, "https://git.example.com/acme/out") // another port than the settings have
	var unknown *access.UnknownForge
	if !errors.As(err, &unknown) || !strings.Contains(unknown.Hint(), "host: git.example.com, kind: ") {
		t.Errorf("a host that nobody knows: %v", err)
	}
}

func TestPlace(t *testing.T) {
	s, _ := settings(t)
	for repo, want := range map[string]string{
		"https://elsewhere.example.com/a":      "https://mirror.example.com/a",
		"git@elsewhere.example.com:a.git":      "https://mirror.example.com/a",
		"https://elsewhere.example.com/b":      "https://elsewhere.example.com/b",
		"https://elsewhere.example.com/a/more": "https://elsewhere.example.com/a/more",
	} {
		if got := access.ReadLocation(s, repo); got != want {
			t.Errorf("%s is read at %s, want %s", repo, got, want)
		}
	}
	if access.HasLocalRepository(s) {
		t.Error("it has only repositories on servers, and is local")
	}
	s.Map["https://elsewhere.example.com/b"] = "/srv/b"
	if !access.HasLocalRepository(s) {
		t.Error("one of its repositories is on this machine, and it is not local")
	}
}

func TestGit(t *testing.T) {
	s, dir := settings(t)
	keys := access.New(s, time.Now)
	for place, want := range map[string]git.Credentials{
		"https://git.example.com/acme/out":     {Username: "robot", Secret: "first"},
		"https://git.example.com/acme/private": {Username: "x-access-token", Secret: "other-token"},
		"ssh://git@git.example.com/acme/out":   {Key: []byte("some key\n"), Passphrase: "open it"},
	} {
		got, err := keys.GitCredentials(place)(context.Background())
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", place, err, diff)
		}
	}
	for _, place := range []string{"https://git.example.com/acmeother/out", "http://git.example.com/acme/out", "/srv/git"} {
		if keys.GitCredentials(place) != nil {
			t.Errorf("%s is given a credential", place)
		}
	}
	// A token that was changed is used.
	who := keys.GitCredentials("https://git.example.com/acme/out")
	if err := os.WriteFile(filepath.Join(dir, "token"), []byte("second\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := who(context.Background()); got.Secret != "second" || err != nil {
		t.Errorf("after the token was changed: %q (%v)", got.Secret, err)
	}
}

func TestAPI(t *testing.T) {
	s, _ := settings(t)
	keys := access.New(s, time.Now)
	token, err := keys.APIToken("https://git.example.com/acme/private")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := token(context.Background()); got != "other-token" || err != nil {
		t.Errorf("the token is %q (%v)", got, err)
	}
	for _, place := range []string{"https://lab.example.com/a/b", "ssh://git@git.example.com/acme/out"} {
		if _, err := keys.APIToken(place); !errors.Is(err, access.ErrNoToken) {
			t.Errorf("%s: %v, want ErrNoToken", place, err)
		}
	}
	_, err = keys.APIToken("https://github.com/acme/out")
	if err == nil || !strings.Contains(err.Error(), "not a key in PEM") || strings.Contains(err.Error(), "some key") {
		t.Errorf("an App whose key is none: %v", err)
	}
}

func TestLimiter(t *testing.T) {
	s, _ := settings(t)
	keys := access.New(s, time.Now)
	if keys.Limiter("https://git.example.com/acme/a") != keys.Limiter("https://git.example.com/acme/b") {
		t.Error("two repositories with one credential do not share its limits")
	}
	if keys.Limiter("https://git.example.com/acme/a") == keys.Limiter("https://git.example.com/acme/private") {
		t.Error("two credentials share their limits")
	}
}
