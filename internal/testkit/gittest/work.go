package gittest

import (
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"
)

// Work is a clone with a work tree, to play the people who edit. It is for one
// goroutine; every mistake fails the test that it was made for.
type Work struct {
	Dir string // the work tree

	t      testing.TB
	clock  *atomic.Int64 // commits made so far in all clones of the repository
	server *Server
	origin *store
	own    *store    // of the clone
	index  fileState // when it last had the files of HEAD and no others
}

// Write writes a file, and the folders it is in.
func (w *Work) Write(path, text string) {
	w.t.Helper()
	full := filepath.Join(w.Dir, path)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

// Remove removes a file, or a folder with all that is in it. It must exist.
func (w *Work) Remove(path string) {
	w.t.Helper()
	full := filepath.Join(w.Dir, path)
	if _, err := os.Lstat(full); err != nil {
		w.t.Fatal(err)
	}
	if err := os.RemoveAll(full); err != nil {
		w.t.Fatal(err)
	}
}

// Commit commits all that the work tree holds, changed or not, and returns the
// commit's id. The first commit to a repository is of 2026-01-01T00:00:00Z, and
// each is one second later than the last, whichever clone it was made in.
func (w *Work) Commit(message string) string {
	w.t.Helper()
	at := start.Add(time.Duration(w.clock.Add(1)-1) * time.Second)
	if err := w.commitInside(message, at); err != nil {
		Git(w.t, w.Dir, "add", "-A")
		mustRun(w.t, w.Dir, dateVariables(at), "", "commit", "-q", "--allow-empty", "-m", message)
		w.noteIndex()
	}
	return Commit(w.t, w.Dir, "HEAD")
}

// Push pushes refspecs ("main", "+dev", ":old"), or the current branch.
func (w *Work) Push(refspecs ...string) {
	w.t.Helper()
	if len(refspecs) == 0 {
		refspecs = []string{"HEAD"}
	}
	if err := w.pushInside(refspecs); err != nil {
		Git(w.t, w.Dir, append([]string{"push", "-q", "origin"}, refspecs...)...)
	}
}

// Pull fetches, and switches to the branch as it is at the origin; what the
// local branch or the work tree had else is lost.
func (w *Work) Pull(branch string) {
	w.t.Helper()
	if err := w.pullInside(branch); err != nil {
		w.fetch()
		Git(w.t, w.Dir, "checkout", "-qf", "--no-track", "-B", branch, remotes+branch, "--")
		w.noteIndex()
	}
}

// Switch switches to a local branch; or one of the origin; or, if there is
// neither, to a new one that has no commit and no files.
func (w *Work) Switch(branch string) {
	w.t.Helper()
	if err := w.switchInside(branch); err == nil {
		return
	}
	if w.has("refs/heads/" + branch) {
		Git(w.t, w.Dir, "checkout", "-q", branch, "--")
		return
	}
	w.fetch()
	if w.has(remotes + branch) {
		Git(w.t, w.Dir, "checkout", "-q", "--no-track", "-b", branch, remotes+branch, "--")
		return
	}
	Git(w.t, w.Dir, "symbolic-ref", "HEAD", "refs/heads/"+branch)
	Git(w.t, w.Dir, "rm", "-rfq", "--ignore-unmatch", ".")
	Git(w.t, w.Dir, "clean", "-ffdxq")
}

func (w *Work) fetch() {
	w.t.Helper()
	Git(w.t, w.Dir, "fetch", "-q", "--prune", "origin")
}

func (w *Work) has(ref string) bool {
	w.t.Helper()
	return Git(w.t, w.Dir, "for-each-ref", ref) != ""
}
