package objects

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	gogit "github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/config"
)

// ErrNoRepository means that there is no repository, or none that may be read.
var ErrNoRepository = errors.New("no such repository")

// FindDir returns the folder with the data of the repository at path: path itself, .git in it, or
// the folder that the file .git names.
func FindDir(path string) (string, error) {
	dot := filepath.Join(path, ".git")
	info, err := os.Stat(dot)
	switch {
	case err == nil && info.IsDir():
		path = dot
	case err == nil:
		data, err := os.ReadFile(dot)
		if err != nil {
			return "", err
		}
		target, ok := strings.CutPrefix(strings.TrimSpace(string(data)), "gitdir: ")
		if !ok {
			return "", ErrNoRepository
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(path, target)
		}
		path = target
	}
	for _, part := range []string{"HEAD", "."} { // a file is not a repository, and neither is a folder without HEAD
		if _, err := os.Stat(filepath.Join(path, part)); err != nil {
			return "", ErrNoRepository
		}
	}
	return path, nil
}

// InitMirror makes an empty mirror of a URL in a temporary folder and renames it to dir.
func InitMirror(dir, url string) error {
	fresh, err := os.MkdirTemp(filepath.Dir(dir), ".mirror-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(fresh)
	r, err := gogit.PlainInit(fresh, true)
	if err != nil {
		return err
	}
	origin := &config.RemoteConfig{Name: "origin", URLs: []string{url}, Mirror: true, Fetch: []config.RefSpec{"+refs/heads/*:refs/heads/*"}}
	if _, err := r.CreateRemote(origin); err != nil {
		return err
	}
	return os.Rename(fresh, dir)
}
