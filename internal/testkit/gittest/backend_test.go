package gittest

import (
	"os"
	"path/filepath"
	"testing"
)

// TestAnswersFollowTheRepository: what git has answered is not repeated once a reference has
// moved, is packed or gone, HEAD is another one, or a pack is gone.
func TestAnswersFollowTheRepository(t *testing.T) {
	s := Serve(t)
	w := edited(t, s, "cp")
	dir := s.Dir("cp")
	for _, change := range []struct {
		name string
		do   func()
	}{
		{"a commit", func() { w.Write("x", "1"); w.Commit("x"); w.Push() }},
		{"a branch", func() { w.Push("main:dev") }},
		{"packed", func() { Git(t, dir, "pack-refs", "--all") }},
		{"moved by itself", func() { Git(t, dir, "update-ref", "refs/heads/dev", "main~1") }},
		{"removed", func() { w.Push(":dev") }},
		{"HEAD", func() { Git(t, dir, "symbolic-ref", "HEAD", "refs/heads/none") }},
	} {
		change.do()
		for _, version := range []string{"0", "2"} {
			want := Git(t, t.TempDir(), "-c", "protocol.version="+version, "ls-remote", "--symref", dir)
			for range 2 {
				got := Git(t, t.TempDir(), "-c", "protocol.version="+version, "ls-remote", "--symref", s.URL("cp"))
				equal(t, change.name+": references by version "+version, got, want)
			}
		}
	}
	clone := func() error {
		_, err := attempt(t.TempDir(), nil, "", "clone", "-q", "-b", "main", s.URL("cp"), ".")
		return err
	}
	for range 2 {
		if err := clone(); err != nil {
			t.Error(err)
		}
	}
	packs, err := filepath.Glob(filepath.Join(dir, "objects", "pack", "*"))
	if err != nil || len(packs) == 0 {
		t.Fatalf("there are no packs: %v", err)
	}
	for _, pack := range packs {
		if err := os.Remove(pack); err != nil {
			t.Fatal(err)
		}
	}
	if err := clone(); err == nil {
		t.Error("a repository without objects was cloned")
	}
}
