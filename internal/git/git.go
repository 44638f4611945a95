// Package git reads and writes repositories without a work tree: it resolves revisions, reads
// the files of commits, keeps mirrors of remotes, and pushes commits. Only it and the packages
// below it import go-git.
//
// What the package keeps true:
//   - There is never a work tree: files are read from the object store, and commits
//     are written as packs.
//   - A [tree.Tree] that it returns has Git's own ids, and content only on request, so that a
//     repository with large files costs only what is read of it.
//   - A remote is read through a bare mirror ([Remote]). A mirror appears complete or not at
//     all, or is marked as partial and fetches what it lacks when that is read; only one
//     process writes into it at a time; a damaged one is made anew.
//   - The id of a commit is a function of its content.
//   - A push names the old value of each reference; a reference that has moved since is not
//     changed ([ErrStale]).
//   - It refuses arguments that begin with "-", and no error shows a password.
package git

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/fairlead-io/fairlead/internal/base/recent"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/git/objects"
)

var (
	// ErrNotFound means that there is no repository, or none that may be read.
	ErrNotFound = objects.ErrNoRepository
	// ErrAccess means that a server requires credentials, or other ones.
	ErrAccess = errors.New("access was refused")
	// ErrNoKey means that a server is to be reached over SSH, and no key was named and no agent runs.
	ErrNoKey = fmt.Errorf("%w: over SSH, there is no key and no agent", ErrAccess)
	// ErrUnreachable means that a remote did not answer as it should.
	ErrUnreachable = errors.New("the repository cannot be reached")
	// ErrNoRevision means that a repository has no such branch, tag or commit.
	ErrNoRevision = errors.New("no such revision")
	// ErrStale means that a reference does not have the value that the push was to replace.
	ErrStale = errors.New("another process moved it")
	// ErrRefused means that a server rejected a push: a protected branch, a hook.
	ErrRefused = errors.New("the server refused it")
)

// Repository is a repository that can be read. It may be used concurrently.
type Repository struct {
	mu            sync.Mutex // go-git's object store is not safe for concurrent use
	store         *objects.Store
	location      string // for errors; without a password
	mirror        string // its folder, if it is a mirror
	folders       recent.Map[tree.ID, countedTree]
	updates       int    // of references, so far
	tagsUsed      bool   // a caller looked for a tag
	filter        string // of a partial mirror; see package partial
	filterRefused bool   // the server no longer accepts the filter

	damaged atomic.Bool // an object that must exist could not be read
}

func (r *Repository) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.store.Close()
}

// rotateAfter is the number of updates of references after which the caches drop what was not
// used since.
const rotateAfter = 128

// markDamaged returns err as [ErrDamaged]: an object that must exist could not be read. It marks the
// mirror as damaged, also on disk, for programs that end after each round. An error of fetching
// the object is returned as it is.
func (r *Repository) markDamaged(err error) error {
	if isClassified(err) { // fetching it failed
		return err
	}
	if r.damaged.CompareAndSwap(false, true) && r.mirror != "" {
		_ = os.WriteFile(filepath.Join(r.mirror, damagedFile), nil, 0o600) // on a disk that is that bad, the mark may be lost
	}
	return fmt.Errorf("%w: %w", ErrDamaged, err)
}

// InvalidTreeError is the error for a tree with a file named "..", or with another name that Git does
// not write. A retry does not help: the commit is so.
type InvalidTreeError = objects.InvalidTreeError

// damagedFile marks a mirror that must be made anew.
const damagedFile = "fairlead-damaged"

// Open opens the local repository at path: a bare one, one with a work tree, or a
// linked work tree.
func Open(path string) (*Repository, error) {
	if strings.HasPrefix(path, "-") {
		return nil, fmt.Errorf("open %s: a path cannot begin with -", path)
	}
	dir, err := objects.FindDir(path)
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

// IsWorkingClone reports whether a location is a repository of this machine with a work tree: Git refuses pushes to the
// branch that is checked out there, and who reads the repository that it was cloned from does not get the others.
func IsWorkingClone(location string) bool {
	if giturl.IsRemote(location) {
		return false
	}
	_, err := os.Stat(filepath.Join(giturl.LocalPath(location), ".git"))
	return err == nil
}

// FindRepository opens the repository that contains a folder of this machine: the folder itself or one
// above it.
func FindRepository(path string) (*Repository, error) {
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

func openDir(dir string) (*Repository, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	store, err := objects.Open(dir)
	if err != nil {
		return nil, err
	}
	return &Repository{store: store, location: dir}, nil
}

// openMirror opens the mirror in a folder; shown is the URL of the remote.
func openMirror(dir, shown string) (*Repository, error) {
	r, err := openDir(dir)
	if err != nil {
		return nil, err
	}
	r.location, r.mirror = shown, dir
	return r, r.store.OpenPacks(dir)
}

// Location returns the path that the repository was opened at; of a mirror, the URL of the
// remote without a password.
func (r *Repository) Location() string { return r.location }

// Remotes returns the URLs of all remotes, sorted.
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

// RemoteURL returns the URL of a remote by its name; "" if there is none.
func (r *Repository) RemoteURL(name string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	settings, err := r.store.Config()
	if err != nil || settings.Remotes[name] == nil || len(settings.Remotes[name].URLs) == 0 {
		return ""
	}
	return settings.Remotes[name].URLs[0]
}

// DefaultBranch returns the branch that is checked out, or that a bare repository's
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
