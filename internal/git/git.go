// Package git reads and writes repositories without a work tree. Only this package and those below
// it import go-git.
//
// What the package keeps true:
//   - A [tree.Tree] has Git's own ids and loads content on demand.
//   - A mirror ([Remote]) is complete, or marked as partial and fetches what it lacks when read.
//     One process writes to it at a time. A damaged mirror is rebuilt.
//   - The id of a commit is a function of its content.
//   - A push names the old value of each reference and never moves one that has changed
//     ([ErrStale]).
//   - Arguments that begin with "-" are refused, and no error shows a password.
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
	// ErrNotFound means that the repository does not exist or must not be read.
	ErrNotFound = objects.ErrNoRepository
	// ErrAccess means that a server requires other credentials.
	ErrAccess = errors.New("access was refused")
	// ErrNoKey means that neither an SSH key nor an agent is available.
	ErrNoKey = fmt.Errorf("%w: over SSH, there is no key and no agent", ErrAccess)
	// ErrUnreachable means that a remote did not answer properly.
	ErrUnreachable = errors.New("the repository cannot be reached")
	// ErrNoRevision means that a branch, tag or commit does not exist.
	ErrNoRevision = errors.New("no such revision")
	// ErrStale means that a reference no longer has the old value of the push.
	ErrStale = errors.New("another process moved it")
	// ErrRefused means that a server rejected a push, for example by a hook.
	ErrRefused = errors.New("the server refused it")
)

// Repository reads a repository. It is safe for concurrent use.
type Repository struct {
	mu            sync.Mutex // go-git's object store is not safe for concurrent use
	store         *objects.Store
	location      string
	mirror        string // the mirror's folder; "" for a local repository
	folders       recent.Map[tree.ID, countedTree]
	updates       int
	tagsUsed      bool
	filter        string
	filterRefused bool

	damaged atomic.Bool
}

func (r *Repository) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.store.Close()
}

const rotateAfter = 128

// markDamaged marks the mirror as damaged, also on disk for programs that end after each round, and
// returns err as [ErrDamaged]. It returns errors of fetching unchanged.
func (r *Repository) markDamaged(err error) error {
	if isClassified(err) {
		return err
	}
	if r.damaged.CompareAndSwap(false, true) && r.mirror != "" {
		_ = os.WriteFile(filepath.Join(r.mirror, damagedFile), nil, 0o600) // may fail on a bad disk
	}
	return fmt.Errorf("%w: %w", ErrDamaged, err)
}

// InvalidTreeError is the error of a tree with invalid names, such as "..". Retrying does not help.
type InvalidTreeError = objects.InvalidTreeError

const damagedFile = "fairlead-damaged"

// Open opens a local repository: bare, with a work tree, or a linked work tree.
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

// IsWorkingClone reports whether a location is a local repository with a work tree. Git refuses
// pushes to its checked-out branch.
func IsWorkingClone(location string) bool {
	if giturl.IsRemote(location) {
		return false
	}
	_, err := os.Stat(filepath.Join(giturl.LocalPath(location), ".git"))
	return err == nil
}

// FindRepository opens the repository that contains a local folder.
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

func openMirror(dir, shown string) (*Repository, error) {
	r, err := openDir(dir)
	if err != nil {
		return nil, err
	}
	r.location, r.mirror = shown, dir
	return r, r.store.OpenPacks(dir)
}

// Location returns the repository's path, or the redacted URL of a mirror's remote.
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

// RemoteURL returns the URL of a named remote, or "".
func (r *Repository) RemoteURL(name string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	settings, err := r.store.Config()
	if err != nil || settings.Remotes[name] == nil || len(settings.Remotes[name].URLs) == 0 {
		return ""
	}
	return settings.Remotes[name].URLs[0]
}

// DefaultBranch returns the branch of HEAD, or "" if HEAD is detached.
func (r *Repository) DefaultBranch() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	head, err := r.store.Reference(plumbing.HEAD)
	if err != nil || head.Type() != plumbing.SymbolicReference {
		return ""
	}
	return head.Target().Short()
}
