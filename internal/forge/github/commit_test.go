package github_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/forge/github"
	"github.com/fairlead-io/fairlead/internal/testkit/githubfake"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// files makes a tree of files; a name that ends with ! is that of one that can be
// run, with @ of a link.
func files(t *testing.T, texts map[string]string) tree.Tree {
	t.Helper()
	made := tree.Tree{}
	for path, text := range texts {
		e := tree.File("", []byte(text))
		switch {
		case strings.HasSuffix(path, "!"):
			path, e.Mode = strings.TrimSuffix(path, "!"), tree.ModeExecutable
		case strings.HasSuffix(path, "@"):
			path, e.Mode = strings.TrimSuffix(path, "@"), tree.ModeSymlink
		}
		names := strings.Split(path, "/")
		e.Name = names[len(names)-1]
		made = with(made, names[:len(names)-1], e)
	}
	return made
}

// with returns a tree with an entry in a folder.
func with(t tree.Tree, folder []string, e tree.Entry) tree.Tree {
	var entries []tree.Entry
	var below tree.Tree
	for _, old := range t.Entries() {
		if len(folder) > 0 && old.Name == folder[0] {
			below = old.Tree()
			continue
		}
		entries = append(entries, old)
	}
	if len(folder) > 0 {
		e = tree.Dir(folder[0], with(below, folder[1:], e))
	}
	return tree.FromEntries(append(entries, e))
}

// committed is a GitHub whose branch main holds a tree, by an App.
func committed(t *testing.T, before map[string]string) (*githubfake.Server, *github.Forge, forge.Commit) {
	t.Helper()
	s := githubfake.Serve(t)
	s.Create(repo)
	w := s.Git.Work(t, repo)
	for path, text := range before {
		w.Write(path, text)
	}
	parent := w.Commit("begin")
	w.Push("HEAD:main")
	return s, asApp(t, s), forge.Commit{
		Branch: "fairlead/dev", Parent: parent, Message: "dev: one file\n\nFairlead-Environment: dev\n", Before: files(t, before),
	}
}

func TestGitHubCommits(t *testing.T) {
	before := map[string]string{"README.md": "of people\n", "a/one": "1", "a/two": "2", "b": "a file", "c/d/e": "deep"}
	for name, after := range map[string]map[string]string{
		"a change":                   {"README.md": "of people\n", "a/one": "other", "a/two": "2", "b": "a file", "c/d/e": "deep"},
		"files come and go":          {"README.md": "of people\n", "a/two": "2", "b": "a file", "new/x": "", "c/d/e": "deep"},
		"a folder for a file":        {"README.md": "of people\n", "a/two": "2", "b/in": "x", "b-": "y", "c/d/e": "deep"},
		"a file for a folder":        {"README.md": "of people\n", "a": "now a file", "b": "a file", "c/d": "x"},
		"not text":                   {"README.md": "of people\n", "a/one": "\xff\xfe", "a/two": "nul\x00", "b": "ü\r\n<&>\u2028", "c/d/e": "deep"},
		"modes":                      {"README.md@": "a/one", "a/one!": "1", "a/two!": "other", "b": "a file", "c/d/e": "deep"},
		"names":                      {"README.md": "of people\n", "a/ü #?%2F&+\"'": "x", "a/*[x]": "y", ":(top)": "z"},
		"nothing else than the same": before,
		"nothing of what was there":  {"other": "x"},
	} {
		t.Run(name, func(t *testing.T) {
			s, g, c := committed(t, before)
			c.Tree = files(t, after)
			id, err := g.CreateCommit(t.Context(), c)
			check(t, err)
			dir := s.Git.Dir(repo)
			equal(t, "branch", gittest.Refs(t, dir)["refs/heads/"+c.Branch], id)
			equal(t, "tree", gittest.Git(t, dir, "rev-parse", id+"^{tree}"), c.Tree.ID().String())
			equal(t, "parents", gittest.Git(t, dir, "log", "-1", "--format=%P", id), c.Parent)
			equal(t, "message", gittest.Git(t, dir, "log", "-1", "--format=%B", id), strings.TrimSpace(c.Message))
			if raw := gittest.Git(t, dir, "cat-file", "commit", id); !strings.Contains(raw, "\ngpgsig ") || !strings.Contains(raw, "\nauthor fairlead-app[bot] ") {
				t.Errorf("it is not signed by GitHub for the App:\n%s", raw)
			}
		})
	}
}

