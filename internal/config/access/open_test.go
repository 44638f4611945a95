package access_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/config/access"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
)

// plainForge is the forge of a repository without an API.
func plainForge() forge.Forge { return &forge.Plain{} }

// committing is a forge that makes commits.
type committing struct{ forge.Plain }

func (*committing) CreateCommit(context.Context, forge.Commit) (string, error) { return "", nil }

// parse reads settings with an output and the remotes of a test.
func parse(t *testing.T, text string) *config.Settings {
	t.Helper()
	s, problems := config.Parse("fairlead.yaml", []byte("controlPlane: {repo: https://git.example.com/acme/cp}\ndataDir: /nowhere\n"+text), t.TempDir(),
		func(name string) string { return map[string]string{"TOKEN": "a-token"}[name] })
	if problems.Stops() {
		t.Fatal(problems)
	}
	return s
}

const tokens = `
remotes:
- {url: https://github.com/acme, token: {env: TOKEN}}
- {url: https://gitlab.com/acme, token: {env: TOKEN}}
- {url: https://tea.example.com/acme, token: {env: TOKEN}}
forges:
- {host: tea.example.com, kind: gitea}
`

func TestOpenForge(t *testing.T) {
	keys := access.New(parse(t, tokens), time.Now)
	for location, want := range map[string]string{
		"https://github.com/acme/out":           "github",
		"https://gitlab.com/acme/team/out":      "gitlab",
		"https://tea.example.com/acme/out":      "gitea",
		"/srv/git/out":                          "git",
		"https://github.com/other/out":          "its API needs a token",
		"https://me:hunter2@github.com/oth/out": "its API needs a token",
		"https://new.example.com/acme/out":      "do not say what kind of forge new.example.com is",
		"https://github.com/acme/a/b":           `"acme/a/b" is not the name of a repository on GitHub`,
	} {
		f, err := keys.OpenForge(location, access.Observer{}, plainForge)
		got := fmt.Sprint(err)
		if err == nil {
			got = f.Name()
		}
		if !strings.Contains(got, want) || strings.Contains(got, "hunter2") {
			t.Errorf("%s: got %s, want %s", location, got, want)
		}
	}
}

// What a forge answers is seen by the observer: every request with the kind of its
// forge, and the requests that are left before the limit.
func TestObserver(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Header.Get("Authorization") != "Bearer a-token" {
			t.Errorf("%s: the token is not shown to its API", req.URL)
		}
		w.Header().Set("X-RateLimit-Remaining", "41")
		http.Error(w, "{}", http.StatusTeapot)
	}))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	keys := access.New(parse(t, fmt.Sprintf("remotes: [{url: %q, token: {env: TOKEN}}]\nforges: [{host: %q, kind: gitea}]\n", server.URL+"/acme", host)), time.Now)
	var seen []string
	f, err := keys.OpenForge(server.URL+"/acme/out", access.Observer{
		OnCall: func(kind, op string, _ time.Duration, err error) {
			seen = append(seen, fmt.Sprint(kind, ": ", op, ", failed: ", err != nil))
		},
		OnRemaining: func(api string, left int) { seen = append(seen, fmt.Sprint(api == server.URL, " ", left)) },
	}, plainForge)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.OpenPulls(t.Context()); err == nil {
		t.Error("a server that refuses everything has pull requests")
	}
	if want := []string{"true 41", "gitea: list pull requests, failed: true"}; !slices.Equal(seen, want) {
		t.Errorf("the observer saw %q, want %q", seen, want)
	}
}

func TestCommitter(t *testing.T) {
	const app = "remotes: [{url: https://github.com/acme, githubApp: {id: 1, installation: 2, key: {env: TOKEN}}}]\n"
	const token = "remotes: [{url: https://github.com/acme, token: {env: TOKEN}}, {url: https://github.com/other, githubApp: {id: 1, installation: 2, key: {env: TOKEN}}}]\n"
	for _, test := range []struct {
		name, settings string
		forge          forge.Forge
		want           bool
	}{
		{"an App on a forge that commits", "output: {verifiedCommits: true}\n" + app, &committing{}, true},
		{"a forge that does not commit", "output: {verifiedCommits: true}\n" + app, plainForge(), false},
		{"a token", "output: {verifiedCommits: true}\n" + token, &committing{}, false},
		{"not wanted", "output: {verifiedCommits: false}\n" + app, &committing{}, false},
	} {
		keys := access.New(parse(t, test.settings), time.Now)
		if got := keys.Committer("https://github.com/acme/out", test.forge); (got != nil) != test.want {
			t.Errorf("%s: got %v", test.name, got)
		}
	}
}

func TestGuardLocation(t *testing.T) {
	s := parse(t, "map: {\"https://elsewhere.example.com/a\": /srv/a}\nnetwork: {allow: [/srv/allowed]}\n")
	for _, test := range []struct {
		location         string
		guarded, refused bool
	}{
		{"https://git.example.com/acme/cp", false, false},
		{"https://stranger.example.com/a", true, false},
		{"/srv/a", false, false},
		{"/srv/allowed", false, false},
		{"/srv/other", true, true},
	} {
		guarded, err := access.GuardLocation(s, test.location)
		if guarded != test.guarded || (err != nil) != test.refused || err != nil && !errors.Is(err, git.ErrNotFound) {
			t.Errorf("%s: guarded is %v, with the error %v", test.location, guarded, err)
		}
	}
}
