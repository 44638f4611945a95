package git_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// TestEveryDamageOfAMirror damages every file of a mirror in every way, and has folders become files: a
// remote that has read it before, and one that begins, have what is right within two rounds.
func TestEveryDamageOfAMirror(t *testing.T) {
	if testing.Short() {
		t.Skip("-short does not damage each file of a mirror: TestDamagedMirror damages some")
	}
	s := gittest.ServeGit(t)
	s.Create("r")
	w := s.Work(t, "r")
	for i := range 3 {
		w.Write("a/b.txt", string(rune('a'+i)))
		w.Write("c.txt", "c")
		w.Commit("c")
	}
	w.Push("main")
	ways := map[string]func(string) error{
		"removed": os.Remove, "empty": func(p string) error { return os.Truncate(p, 0) },
		"half":  func(p string) error { return half(p) },
		"flip0": func(p string) error { return flip(p, 0) }, "flipM": func(p string) error { return flip(p, 1) }, "flipE": func(p string) error { return flip(p, 2) },
		"folder": func(p string) error { return errors.Join(os.Remove(p), os.Mkdir(p, 0o755)) },
	}
	for name, way := range ways {
		for n := 0; ; n++ {
			dir := filepath.Join(t.TempDir(), "m")
			o := git.RemoteOptions{URL: s.URL("r"), Dir: dir, NarrowPoll: true, Partial: true}
			m, err := git.NewRemote(o)
			if err != nil {
				t.Fatal(err)
			}
			read := func() error {
				if _, err := m.Sync(context.Background()); err != nil {
					return err
				}
				h, err := m.Mirror().Branch("main")
				if err != nil {
					return err
				}
				v, err := m.Mirror().View(h)
				if err != nil {
					return err
				}
				e, ok := v.Tree.Lookup("a/b.txt")
				if v.Err() != nil {
					return v.Err()
				}
				if !ok || string(e.Data) != "c" {
					t.Errorf("WRONG %q", e.Data)
				}
				return nil
			}
			if err := read(); err != nil {
				t.Fatal(err)
			}
			var files []string
			err = filepath.WalkDir(dir, func(p string, _ fs.DirEntry, err error) error {
				if p != dir {
					files = append(files, p)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			if n/2 >= len(files) {
				break
			}
			f := files[n/2]
			if err := damage(f, way); err != nil {
				t.Fatal(err)
			}
			if n%2 == 1 {
				m, err = git.NewRemote(o)
				if err != nil {
					t.Fatal(err)
				}
			}
			for range 2 {
				err = read()
			}
			if err != nil {
				t.Errorf("%s %s restart=%v: %v", name, f[len(dir):], n%2 == 1, err)
			}
		}
	}
}

// damage damages a file; a folder becomes a file.
func damage(p string, way func(string) error) error {
	info, err := os.Stat(p)
	if err == nil && info.IsDir() {
		return errors.Join(os.RemoveAll(p), os.WriteFile(p, nil, 0o644))
	}
	return errors.Join(err, os.Chmod(p, 0o644), way(p))
}

// half cuts a file in its middle.
func half(p string) error {
	info, err := os.Stat(p)
	if err != nil {
		return err
	}
	return os.Truncate(p, info.Size()/2)
}

// flip changes a byte: the first (0), one in the middle (1), or the last (2).
func flip(p string, where int) error {
	b, err := os.ReadFile(p)
	if err != nil || len(b) == 0 {
		return err
	}
	b[(len(b)-1)*where/2] ^= 0x41
	return os.WriteFile(p, b, 0o644)
}
