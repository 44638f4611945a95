// Package git reads and writes repositories: which commit a revision is, which
// files a commit holds, and what a branch of a remote should become. It is the one
// place that knows go-git.
//
// What the package keeps true:
//   - There is never a work tree: files are read from the object store, and commits
//     are written as packs.
//   - A [tree.Tree] that it gives has Git's own ids, and content only where it is
//     asked for, so that a repository with large files costs what is read of it.
//   - A remote is read through a bare mirror ([Remote]). A mirror appears complete
//     or not at all, only one process writes into it at a time, and one that is
//     damaged is made anew.
//   - The id of a commit is a function of what is written into it.
//   - A push says what it replaces; a reference that somebody else moved is left
//     alone ([ErrStale]).
//   - No argument that begins with "-" is taken, and no error shows a password.
package git

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/go-git/go-git/v5/storage/filesystem/dotgit"

	"github.com/fairlead-io/fairlead/internal/tree"
)

var (
	// ErrNotFound says that there is no repository, or none that may be read.
	ErrNotFound = errors.New("no such repository")
	// ErrAccess says that a server wants other credentials, or any.
	ErrAccess = errors.New("access was refused")
	// ErrUnreachable says that a remote did not answer as it should.
	ErrUnreachable = errors.New("the repository cannot be reached")
	// ErrNoRevision says that a repository has no such branch, tag or commit.
	ErrNoRevision = errors.New("no such revision")
	// ErrStale says that a reference is not what the push was to replace.
	ErrStale = errors.New("somebody else moved it")
	// ErrRefused says that a server did not take a push: a protected branch, a hook.
	ErrRefused = errors.New("the server refused it")
)

// Repository is a repository that can be read. It may be used concurrently.
type Repository struct {
	mu       sync.Mutex // go-git's object store is not safe for concurrent use
	store    *filesystem.Storage
	location string // for errors; without a password
	mirror   string // its folder, if it is a mirror
	folders  map[tree.ID]counted
	// listed has the entries of folders by id, without contents; listedNames is their
	// number in all.
	listed      map[tree.ID][]tree.Entry
	listedNames int

	damaged atomic.Bool // something that must be there could not be read
}

// broken says that an object could not be read that must be there.
// A mirror is marked on disk too, for a program that ends after each round.
func (r *Repository) broken(err error) error {
	if r.damaged.CompareAndSwap(false, true) && r.mirror != "" {
		_ = os.WriteFile(filepath.Join(r.mirror, damagedFile), nil, 0o600) // on a disk that is that bad, the mark may be lost
	}
	return fmt.Errorf("%w: %w", ErrDamaged, err)
}

// damagedFile marks a mirror that is to be made anew.
const damagedFile = "fairlead-damaged"

const (
	// objectCache bounds the memory for objects that deltas are made against.
	objectCache = 4 * cache.MiByte
	// openPacks is how many packs of a repository are kept open.
	openPacks = 8
)

// Open opens the local repository at path: a bare one, one with a work tree, or a
// linked work tree.
func Open(path string) (*Repository, error) {
	if strings.HasPrefix(path, "-") {
		return nil, fmt.Errorf("open %s: a path cannot begin with -", path)
	}
	dir, err := gitDir(path)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	r, err := openDir(dir)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	r.location = path
	return r, nil
}

// Find opens the repository that a folder of this machine is in: the folder itself,
// or one above it.
func Find(path string) (*Repository, error) {
	r, err := Open(path)
	if !errors.Is(err, ErrNotFound) {
		return r, err
	}
	folder, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(folder); err != nil {
		return nil, fmt.Errorf("open %s: %w", path, ErrNotFound)
	}
	for parent := filepath.Dir(folder); parent != folder; folder, parent = parent, filepath.Dir(parent) {
		if r, err := Open(parent); !errors.Is(err, ErrNotFound) {
			return r, err
		}
	}
	return nil, fmt.Errorf("open %s: %w", path, ErrNotFound)
}

// gitDir finds the folder that has a repository's data.
func gitDir(path string) (string, error) {
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
			return "", ErrNotFound
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(path, target)
		}
		path = target
	}
	for _, part := range []string{"HEAD", "."} { // a file is not a repository, and neither is a folder without HEAD
		if _, err := os.Stat(filepath.Join(path, part)); err != nil {
			return "", ErrNotFound
		}
	}
	return path, nil
}

// openDir opens the data folder of a repository. It does not go through go-git's
// own Open, which refuses extensions that do not matter to a reader, such as that of
// sparse checkouts.
func openDir(dir string) (*Repository, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(dir, "commondir")); err != nil {
		if _, err := os.Stat(filepath.Join(dir, "objects")); errors.Is(err, fs.ErrNotExist) {
			return nil, ErrNotFound
		}
	}
	files := osfs.New(dir)
	if data, err := os.ReadFile(filepath.Join(dir, "commondir")); err == nil {
		shared := strings.TrimSpace(string(data))
		if !filepath.IsAbs(shared) {
			shared = filepath.Join(dir, shared)
		}
		files = dotgit.NewRepositoryFilesystem(files, osfs.New(shared))
	}
	store := filesystem.NewStorageWithOptions(files, cache.NewObjectLRU(objectCache), filesystem.Options{AlternatesFS: osfs.New("/"), MaxOpenDescriptors: openPacks})
	if err := checkFormat(store); err != nil {
		return nil, err
	}
	return &Repository{store: store, location: dir, folders: map[tree.ID]counted{}}, nil
}

// reopen has the list of packs read again. The caller has the lock.
func (r *Repository) reopen() error {
	err := r.store.ObjectStorage.Close() // packs that are kept open may be gone
	r.store.Reindex()
	return err
}

// checkFormat refuses the two extensions that change what a reader finds.
func checkFormat(store *filesystem.Storage) error {
	settings, err := store.Config()
	if err != nil {
		return fmt.Errorf("read its settings: %w", err)
	}
	for _, o := range settings.Raw.Section("extensions").Options {
		key, value := strings.ToLower(o.Key), strings.ToLower(o.Value)
		if key == "objectformat" && value != "sha1" || key == "refstorage" && value != "files" {
			return fmt.Errorf("repositories with extensions.%s = %s cannot be read", o.Key, o.Value)
		}
	}
	return nil
}

// Remotes gives the URLs of all remotes, sorted.
func (r *Repository) Remotes() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	settings, err := r.store.Config()
	if err != nil {
		return nil
	}
	var urls []string
	for _, remote := range settings.Remotes {
		urls = append(urls, remote.URLs...)
	}
	slices.Sort(urls)
	return urls
}

// RemoteURL gives the URL of a remote by its name; "" if there is none.
func (r *Repository) RemoteURL(name string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	settings, err := r.store.Config()
	if err != nil || settings.Remotes[name] == nil || len(settings.Remotes[name].URLs) == 0 {
		return ""
	}
	return settings.Remotes[name].URLs[0]
}

// DefaultBranch gives the branch that is checked out, or that a bare repository's
// HEAD points to; "" if there is none.
func (r *Repository) DefaultBranch() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	head, err := r.store.Reference(plumbing.HEAD)
	if err != nil || head.Type() != plumbing.SymbolicReference {
		return ""
	}
	return head.Target().Short()
}
