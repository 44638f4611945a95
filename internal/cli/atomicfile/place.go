// Package atomicfile puts files on disk, all at once or not at all.
//
// What the package keeps true: what was there is replaced as a whole or stays as it
// was, whenever the program is killed; nothing is replaced that Fairlead has not
// written, unless it is forced to; and nothing is written outside of the folder.
package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Refusal is an error with a hint.
type Refusal struct {
	error
	hint string
}

// Unwrap gives the error without the hint.
func (r *Refusal) Unwrap() error { return r.error }

// Hint says what to do about it.
func (r *Refusal) Hint() string { return r.hint }

// place makes path, a full one, what write makes, a file or a folder, all at once: it is written
// beside path, in a folder that tells whose it is, and then put in its place. If
// that fails, path is as it was. A program that is killed on the way leaves that
// folder behind (see [Leftovers]), and path as it was or as it should be, or, where
// folders cannot be exchanged, missing for an instant and the old one in that
// folder.
func place(path string, write func(fresh string) error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	beside, err := os.MkdirTemp(filepath.Dir(path), besidePrefix(path))
	if err != nil {
		return &Refusal{err, filepath.Dir(path) + " must be writable: what is new is written beside what it replaces"}
	}
	defer os.RemoveAll(beside)
	fresh := filepath.Join(beside, "new")
	if err := write(fresh); err != nil {
		return err
	}
	if err := put(fresh, path, filepath.Join(beside, "old")); err != nil {
		if errors.Is(err, syscall.EBUSY) {
			return &Refusal{err, path + " may be a mount point, which cannot be replaced: name a folder in it"}
		}
		return err
	}
	return nil
}

// besidePrefix is how the names of the folders that place makes begin.
func besidePrefix(path string) string { return "." + filepath.Base(path) + ".fairlead-" }

// Leftovers gives the folders that a program that was killed has left beside path.
func Leftovers(path string) []string {
	path, err := realPath(path)
	if err != nil {
		return nil
	}
	entries, _ := os.ReadDir(filepath.Dir(path))
	var left []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), besidePrefix(path)) {
			left = append(left, filepath.Join(filepath.Dir(path), e.Name()))
		}
	}
	return left
}

// put moves fresh to path. What was there goes away with fresh's folder: it takes
// the place of fresh, or goes to old.
func put(fresh, path, old string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return os.Rename(fresh, path)
	case err != nil:
		return err
	case !info.IsDir():
		return os.Rename(fresh, path)
	case exchange(fresh, path) == nil:
		return nil
	}
	return putAside(fresh, path, old)
}

// putAside is put for folders where the system cannot exchange two: between its
// two steps there is nothing at path.
func putAside(fresh, path, old string) error {
	if err := os.Rename(path, old); err != nil {
		return err
	}
	if err := os.Rename(fresh, path); err != nil {
		if back := os.Rename(old, path); back != nil {
			return fmt.Errorf("%w; %w", err, back)
		}
		return err
	}
	return nil
}
