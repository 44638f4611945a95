package repos_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/repos"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// TestMirrors: a location has one remote and one mirror, however its URL is spelled; each
// opening sees what was pushed meanwhile; and options are asked for once for each location.
func TestMirrors(t *testing.T) {
	server := gittest.Serve(t)
	server.Create("plane")
	server.RequirePassword("plane", "secret")
	asked := 0
	mirrors := &repos.Mirrors{Dir: t.TempDir(), Options: func(string) (git.RemoteOptions, error) {
		asked++
		return git.RemoteOptions{Credentials: func(context.Context) (git.Credentials, error) {
			return git.Credentials{Username: "fairlead", Secret: "secret"}, nil
		}}, nil
	}}
	work := server.Work(t, "plane")
	url := server.URL("plane")
	if mirrors.Known(url) != nil {
		t.Error("a location is known that was not asked for")
	}
	for i, spelled := range []string{url, strings.TrimSuffix(url, ".git"), url} {
		work.Write("file", strings.Repeat("x", i+1))
		pushed := work.Commit("change")
		work.Push("HEAD:main")
		repo, err := mirrors.Open(t.Context(), spelled)
		if err != nil {
			t.Fatal(err)
		}
		head, err := repo.Branch("main")
		if err != nil || head != pushed {
			t.Errorf("%s: main is at %s (%v), and %s was pushed", spelled, head, err, pushed)
		}
	}
	remote, err := mirrors.Remote(url)
	if err != nil || remote != mirrors.Known(url) {
		t.Errorf("the remote is another one, or %v", err)
	}
	heads, err := filepath.Glob(filepath.Join(mirrors.Dir, "*", "HEAD"))
	if err != nil || len(heads) != 1 || asked != 1 {
		t.Errorf("mirrors %v (%v), and options were asked for %d times", heads, err, asked)
	}
}

// TestMirrorsErrors: what keeps a repository from being opened is an error, and is tried again.
func TestMirrorsErrors(t *testing.T) {
	server := gittest.Serve(t)
	server.Create("plane")
	refused := errors.New("no such secret")
	for _, test := range []struct {
		name, location string
		options        error
		wanted         error
	}{
		{"options", server.URL("plane"), refused, refused},
		{"no repository", server.URL("other"), nil, git.ErrNotFound},
	} {
		t.Run(test.name, func(t *testing.T) {
			failing := test.options
			mirrors := &repos.Mirrors{Dir: t.TempDir(), Options: func(string) (git.RemoteOptions, error) { return git.RemoteOptions{}, failing }}
			repo, err := mirrors.Open(t.Context(), test.location)
			if !errors.Is(err, test.wanted) || repo != nil {
				t.Errorf("%v, %v", repo, err)
			}
			failing = nil
			if _, err := mirrors.Open(t.Context(), server.URL("plane")); err != nil {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}
