package gittest

import (
	"math/rand"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// edited is a repository whose main branch has one commit.
func edited(t *testing.T, s *Server, name string) *Work {
	t.Helper()
	s.Create(name)
	w := s.Work(t, name)
	w.Write("a/b.yaml", "one\n")
	w.Commit("first")
	w.Push()
	return w
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestCommitsAreTheSameEverywhere(t *testing.T) {
	t.Setenv("GIT_DIR", "/nowhere")
	t.Setenv("GIT_CONFIG_PARAMETERS", "'user.name=somebody'")
	s := Serve(t)
	w := edited(t, s, "org/cp")
	w.Remove("a")
	w.Commit("second")
	w.Push()
	other := s.Work(t, "org/cp")
	id := other.Commit("nothing has changed")
	equal(t, "the last commit", id, Git(t, other.Dir, "rev-parse", "main"))
	got := strings.Split(Git(t, other.Dir, "log", "--format=%h %an %ae %cn %ce %aI %cI %s", "--abbrev=40", "--reverse"), "\n")
	const by = " a a@example.com a a@example.com "
	equal(t, "log", got, []string{
		"37f5c2b099314faa0f4fd79517327b7134b6db33" + by + "2026-01-01T00:00:00+00:00 2026-01-01T00:00:00+00:00 first",
		"6d772cc6cb0cc12f0f8fa21a677e8927cf16246c" + by + "2026-01-01T00:00:01+00:00 2026-01-01T00:00:01+00:00 second",
		id + by + "2026-01-01T00:00:02+00:00 2026-01-01T00:00:02+00:00 nothing has changed",
	})
}

func TestDateOfEnvironment(t *testing.T) {
	t.Setenv("GIT_COMMITTER_DATE", "2030-02-03T04:05:06Z")
	dir := t.TempDir()
	Git(t, dir, "init", "-q")
	Git(t, dir, "commit", "-q", "--allow-empty", "-m", "x")
	equal(t, "dates", Git(t, dir, "log", "--format=%aI %cI"), "2026-01-01T00:00:00+00:00 2030-02-03T04:05:06+00:00")
}

func TestWorkFollowsBranches(t *testing.T) {
	s := Serve(t)
	ann := edited(t, s, "cp")
	bob := s.Work(t, "cp")

	bob.Write("left", "uncommitted")
	bob.Switch("dev")
	bob.Write("dev.yaml", "dev\n")
	dev := bob.Commit("dev")
	bob.Push()
	equal(t, "files of a new branch", Files(t, bob.Dir, "dev"), map[string]string{"dev.yaml": "dev\n"})
	equal(t, "parents of its commit", Git(t, bob.Dir, "log", "--format=%p"), "")

	ann.Switch("dev")
	equal(t, "a branch of the origin", Git(t, ann.Dir, "rev-parse", "HEAD"), dev)
	ann.Write("dev.yaml", "lost\n")
	ann.Commit("not pushed")
	ann.Write("dev.yaml", "not even committed\n")
	ann.Pull("dev")
	equal(t, "after a pull", Git(t, ann.Dir, "rev-parse", "HEAD"), dev)
	equal(t, "changes after a pull", Git(t, ann.Dir, "status", "--short"), "")
	ann.Switch("main")
	equal(t, "a local branch", Git(t, ann.Dir, "branch", "--show-current"), "main")

	ann.Push("main:other", ":dev")
	main := Git(t, ann.Dir, "rev-parse", "main")
	equal(t, "refs", Refs(t, s.Dir("cp")), map[string]string{"refs/heads/main": main, "refs/heads/other": main})
}

func TestFilesAreExact(t *testing.T) {
	s := Serve(t)
	s.Create("cp")
	w := s.Work(t, "cp")
	want := map[string]string{
		"empty": "", "with space\n and line": " \n\n", "a/b/c": "no end of line", "ä": strings.Repeat("x\x00\n", 1000),
		".gitattributes": "* export-ignore\n",
	}
	for path, text := range want {
		w.Write(path, text)
	}
	w.Commit("all")
	w.Push()
	equal(t, "files", Files(t, s.Dir("cp"), "main"), want)
	equal(t, "one file", Show(t, s.Dir("cp"), "main", "a/b/c"), "no end of line")
	equal(t, "empty file", Show(t, s.Dir("cp"), "main", "empty"), "")
	w.Remove("a")
	equal(t, "files after removal", len(Files(t, w.Dir, w.Commit("fewer"))), len(want)-1)
}

// TestCommitTo: a commit that is made without git is the one that git makes.
func TestCommitTo(t *testing.T) {
	s := Serve(t)
	var ids [2][]string
	for i, name := range []string{"by-git", "inside"} {
		s.Create(name)
		commit := func(branch, message string, files map[string]string) string {
			return s.CommitTo(t, name, branch, message, files)
		}
		if name == "by-git" {
			w := s.Work(t, name)
			commit = func(branch, message string, files map[string]string) string {
				if _, ok := Refs(t, s.Dir(name))["refs/heads/main"]; ok {
					w.Pull("main")
				}
				Git(t, w.Dir, "checkout", "-qB", branch)
				for path, text := range files {
					w.Write(path, text)
				}
				id := w.Commit(message)
				w.Push("+" + branch)
				return id
			}
		}
		ids[i] = append(ids[i], commit("main", "first", map[string]string{"b": "1\n", "a": "2\n"}))
		ids[i] = append(ids[i], commit("other", "change", map[string]string{"b": "3\n", "c": ""}))
		ids[i] = append(ids[i], commit("main", "more\n\nWhy.", map[string]string{"b": "3\n"}))
		Git(t, s.Dir(name), "fsck", "--strict")
		equal(t, "refs", len(Refs(t, s.Dir(name))), 2)
	}
	equal(t, "commits", ids[1], ids[0])
}

// TestLastingQuestions: an answer is kept only of what names whole commits, and nothing that can move.
func TestLastingQuestions(t *testing.T) {
	a, b := strings.Repeat("a", 40), strings.Repeat("b", 40)
	for question, want := range map[string]bool{
		"merge-base " + a + " " + b: true, "merge-tree " + a + " " + a + " " + b: true, "rev-list --count " + a + ".." + b: true,
		"merge-base main " + b: false, "merge-tree --write-tree " + a + " " + b: false, "rev-list --count main.." + b: false, "rev-list --count " + a: false,
		"rev-list --branches": false, "merge-base " + a: false, "rev-parse " + a + " " + b: false, "merge-base " + a[:39] + " " + b: false,
	} {
		if _, got := lastingQuestion(strings.Fields(question)); got != want {
			t.Errorf("%s: %v", question, got)
		}
	}
	s := Serve(t)
	s.Create("cp")
	w := s.Work(t, "cp")
	w.Write("a", "1")
	first := w.Commit("first")
	w.Write("a", "2")
	second := w.Commit("second")
	for range 2 {
		equal(t, "commits between", Git(t, w.Dir, "rev-list", "--count", first+".."+second), "1")
		equal(t, "commits the other way", Git(t, w.Dir, "rev-list", "--count", second+".."+first), "0")
		equal(t, "merge base", Git(t, w.Dir, "merge-base", first, second), first)
	}
}

// noise returns a text that a pack cannot make smaller.
func noise(size int) string {
	text := make([]byte, size)
	source := rand.New(rand.NewSource(1))
	for i := range text {
		text[i] = byte(source.Intn(256))
	}
	return string(text)
}
