package atomicfile

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
)

// Mark is a file that marks a folder as written by Fairlead, which may replace it.
type Mark struct {
	Path string
	Text []byte
}

// WriteFolder replaces dir with the files and the mark, and returns the number of files. With
// force it replaces a folder without the mark.
func WriteFolder(ctx context.Context, dir string, files tree.Tree, mark Mark, force bool) (int, error) {
	dir, err := resolvePath(dir)
	if err != nil {
		return 0, err
	}
	if err := checkReplaceable(dir, mark, force); err != nil {
		return 0, err
	}
	return replacePath(dir, func(fresh string) (int, error) { return writeFiles(ctx, fresh, files, mark) })
}

// resolvePath returns the absolute path with symbolic links resolved, so that their target is
// replaced. For what does not exist it returns the absolute path.
func resolvePath(path string) (string, error) {
	full, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(full)
	if errors.Is(err, fs.ErrNotExist) {
		return full, nil
	}
	return real, err
}

// checkReplaceable returns an error for a folder with content that render has not written, and for
// the current folder.
func checkReplaceable(dir string, mark Mark, force bool) error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.IsDir():
		return problem.Refusef("files are written to .tar, .tar.gz or .tgz only; standard output can be redirected", "%s is not a folder", dir)
	case containsWorkingFolder(dir):
		return problem.Refusef("render into a folder below it, as -o out", "%s is the current folder, or holds it, and render replaces a folder as a whole", dir)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) == 0 {
		return err
	}
	if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
		return problem.Refusef("render into a folder of it, or beside it", "%s is a Git repository, and render replaces a folder as a whole", dir)
	}
	if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(mark.Path))); err == nil || force {
		return nil
	}
	return problem.Refusef("choose another folder, or say --force to replace all that is in it", "%s is not empty, and render has not written it", dir)
}

func containsWorkingFolder(dir string) bool {
	here, err := os.Getwd()
	if err != nil {
		return false
	}
	if real, err := filepath.EvalSymlinks(here); err == nil {
		here = real
	}
	rel, err := filepath.Rel(dir, here)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

func writeFiles(ctx context.Context, dir string, files tree.Tree, mark Mark) (int, error) {
	if err := os.Mkdir(dir, 0o777); err != nil {
		return 0, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return 0, err
	}
	defer root.Close()
	count, made := 0, ""
	write := func(file string, data []byte) error {
		if folder := path.Dir(file); folder != made { // files come sorted: most are in the folder of the last
			if err := root.MkdirAll(folder, 0o777); err != nil {
				return err
			}
			made = folder
		}
		return errors.Join(root.WriteFile(file, data, 0o666), ctx.Err())
	}
	for file, data := range files.All() {
		if err := write(file, data); err != nil {
			return 0, err
		}
		count++
	}
	return count, write(mark.Path, mark.Text)
}

// WriteFile replaces the content of the file at path, which keeps its permissions.
func WriteFile(path string, data []byte) error {
	path, err := resolvePath(path)
	if err != nil {
		return err
	}
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	_, err = replacePath(path, func(fresh string) (int, error) {
		return 1, errors.Join(os.WriteFile(fresh, data, mode), os.Chmod(fresh, mode))
	})
	return err
}

// IsTar reports whether a path is that of a tar file, by its ending.
func IsTar(path string) bool {
	return strings.HasSuffix(path, ".tar") || isGzip(path)
}

func isGzip(path string) bool {
	return strings.HasSuffix(path, ".tar.gz") || strings.HasSuffix(path, ".tgz")
}

// WriteTar replaces the file at path with a tar of the files, and returns their number.
func WriteTar(ctx context.Context, path string, files tree.Tree) (int, error) {
	path, err := resolvePath(path)
	if err != nil {
		return 0, err
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return 0, problem.Refusef("choose another name for the tar file, or for the folder", "%s is a folder", path)
	}
	return replacePath(path, func(fresh string) (int, error) { return writeTarFile(ctx, fresh, files, isGzip(path)) })
}

func writeTarFile(ctx context.Context, path string, files tree.Tree, zip bool) (int, error) {
	out, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	defer out.Close()
	buffer := bufio.NewWriter(out)
	if !zip {
		count, err := writeTarEntries(ctx, buffer, files)
		return count, errors.Join(err, buffer.Flush(), out.Close())
	}
	zipped := gzip.NewWriter(buffer)
	count, err := writeTarEntries(ctx, zipped, files)
	return count, errors.Join(err, zipped.Close(), buffer.Flush(), out.Close())
}

// writeTarEntries writes a tar without times and owners, so that equal files make equal bytes.
func writeTarEntries(ctx context.Context, w io.Writer, files tree.Tree) (int, error) {
	archive := tar.NewWriter(w)
	count := 0
	for path, data := range files.All() {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: path, Mode: 0o644, Size: int64(len(data)), Format: tar.FormatPAX}
		if err := archive.WriteHeader(header); err != nil {
			return 0, err
		}
		if _, err := archive.Write(data); err != nil {
			return 0, err
		}
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		count++
	}
	return count, archive.Close()
}
