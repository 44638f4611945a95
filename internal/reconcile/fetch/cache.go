package fetch

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

var sha256Hex = regexp.MustCompile(`^[0-9a-f]{64}$`)

func (f *Fetcher) cachePath(digest string) string {
	digest = strings.TrimPrefix(digest, "sha256:")
	if !sha256Hex.MatchString(digest) {
		return ""
	}
	return filepath.Join(f.options.Dir, "sha256", digest)
}

// cached returns the content with a digest; nil if it is unknown.
func (f *Fetcher) cached(digest string) []byte {
	file := f.cachePath(digest)
	if file == "" {
		return nil
	}
	data, err := os.ReadFile(file)
	if err != nil || digestOf(data) != filepath.Base(file) {
		return nil
	}
	return data
}

// cache stores content, and fails if it has another digest. A disk without room does no harm.
func (f *Fetcher) cache(digest string, data []byte) error {
	file := f.cachePath(digest)
	if file == "" {
		return nil
	}
	if digestOf(data) != filepath.Base(file) {
		return errDigest
	}
	if os.MkdirAll(filepath.Dir(file), 0o700) != nil {
		return nil
	}
	temporary, err := os.CreateTemp(filepath.Dir(file), "new-")
	if err != nil {
		return nil
	}
	defer os.Remove(temporary.Name())
	_, err = temporary.Write(data)
	if temporary.Close() == nil && err == nil {
		_ = os.Rename(temporary.Name(), file)
	}
	return nil
}

func folderSize(dir string) (size int64) {
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil // it is gone, or never was
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			size += info.Size()
		}
		return nil
	})
	return size
}
