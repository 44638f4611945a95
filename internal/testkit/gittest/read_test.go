package gittest

import (
	"maps"
	"os"
	"path/filepath"
	"testing"
)

// TestRead compares what is read in this process with what git reads, of a bare repository and of a
// work tree, with objects in packs and outside of them.
func TestRead(t *testing.T) {
	t.Setenv(onlyGitVariable, "")
	s := Serve(t)
	s.Create("fleet")
	w := s.Work(t, "fleet")
	w.Write("README.md", "one\n")
	w.Write("apps/deep/web.yaml", "kind: App\r\n\x00\xff")
	w.Write("empty", "")
	if err := os.Symlink("README.md", filepath.Join(w.Dir, "link")); err != nil {
		t.Fatal(err)
	}
	first := w.Commit("one")
	w.Push("HEAD:main", "HEAD:dev")
	w.Remove("apps")
	w.Write("README.md", "two\n")
	second := w.Commit("two")
	w.Push("HEAD:main")
	Git(t, w.Dir, "tag", "dev", first)
	Git(t, w.Dir, "repack", "-q")
	w.Write("later", "three\n")
	w.Commit("three") // its objects are outside of the pack
	for _, at := range []struct {
		dir, rev string
		inside   bool
	}{
		{s.Dir("fleet"), "main", true}, {s.Dir("fleet"), "HEAD", true}, {s.Dir("fleet"), "dev", true}, {s.Dir("fleet"), first, true},
		{w.Dir, "HEAD", true}, {w.Dir, "main", true}, {w.Dir, second, true}, {w.Dir, "dev", false}, {w.Dir, "main~1", false}, {w.Dir, "origin/dev", false},
	} {
		files, err := readFiles(at.dir, at.rev)
		if (err == nil) != at.inside {
			t.Errorf("%s: %v", at.rev, err)
		}
		want := showFiles(t, at.dir, at.rev)
		if err == nil && !maps.Equal(files, want) {
			t.Errorf("%s has %q, want %q", at.rev, files, want)
		}
		if got := Files(t, at.dir, at.rev); !maps.Equal(got, want) {
			t.Errorf("%s has the files %q, want %q", at.rev, got, want)
		}
		for path, text := range want {
			if got := Show(t, at.dir, at.rev, path); got != text {
				t.Errorf("%s of %s is %q, want %q", path, at.rev, got, text)
			}
		}
		if got, want := Commit(t, at.dir, at.rev), Git(t, at.dir, "rev-parse", at.rev+"^{commit}"); got != want {
			t.Errorf("%s is %s, want %s", at.rev, got, want)
		}
	}
}
