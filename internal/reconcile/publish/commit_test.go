package publish_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// committer is a forge that makes commits: each has a time of its own, and a message
// that ends otherwise.
type committer struct {
	world  *world
	remote *git.Remote
	made   int
	before func() // the commit; nil for nothing
}

func (w *world) committer() *committer {
	w.Helper()
	remote, err := git.NewRemote(git.RemoteOptions{URL: w.server.URL("out"), Dir: filepath.Join(w.TempDir(), "forge")})
	if err != nil {
		w.Fatal(err)
	}
	return &committer{world: w, remote: remote}
}

func (c *committer) CreateCommit(ctx context.Context, f forge.Commit) (string, error) {
	if c.before != nil {
		c.before()
		c.before = nil
	}
	if _, err := c.remote.Sync(ctx); err != nil {
		return "", err
	}
	c.made++
	pack, err := c.remote.Write(ctx, git.Commit{
		Tree: f.Tree, Parents: []string{f.Parent}, Author: git.Signature{Name: "forge", Email: "forge@localhost"}, When: time.Unix(int64(c.made), 0).UTC(),
		Message: strings.TrimSpace(f.Message),
	})
	if err != nil {
		return "", err
	}
	err = c.remote.Push(ctx, pack, git.RefUpdate{Ref: "refs/heads/" + f.Branch, Old: f.Old, New: pack.Commits[0]})
	if errors.Is(err, git.ErrStale) {
		err = forge.ErrMoved
	}
	return pack.Commits[0], err
}

// by gives a publisher whose commits the forge makes.
func (w *world) by(c *committer) *publisher {
	w.Helper()
	p := w.publisher()
	p.Committer = c
	return p
}

func TestForgeCommits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.committer()
	p := w.by(c)
	r := p.want(publish.Proposed, w.simple("a"))
	equal(t, "our branch", w.branch("fairlead/dev"), r.Commit)
	equal(t, "author", gittest.Git(t, w.server.Dir("out"), "log", "-1", "--format=%an", "fairlead/dev"), "forge")
	for range 2 {
		again := w.by(c).want(publish.Proposed, w.simple("a"))
		equal(t, "commit", again.Commit, r.Commit)
	}
	equal(t, "commits made", c.made, 1)
	moved, err := p.Remote.Sync(t.Context())
	equal(t, "moved", fmt.Sprint(moved, err), "false <nil>")

	r = p.want(publish.Proposed, w.simple("b"))
	equal(t, "our branch", w.branch("fairlead/dev"), r.Commit)
	w.commit("main", "other", "x")
	p.want(publish.Proposed, w.simple("b"))
	equal(t, "commits made", c.made, 3)
	equal(t, "commits", w.above(), "1")
	equal(t, "pull requests", w.states(), "open")

	w.merge()
	p.want(publish.InSync, w.simple("b"))
	equal(t, "commits made", c.made, 3)
}

// TestForgeCommitsNothing has writing switched off.
func TestForgeCommitsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.committer()
	p := w.by(c)
	p.Write = false
	r := p.want(publish.DryRun, w.simple("a"))
	equal(t, "commit", r.Commit, "")
	equal(t, "commits made", c.made, 0)
}

// TestForgeCommitsBesidePeople has a person push to our branch before a commit.
func TestForgeCommitsBesidePeople(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.committer()
	p := w.by(c)
	p.want(publish.Proposed, w.simple("a"))
	var theirs string
	c.before = func() { theirs = w.commit("fairlead/dev", "extra", "x") }
	p.want(publish.Edited, w.simple("b"))
	equal(t, "our branch", w.branch("fairlead/dev"), theirs)
}

// TestForgeCommitsOnce has another publisher do the same before a commit.
func TestForgeCommitsOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c, other := w.committer(), w.committer()
	c.before = func() { w.by(other).want(publish.Proposed, w.simple("a")) }
	r := w.by(c).want(publish.Proposed, w.simple("a"))
	equal(t, "our branch", w.branch("fairlead/dev"), r.Commit)
	equal(t, "commits", w.above(), "1")
	equal(t, "pull requests", w.states(), "open")
	w.by(c).want(publish.Proposed, w.simple("a"))
	equal(t, "our branch later", w.branch("fairlead/dev"), r.Commit)
}

// TestForgeCommitsAndIsKilled ends a publisher at each thing that it does.
func TestForgeCommitsAndIsKilled(t *testing.T) {
	t.Parallel()
	for kill, step := range []string{"", "commit to our branch", "open the pull request"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			c := w.committer()
			p := w.by(c)
			steps := 0
			p.BeforeEffect = func(now string) {
				if steps++; steps == kill {
					equal(t, "step", now, step)
					panic(died{now})
				}
			}
			func() {
				defer func() {
					if r := recover(); r != nil {
						if _, ok := r.(died); !ok {
							panic(r)
						}
					}
				}()
				p.want(publish.Proposed, w.simple("a"))
			}()
			r := w.by(c).want(publish.Proposed, w.simple("a"))
			equal(t, "our branch", w.branch("fairlead/dev"), r.Commit)
			equal(t, "commits made", c.made, 1)
			equal(t, "pull requests", w.states(), "open")
		})
	}
}

func TestForgeDoesNotCommit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.publisher()
	p.Committer = refusing{}
	if _, err := p.try(w.simple("a")); !errors.Is(err, forge.ErrUnsupported) {
		t.Errorf("got the error %v", err)
	}
	equal(t, "our branch", w.branch("fairlead/dev"), "")
}

type refusing struct{}

func (refusing) CreateCommit(context.Context, forge.Commit) (string, error) {
	return "", forge.ErrUnsupported
}
