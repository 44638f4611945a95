package atomicfile

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPlace sees that what is placed is there as a whole, or that what was there is
// as it was, and that nothing stays beside it.
func TestPlace(t *testing.T) {
	broken := errors.New("broken")
	folder := func(fresh string) (int, error) {
		return 1, errors.Join(os.Mkdir(fresh, 0o777), os.WriteFile(filepath.Join(fresh, "new"), nil, 0o666))
	}
	file := func(fresh string) (int, error) { return 1, os.WriteFile(fresh, nil, 0o666) }
	for _, test := range []struct {
		name  string
		old   []string // files
		write func(fresh string) (int, error)
		want  []string
		err   error
	}{
		{name: "new folder", write: folder, want: []string{"out/new"}},
		{name: "folder that is there", old: []string{"out/a", "out/b/c"}, write: folder, want: []string{"out/new"}},
		{name: "folder that fails", old: []string{"out/a", "out/b/c"}, want: []string{"out/a", "out/b/c"}, err: broken,
			write: func(fresh string) (int, error) {
				_, err := folder(fresh)
				return 1, errors.Join(err, broken)
			}},
		{name: "new file", write: file, want: []string{"out"}},
		{name: "file that is there", old: []string{"out"}, write: file, want: []string{"out"}},
		{name: "nothing was made", old: []string{"out/a"}, write: func(string) (int, error) { return 0, nil }, want: []string{"out/a"}, err: os.ErrNotExist},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			touch(t, dir, test.old...)
			_, err := replacePath(filepath.Join(dir, "out"), test.write)
			if !errors.Is(err, test.err) {
				t.Errorf("error %v, not %v", err, test.err)
			}
			if diff := cmp.Diff(test.want, filesIn(t, dir)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestPutAside is for systems that cannot exchange two folders.
func TestPutAside(t *testing.T) {
	dir := t.TempDir()
	touch(t, dir, "out/a", "beside/new/b")
	out, fresh, old := filepath.Join(dir, "out"), filepath.Join(dir, "beside", "new"), filepath.Join(dir, "beside", "old")
	if err := moveAside(fresh, out, old); err != nil {
		t.Fatal(err)
	}
	want := []string{"beside/old/a", "out/b"}
	if diff := cmp.Diff(want, filesIn(t, dir)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}

	// What cannot be put there leaves what is there.
	if err := os.RemoveAll(old); err != nil {
		t.Fatal(err)
	}
	if err := moveAside(fresh, out, old); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
	if diff := cmp.Diff([]string{"out/b"}, filesIn(t, dir)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func touch(t *testing.T, dir string, files ...string) {
	t.Helper()
	for _, name := range files {
		file := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o777), os.WriteFile(file, nil, 0o666)); err != nil {
			t.Fatal(err)
		}
	}
}

// filesIn gives the files below dir, sorted.
func filesIn(t *testing.T, dir string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(dir, path)
			files = append(files, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
