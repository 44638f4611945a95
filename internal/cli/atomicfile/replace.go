// Package atomicfile writes a folder or a file completely or not at all.
//
// What the package keeps true: the old content is replaced as a whole or stays as it was,
// whenever the program is killed; only what Fairlead has written is replaced, unless it is
// forced; and nothing is written outside of the folder.
package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/fairlead-io/fairlead/internal/base/problem"
)

// replacePath replaces the file or folder at path, an absolute one, with what write creates: in a
// folder beside path, whose name shows its purpose, and then moved to path in one step. If
// that fails, path is unchanged. A program that is killed leaves the folder behind (see
// [FindLeftovers]), and path old or new; where the system cannot exchange folders, path may
// also be missing, with the old one in that folder.
func replacePath(path string, write func(fresh string) (int, error)) (int, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return 0, err
	}
	beside, err := os.MkdirTemp(filepath.Dir(path), siblingPrefix(path))
	if err != nil {
		return 0, problem.WithHint(err, filepath.Dir(path)+" must be writable: what is new is written beside what it replaces")
	}
	defer os.RemoveAll(beside)
	fresh := filepath.Join(beside, "new")
	count, err := write(fresh)
	if err != nil {
		return count, err
	}
	err = moveIntoPlace(fresh, path, filepath.Join(beside, "old"))
	if errors.Is(err, syscall.EBUSY) {
		err = problem.WithHint(err, path+" may be a mount point, which cannot be replaced: name a folder in it")
	}
	return count, err
}

func siblingPrefix(path string) string { return "." + filepath.Base(path) + ".fairlead-" }

// FindLeftovers returns the folders that killed programs have left beside path.
func FindLeftovers(path string) []string {
	path, err := resolvePath(path)
	if err != nil {
		return nil
	}
	entries, _ := os.ReadDir(filepath.Dir(path))
	var left []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), siblingPrefix(path)) {
			left = append(left, filepath.Join(filepath.Dir(path), e.Name()))
		}
	}
	return left
}

// moveIntoPlace moves fresh to path. What was at path ends up at fresh or at old, which the caller
// removes.
func moveIntoPlace(fresh, path, old string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && !info.IsDir():
		return os.Rename(fresh, path)
	case err != nil:
		return err
	case exchangeFolders(fresh, path) == nil:
		return nil
	}
	return moveAside(fresh, path, old)
}

// moveAside is moveIntoPlace where the system cannot exchange two folders: between its two steps
// nothing is at path.
func moveAside(fresh, path, old string) error {
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
