package atomicfile

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
)

func files(t *testing.T, texts map[string]string) tree.Tree {
	t.Helper()
	var b tree.Builder
	for path, text := range texts {
		if err := b.Add(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	return b.Tree()
}

// TestWriteFolder: a folder is replaced only if it is empty, has the mark, or force is set; what
// is refused stays as it was, with a hint.
func TestWriteFolder(t *testing.T) {
	mark := Mark{Path: ".fairlead/output.yaml", Text: []byte("mark")}
	fresh := []string{"out/.fairlead/output.yaml", "out/a", "out/b/c"}
	for _, test := range []struct {
		name    string
		old     []string
		force   bool
		in      string // the current folder
		wanted  []string
		refused bool
	}{
		{name: "new", wanted: fresh},
		{name: "marked", old: []string{"out/x", "out/.fairlead/output.yaml"}, wanted: fresh},
		{name: "of others", old: []string{"out/x"}, wanted: []string{"out/x"}, refused: true},
		{name: "of others, forced", old: []string{"out/x"}, force: true, wanted: fresh},
		{name: "a repository, forced", old: []string{"out/.git/HEAD"}, force: true, wanted: []string{"out/.git/HEAD"}, refused: true},
		{name: "a file, forced", old: []string{"out"}, force: true, wanted: []string{"out"}, refused: true},
		{name: "the current folder, forced", old: []string{"out/x"}, force: true, in: "out", wanted: []string{"out/x"}, refused: true},
		{name: "above the current folder, forced", old: []string{"out/x/y"}, force: true, in: "out/x", wanted: []string{"out/x/y"}, refused: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			touch(t, dir, test.old...)
			t.Chdir(filepath.Join(dir, test.in))
			n, err := WriteFolder(t.Context(), filepath.Join(dir, "out"), files(t, map[string]string{"a": "1", "b/c": "2"}), mark, test.force)
			var refusal *problem.Refusal
			if test.refused != errors.As(err, &refusal) || !test.refused && (err != nil || n != 2) {
				t.Errorf("%d files, error %v", n, err)
			}
			if refusal != nil && refusal.Hint() == "" {
				t.Error("there is no hint")
			}
			if diff := cmp.Diff(test.wanted, filesIn(t, dir)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestWriteTar: equal files make equal bytes, in a plain tar and in a compressed one, and a tar
// that is given up leaves what was there.
// TestWriteFile: a file gets another content and keeps its permissions, also behind a link.
func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "list.yaml"), filepath.Join(dir, "link.yaml")
	err := errors.Join(os.WriteFile(file, []byte("old"), 0o640), os.Chmod(file, 0o640), os.Symlink(file, link), WriteFile(link, []byte("new")))
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(file)
	text, readErr := os.ReadFile(file)
	if err != nil || readErr != nil || string(text) != "new" || info.Mode().Perm() != 0o640 {
		t.Errorf("%q, %v, %v, %v", text, info, err, readErr)
	}
	if left := filesIn(t, dir); len(left) != 2 {
		t.Errorf("the folder has %q", left)
	}
}

func TestWriteTar(t *testing.T) {
	tree := files(t, map[string]string{"a": "1", "b/c": "2"})
	for _, name := range []string{"out.tar", "out.tar.gz", "out.tgz"} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), name)
			var last []byte
			for range 2 {
				n, err := WriteTar(t.Context(), path, tree)
				data, errRead := os.ReadFile(path)
				if n != 2 || err != nil || errRead != nil || last != nil && !bytes.Equal(data, last) {
					t.Errorf("%d files, errors %v and %v, or other bytes than before", n, err, errRead)
				}
				last = data
			}
			if diff := cmp.Diff([]string{"a=1", "b/c=2"}, entries(t, last, name != "out.tar")); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			ended, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := WriteTar(ended, path, tree); !errors.Is(err, context.Canceled) {
				t.Errorf("error %v", err)
			}
			if data, err := os.ReadFile(path); err != nil || !bytes.Equal(data, last) {
				t.Errorf("what was given up changed the tar (%v)", err)
			}
			if left := FindLeftovers(path); left != nil {
				t.Errorf("left: %v", left)
			}
		})
	}
	dir := t.TempDir()
	touch(t, dir, "out.tar/x")
	var refusal *problem.Refusal
	if _, err := WriteTar(t.Context(), filepath.Join(dir, "out.tar"), tree); !errors.As(err, &refusal) {
		t.Errorf("a folder was replaced, error %v", err)
	}
}

// entries returns the files of a tar, in its order.
func entries(t *testing.T, data []byte, zipped bool) []string {
	t.Helper()
	var in io.Reader = bytes.NewReader(data)
	if zipped {
		unzipped, err := gzip.NewReader(in)
		if err != nil {
			t.Fatal(err)
		}
		in = unzipped
	}
	var all []string
	archive := tar.NewReader(in)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, header.Name+"="+string(text))
	}
}

// TestFindLeftovers: only the folders that a killed program left beside the path are found.
func TestFindLeftovers(t *testing.T) {
	dir := t.TempDir()
	touch(t, dir, ".out.fairlead-1/new/a", ".other.fairlead-1/new/a", "out.fairlead-1/a", "out/a")
	wanted := []string{filepath.Join(dir, ".out.fairlead-1")}
	if diff := cmp.Diff(wanted, FindLeftovers(filepath.Join(dir, "out"))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
