package git_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/git/wire"
)

// TestGuard: a remote that the operator did not name reaches nothing on this machine, over
// HTTP and SSH.
func TestGuard(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer server.Close()
	address := strings.TrimPrefix(server.URL, "http://")
	for _, url := range []string{server.URL + "/x", "ssh://git@" + address + "/x", "git@localhost:x", "ssh://git@169.254.169.254/x"} {
		remote, err := git.NewRemote(git.RemoteOptions{URL: url, Dir: filepath.Join(t.TempDir(), "mirror"), Guard: true})
		if err != nil {
			t.Fatal(err)
		}
		_, err = remote.Sync(context.Background())
		if !errors.Is(err, wire.ErrForbidden) || !errors.Is(err, git.ErrUnreachable) && !strings.Contains(err.Error(), git.ErrUnreachable.Error()) || !strings.Contains(err.Error(), "network.allow") {
			t.Errorf("%s: %v", url, err)
		}
	}
	if asked != 0 {
		t.Errorf("the server was asked %d times", asked)
	}
}

// TestRedirectDropsCredentials: what is for one server is not shown to another, also if
// only the port is another one.
func TestRedirectDropsCredentials(t *testing.T) {
	shown := []string{}
	thief := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		shown = append(shown, r.Method+" "+r.Header.Get("Authorization"))
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer thief.Close()
	for _, code := range []int{http.StatusMovedPermanently, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		ours := ""
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ours = r.Header.Get("Authorization")
			http.Redirect(w, r, thief.URL+r.URL.RequestURI(), code)
		}))
		remote, err := git.NewRemote(git.RemoteOptions{
			URL: server.URL + "/x", Dir: filepath.Join(t.TempDir(), "mirror"), Brief: true,
			Credentials: func(context.Context) (git.Credentials, error) {
				return git.Credentials{Username: "robot", Secret: "hunter2"}, nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := remote.Sync(t.Context()); err == nil {
			t.Error("it was synced")
		}
		if _, err := remote.Branches(t.Context()); err == nil {
			t.Error("it was asked")
		}
		if ours == "" {
			t.Errorf("%d: the server itself was not shown the credential", code)
		}
		server.Close()
	}
	if len(shown) == 0 {
		t.Error("no request came to the other server")
	}
	for _, s := range shown {
		if strings.TrimSpace(s) != "GET" && strings.TrimSpace(s) != "POST" {
			t.Errorf("the other server was shown %q", s)
		}
	}
}
