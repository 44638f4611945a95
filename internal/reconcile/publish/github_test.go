package publish_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/forge/github"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/testkit/githubfake"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// app gives the forge that a GitHub App sees.
func app(t *testing.T, s *githubfake.Server) *github.Forge {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	s.Install("12", 77, &key.PublicKey)
	now := func() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }
	text := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	a, err := github.NewApp(github.AppOptions{ID: "12", Installation: 77, Key: text, API: s.API(), Now: now})
	if err != nil {
		t.Fatal(err)
	}
	g, err := github.New(forge.Options{Repo: "acme/out", API: s.API(), Token: a.Token, App: true, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestGitHubSignsCommits proposes with commits that GitHub makes, again and again, and
// has the last one merged.
func TestGitHubSignsCommits(t *testing.T) {
	t.Parallel()
	s := githubfake.Serve(t)
	url := s.Create("acme/out")
	w := s.Git.Work(t, "acme/out")
	w.Write("README.md", "of people\n")
	w.Write(publish.RecordFile, recordOf("dev"))
	w.Commit("begin")
	w.Push("HEAD:main")
	g := app(t, s)
	remote, err := git.NewRemote(git.RemoteOptions{URL: url, Dir: filepath.Join(t.TempDir(), "mirror")})
	if err != nil {
		t.Fatal(err)
	}
	o := publish.Options{
		Remote: remote, Forge: g, Committer: g, Prefix: "fairlead/", Author: git.Signature{Name: "Fairlead", Email: "fairlead@localhost"}, Write: true,
	}
	world := &world{T: t}
	want := func(state publish.State, p publish.Proposal) publish.Result {
		t.Helper()
		if _, err := remote.Sync(context.Background()); err != nil {
			t.Fatal(err)
		}
		r, err := publish.Publish(context.Background(), o, p)
		if err != nil || r.State != state {
			t.Fatalf("it is %s (%s), %v; want %s", r.State, r.Reason, err, state)
		}
		return r
	}
	for _, text := range []string{"a", "b"} {
		r := want(publish.Proposed, world.simple(text))
		raw := gittest.Git(t, s.Git.Dir("acme/out"), "cat-file", "commit", "fairlead/dev")
		if !strings.Contains(raw, "\ngpgsig ") {
			t.Errorf("it is not signed:\n%s", raw)
		}
		writes := s.Writes()
		again := want(publish.Proposed, world.simple(text))
		equal(t, "commit", again.Commit, r.Commit)
		equal(t, "writes the second time", s.Writes()-writes, 0)
		equal(t, "pull request", again.Pull.Number, 1)
	}
	last := world.simple("b")
	last.Merge = publish.Direct
	want(publish.InSync, last)
	want(publish.InSync, last)
	pulls, err := g.Pulls(t.Context(), "fairlead/dev", "main")
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "pull requests", len(pulls), 1)
	equal(t, "state", pulls[0].State, forge.Merged)
}