func TestGitHubCommitsInPieces(t *testing.T) {
	s, g, c := committed(t, map[string]string{"README.md": "x"})
	many := map[string]string{}
	for i := range 1200 {
		many[fmt.Sprintf("many/%04d", i)] = fmt.Sprint(i)
	}
	for i := range 4 {
		many[fmt.Sprintf("large/%d", i)] = strings.Repeat("é", 400_000)
	}
	c.Tree = files(t, many)
	id, err := g.CreateCommit(t.Context(), c)
	check(t, err)
	equal(t, "tree", gittest.Git(t, s.Git.Dir(repo), "rev-parse", id+"^{tree}"), c.Tree.ID().String())
	requests := map[string]int{}
	for _, r := range s.Requests() {
		if len(r.Body) > 2<<20 {
			t.Errorf("%s %s sends %d bytes", r.Method, r.Path, len(r.Body))
		}
		_, last, _ := strings.Cut(r.Path, "/git/")
		requests[r.Method+" "+last]++
	}
	delete(requests, "POST ") // for a token
	equal(t, "requests", requests, map[string]int{"GET ref/heads/fairlead/dev": 1, "POST trees": 6, "POST commits": 1, "POST refs": 1})
}

// TestGitHubMovesBranches has a branch that is, or is not, where it is thought to be.
func TestGitHubMovesBranches(t *testing.T) {
	_, g, c := committed(t, map[string]string{"README.md": "x"})
	c.Tree = files(t, map[string]string{"README.md": "y"})
	first, err := g.CreateCommit(t.Context(), c)
	check(t, err)
	_, err = g.CreateCommit(t.Context(), c)
	equal(t, "kind when it is there by now", kindOf(err), "moved")
	c.Old = strings.Repeat("a", 40)
	_, err = g.CreateCommit(t.Context(), c)
	equal(t, "kind when it is elsewhere", kindOf(err), "moved")
	wantError(t, err, "move fairlead/dev of acme/gitops: the branch has moved: it is not at aaaa")
	c.Old = first
	second, err := g.CreateCommit(t.Context(), c) // from the same parent: it is forced
	check(t, err)
	c.Old, c.Parent, c.Before = second, second, c.Tree
	_, err = g.CreateCommit(t.Context(), c)
	check(t, err)
	c.Branch = "gone"
	_, err = g.CreateCommit(t.Context(), c)
	equal(t, "kind when it is gone", kindOf(err), "moved")
}

// TestGitHubMovesOnlyWhatItSaw has a person push while a commit is made.
func TestGitHubMovesOnlyWhatItSaw(t *testing.T) {
	for _, old := range []string{"", "main", "other"} {
		s, _, c := committed(t, map[string]string{"README.md": "x"})
		w := s.Git.Work(t, repo)
		w.Pull("main")
		if old == "other" {
			w.Write("other", "x")
			c.Old = w.Commit("other")
		} else if old != "" {
			c.Old = c.Parent
		}
		if old != "" {
			w.Push("HEAD:fairlead/dev")
		}
		theirs := ""
		key, text := sharedKey()
		s.Install("12", 77, &key.PublicKey)
		app := tokens(t, s, text, func() time.Time { return start })
		g := gitHub(t, s, forge.Options{Token: app.Token, App: true, Observe: func(op string, _ time.Duration, _ error) {
			if op == "make a commit" {
				w.Write("theirs", "x")
				theirs = w.Commit("theirs")
				w.Push("HEAD:fairlead/dev")
			}
		}})
		c.Tree = files(t, map[string]string{"README.md": "y"})
		_, err := g.CreateCommit(t.Context(), c)
		equal(t, "kind", kindOf(err), "moved")
		equal(t, "branch", gittest.Refs(t, s.Git.Dir(repo))["refs/heads/fairlead/dev"], theirs)
	}
}

func TestGitHubDoesNotCommit(t *testing.T) {
	s, app, c := committed(t, map[string]string{"README.md": "x"})
	c.Tree = files(t, map[string]string{"README.md": "y", "bin": "\xff"})
	before := maps.Clone(gittest.Refs(t, s.Git.Dir(repo)))
	_, err := gitHub(t, s, forge.Options{}).CreateCommit(t.Context(), c)
	equal(t, "kind for a person", kindOf(err), "unsupported")
	if !strings.Contains(hint(err), "GitHub App") {
		t.Errorf("got the hint %q", hint(err))
	}
	for _, fault := range []githubfake.Fault{
		{Method: "GET", Path: "/repos/*/*/git/ref/*/*/*", Status: 500},
		{Path: "/repos/*/*/git/blobs", Status: 500}, {Path: "/repos/*/*/git/trees", CutAfter: 5}, {Path: "/repos/*/*/git/commits", Status: 403},
		{Path: "/repos/*/*/git/refs", Status: 422, Header: json, Body: message("Reference name is not good")},
		{Path: "/repos/*/*/git/trees", Status: 201, Header: json, Body: `{"sha":"` + strings.Repeat("a", 40) + `"}`},
	} {
		fault.Times = 1
		s.Inject(fault)
		_, err := app.CreateCommit(t.Context(), c)
		equal(t, "kind for "+fault.Path, kindOf(err), "other")
		if diff := cmp.Diff(before, gittest.Refs(t, s.Git.Dir(repo))); diff != "" {
			t.Errorf("%s: references (-before +after):\n%s", fault.Path, diff)
		}
	}
	_, err = app.CreateCommit(t.Context(), c)
	check(t, err)
}
