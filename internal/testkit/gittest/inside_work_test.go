package gittest

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestWorkInside: what people do ends without git as it does with git, and git finds nothing wrong with it.
func TestWorkInside(t *testing.T) {
	servers := []*Server{Serve(t), ServeGit(t)}
	servers[0].onlyGit.Store(false)
	var all [2][2]*Work
	t.Setenv(onlyGitVariable, "")
	for i, s := range servers {
		s.Create("cp")
		all[i] = [2]*Work{s.Work(t, "cp"), s.Work(t, "cp")}
	}
	link := func(w *Work) {
		w.Remove("a/run.sh")
		if err := os.Symlink("b.yaml", filepath.Join(w.Dir, "a/run.sh")); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct {
		name string
		left bool // to git
		do   func(ann, bob *Work)
	}{
		{"the first commit", false, func(ann, _ *Work) {
			ann.Write("a/b.yaml", "one\n")
			ann.Write("a.yaml", "one\n") // trees are not sorted by name alone
			ann.Write("a/run.sh", "#!/bin/sh\n")
			if err := os.Chmod(filepath.Join(ann.Dir, "a/run.sh"), 0o755); err != nil {
				t.Fatal(err)
			}
			ann.Commit("one\n\nWhy.")
			ann.Push()
		}},
		{"a clone", false, func(_, bob *Work) { bob.Pull("main") }},
		{"changes", false, func(ann, _ *Work) {
			ann.Remove("a.yaml")
			ann.Write("c/d/e.yaml", "two\n")
			link(ann)
			ann.Commit("two")
			ann.Commit("nothing")
			ann.Push("HEAD:refs/heads/main", "HEAD:one/two")
		}},
		{"what was not committed is lost", false, func(_, bob *Work) {
			bob.Write("a/b.yaml", "lost\n")
			bob.Write("c/f.yaml", "stays\n")
			bob.Pull("main")
			bob.Commit("three")
			bob.Push("main")
		}},
		{"another branch", false, func(ann, bob *Work) {
			ann.Switch("one/two")
			ann.Push(":one/two")
			ann.Push("+main:one")
			bob.Pull("one")
			bob.Switch("main")
		}},
		{"a branch without a commit", false, func(ann, _ *Work) {
			ann.Write("left", "x")
			ann.Switch("fresh")
			ann.Write("x", "y")
			ann.Commit("fresh")
			ann.Push()
			ann.Push()
		}},
		{"no files", false, func(ann, _ *Work) {
			ann.Remove("x")
			ann.Commit("empty")
			ann.Push("fresh")
		}},
		{"set back", false, func(ann, _ *Work) {
			ann.Pull("main")
			ann.Push("+HEAD:fresh")
			ann.Push(Commit(t, ann.Dir, "HEAD") + ":refs/fairlead/kept")
		}},
		{"what a file says of others", true, func(ann, _ *Work) {
			ann.Write(".gitignore", "*.log\n")
			ann.Write("x.log", "ignored")
			ann.Commit("ignore")
			ann.Push()
		}},
		{"from there on", true, func(_, bob *Work) {
			bob.Pull("main")
			bob.Write("a/b.yaml", "four\n")
			bob.Commit("four")
			bob.Push()
		}},
	} {
		for i, s := range servers {
			path := os.Getenv("PATH")
			if s == servers[0] && !step.left {
				t.Setenv("PATH", "") // git is not found
			}
			step.do(all[i][0], all[i][1])
			t.Setenv("PATH", path)
		}
		for n, who := range []string{"ann", "bob"} {
			inside, git := all[0][n].Dir, all[1][n].Dir
			for _, question := range [][]string{
				{"--no-optional-locks", "status", "--short"}, {"symbolic-ref", "HEAD"}, {"for-each-ref", "--format=%(refname) %(objectname)"},
				{"ls-files", "--stage"}, {"fsck", "--strict", "--no-dangling"},
			} {
				equal(t, step.name+": git "+strings.Join(question, " ")+" of "+who, Git(t, inside, question...), Git(t, git, question...))
			}
			equal(t, step.name+": files of "+who, workFiles(t, inside), workFiles(t, git))
		}
		equal(t, step.name+": references", Refs(t, servers[0].Dir("cp")), Refs(t, servers[1].Dir("cp")))
		Git(t, servers[0].Dir("cp"), "fsck", "--strict", "--no-dangling")
	}
}

// workFiles returns the files of a work tree with their modes.
func workFiles(t *testing.T, dir string) []string {
	t.Helper()
	w := &Work{Dir: dir}
	var all []string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if d != nil && d.Name() == ".git" {
				return filepath.SkipDir
			}
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		mode, data, err := w.readFile(filepath.ToSlash(name))
		all = append(all, name+" "+mode.String()+" "+string(data))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestWorkLeaves: what could end otherwise than with git is left to it.
func TestWorkLeaves(t *testing.T) {
	t.Setenv(onlyGitVariable, "")
	for name, test := range map[string]struct {
		before func(w *Work)
		do     func(w *Work) error
	}{
		"a message that git tidies":      {nil, func(w *Work) error { return w.commitInside("x \n\n\ny", start) }},
		"an author":                      {func(*Work) { t.Setenv("GIT_AUTHOR_NAME", "b") }, func(w *Work) error { return w.commitInside("x", start) }},
		"other settings":                 {func(w *Work) { Git(t, w.Dir, "config", "core.autocrlf", "true") }, func(w *Work) error { return w.commitInside("x", start) }},
		"a hook":                         {func(w *Work) { w.Write(".git/hooks/pre-commit", "") }, func(w *Work) error { return w.commitInside("x", start) }},
		"a commit that is checked out":   {func(w *Work) { Git(t, w.Dir, "checkout", "-q", "--detach") }, func(w *Work) error { return w.commitInside("x", start) }},
		"attributes":                     {func(w *Work) { w.Write("a/.gitattributes", "* text\n") }, func(w *Work) error { return w.commitInside("x", start) }},
		"what was added":                 {func(w *Work) { w.Write("new", ""); Git(t, w.Dir, "add", "new") }, func(w *Work) error { return w.pullInside("main") }},
		"a branch that is not there":     {nil, func(w *Work) error { return w.pullInside("other") }},
		"changes on the way to a branch": {func(w *Work) { w.Push("main:dev"); w.Write("a/b.yaml", "x") }, func(w *Work) error { return w.switchInside("dev") }},
		"a commit by its history":        {nil, func(w *Work) error { return w.pushInside([]string{"HEAD~1:dev"}) }},
		"a branch to remove":             {nil, func(w *Work) error { return w.pushInside([]string{":dev"}) }},
		"what is not a successor": {func(w *Work) {
			w.Commit("two")
			w.Push()
			Git(t, w.Dir, "reset", "-q", "--hard", "HEAD~1")
			w.Commit("other")
		},
			func(w *Work) error { return w.pushInside([]string{"main"}) }},
		"a tag": {func(w *Work) { Git(t, w.Dir, "tag", "v1"); w.Push("v1") }, func(w *Work) error { return w.fetchInside() }},
	} {
		t.Run(name, func(t *testing.T) {
			s := Serve(t)
			s.onlyGit.Store(false)
			w := edited(t, s, "cp")
			if test.before != nil {
				test.before(w)
			}
			defer os.Unsetenv("GIT_AUTHOR_NAME")
			before := Refs(t, s.Dir("cp"))
			if err := test.do(w); err == nil {
				t.Error("it was done without git")
			}
			equal(t, "references", Refs(t, s.Dir("cp")), before)
		})
	}
}

// TestInsideEmpty: a repository without commits, and one whose HEAD names none, are advertised as git does.
func TestInsideEmpty(t *testing.T) {
	t.Setenv(onlyGitVariable, "")
	s := Serve(t)
	s.onlyGit.Store(false)
	edited(t, s, "known")
	for _, service := range []string{"git-upload-pack", "git-receive-pack"} {
		q := &question{dir: s.Dir("known"), service: service, refs: true}
		a, err := s.askGit(q)
		if err != nil {
			t.Fatal(err)
		}
		learnCapabilities(q, a.body)
	}
	s.Create("empty")
	s.Create("unborn")
	s.Work(t, "unborn").Switch("dev")
	w := s.Work(t, "unborn")
	w.Switch("dev")
	w.Commit("dev")
	w.Push()
	for _, name := range []string{"empty", "unborn"} {
		for _, service := range []string{"git-upload-pack", "git-receive-pack"} {
			q := &question{dir: s.Dir(name), service: service, refs: true}
			want, err := s.askGit(q)
			if err != nil {
				t.Fatal(err)
			}
			got, ok := s.answerInside(q)
			if !ok && name == "empty" && service == "git-upload-pack" {
				continue // versions of git answer in two ways
			}
			if !ok {
				t.Fatalf("%s of %s is left to git", service, name)
			}
			equal(t, service+" of "+name, string(got.body), string(want.body))
		}
	}
}

// TestLooseObjects: objects that git has written to files of their own are answered from packs.
func TestLooseObjects(t *testing.T) {
	t.Setenv(onlyGitVariable, "")
	s := Serve(t)
	s.onlyGit.Store(false)
	edited(t, s, "cp")
	dir := s.Dir("cp")
	tree := Git(t, dir, "rev-parse", "main^{tree}")
	made := Git(t, dir, "commit-tree", "-p", "main", "-m", "loose", tree)
	Git(t, dir, "update-ref", "refs/heads/main", made)
	before := s.inside.Load()
	w := s.Work(t, "cp")
	clone := filepath.Join(t.TempDir(), "clone")
	Git(t, ".", "clone", "-q", s.URL("cp"), clone)
	if s.inside.Load() == before {
		t.Error("git answered everything")
	}
	equal(t, "HEAD of a clone", Git(t, clone, "rev-parse", "HEAD"), made)
	equal(t, "HEAD of a work tree", Commit(t, w.Dir, "HEAD"), made)
	Git(t, dir, "fsck", "--strict")
	entries, err := os.ReadDir(filepath.Join(dir, "objects"))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, e := range entries {
		names[e.Name()] = true
	}
	equal(t, "folders of objects", strings.Join(slices.Sorted(maps.Keys(names)), " "), "info pack")
}
