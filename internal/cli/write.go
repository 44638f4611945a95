package cli

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/fairlead-io/fairlead/internal/tree"
)

// recordFile marks a folder that render has written, and may replace.
const recordFile = ".fairlead/output.yaml"

func record(environments []string) []byte {
	return []byte("# Written by fairlead render, which replaces this folder as a whole.\n" +
		"apiVersion: fairlead.io/v1alpha1\nkind: Output\nenvironments: [" + strings.Join(environments, ", ") + "]\n")
}

// writeFolder makes dir hold the files, all at once: they are written beside it
// and put in its place, so that a failure leaves it as it was.
func writeFolder(dir string, files tree.Tree, environments []string, force bool) error {
	dir = filepath.Clean(dir)
	if err := mayReplace(dir, force); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	fresh, err := os.MkdirTemp(filepath.Dir(dir), "."+filepath.Base(dir)+".new-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(fresh)
	if err := writeFiles(fresh, files, environments); err != nil {
		return err
	}
	return replace(dir, fresh)
}

// mayReplace refuses a folder that holds something that render has not written.
func mayReplace(dir string, force bool) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case len(entries) == 0:
		return nil
	}
	if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
		return &hinted{fmt.Errorf("%s is a Git repository, and render replaces a folder as a whole", dir), "render into a folder of its own"}
	}
	if _, err := os.Stat(filepath.Join(dir, recordFile)); err == nil || force {
		return nil
	}
	return &hinted{fmt.Errorf("%s is not empty, and render has not written it", dir), "choose another folder, or say --force to replace it"}
}

func writeFiles(dir string, files tree.Tree, environments []string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := root.Chmod(".", 0o755); err != nil {
		return err
	}
	write := func(path string, data []byte) error {
		if err := root.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		return root.WriteFile(path, data, 0o644)
	}
	for path, data := range files.All() {
		if err := write(path, data); err != nil {
			return err
		}
	}
	return write(recordFile, record(environments))
}

// replace puts the folder fresh in the place of dir, and puts dir back if that
// fails.
func replace(dir, fresh string) error {
	old, err := os.MkdirTemp(filepath.Dir(dir), "."+filepath.Base(dir)+".old-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(old)
	backup := filepath.Join(old, "folder")
	if err := os.Rename(dir, backup); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(fresh, dir); err != nil {
		return errors.Join(err, restore(backup, dir))
	}
	return nil
}

func restore(backup, dir string) error {
	if err := os.Rename(backup, dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func isTar(path string) bool {
	return strings.HasSuffix(path, ".tar") || isGzip(path)
}

func isGzip(path string) bool {
	return strings.HasSuffix(path, ".tar.gz") || strings.HasSuffix(path, ".tgz")
}

// writeTar makes the file at path a tar of the files. The same files give the same
// bytes: there are no times and no owners in it.
func writeTar(path string, files tree.Tree) (err error) {
	out, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".new-")
	if err != nil {
		return err
	}
	defer os.Remove(out.Name())
	defer out.Close()
	var w io.WriteCloser = nopCloser{out}
	if isGzip(path) {
		w = gzip.NewWriter(out)
	}
	if err := tarFiles(w, files); err != nil {
		return err
	}
	if err := errors.Join(w.Close(), out.Chmod(0o644), out.Close()); err != nil {
		return err
	}
	return os.Rename(out.Name(), path)
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

func tarFiles(w io.Writer, files tree.Tree) error {
	archive := tar.NewWriter(w)
	for path, data := range files.All() {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: path, Mode: 0o644, Size: int64(len(data)), Format: tar.FormatPAX}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		if _, err := archive.Write(data); err != nil {
			return err
		}
	}
	return archive.Close()
}
