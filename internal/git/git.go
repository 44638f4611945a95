// Package git reads repositories: which commit a revision is, and which files a
// commit holds. It is the one place that knows go-git.
//
// What the package keeps true:
//   - There is never a work tree: files are read from the object store.
//   - A [tree.Tree] that it gives has Git's own ids, and content only where it was
//     asked for ([Repository.Load]), so that a repository with large files costs
//     what is read of it.
//   - A remote is read through a bare mirror in a cache folder. A mirror appears
//     complete or not at all, and only one process fetches into it at a time.
//   - No argument that begins with "-" is taken, and no error shows a password.
package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	gogit "github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/config"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/transport"
	"github.com/go-git/go-git/v5/plumbing/transport/http"
	"github.com/rogpeppe/go-internal/lockedfile"

	"github.com/fairlead-io/fairlead/internal/tree"
)

var (
	// ErrNotFound says that there is no repository, or none that may be read.
	ErrNotFound = errors.New("no such repository")
	// ErrUnreachable says that a remote did not answer as it should.
	ErrUnreachable = errors.New("the repository cannot be read")
	// ErrNoRevision says that a repository has no such branch, tag or commit.
	ErrNoRevision = errors.New("no such revision")
)

// Repository is a repository that can be read. It may be used concurrently.
type Repository struct {
	mu       sync.Mutex // go-git's object store is not safe for concurrent use
	git      *gogit.Repository
	location string // for errors; without a password
}

// Token is what a remote is told to prove who asks. The zero Token is nobody.
type Token struct{ Username, Secret string }

// Open opens the local repository at path, bare or with a work tree.
func Open(path string) (*Repository, error) {
	return open(path, &gogit.PlainOpenOptions{EnableDotGitCommonDir: true})
}

// Find opens the repository that a folder of this machine is in: the folder itself,
// or one above it.
func Find(path string) (*Repository, error) {
	r, err := Open(path)
	if !errors.Is(err, ErrNotFound) {
		return r, err
	}
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("open %s: %w", path, ErrNotFound)
	}
	return open(path, &gogit.PlainOpenOptions{DetectDotGit: true, EnableDotGitCommonDir: true})
}

func open(path string, options *gogit.PlainOpenOptions) (*Repository, error) {
	if strings.HasPrefix(path, "-") {
		return nil, fmt.Errorf("open %s: a path cannot begin with -", path)
	}
	r, err := gogit.PlainOpenWithOptions(path, options)
	if errors.Is(err, gogit.ErrRepositoryNotExists) {
		return nil, fmt.Errorf("open %s: %w", path, ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	return &Repository{git: r, location: path}, nil
}

// Mirror makes dir hold all branches and tags of the remote at url, and opens it.
func Mirror(ctx context.Context, url, dir string, token Token) (*Repository, error) {
	shown := Redact(url)
	url, token = withoutUser(url, token)
	if strings.HasPrefix(url, "-") {
		return nil, fmt.Errorf("fetch %s: a URL cannot begin with -", shown)
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return nil, err
	}
	unlock, err := lockedfile.MutexAt(dir + ".lock").Lock()
	if err != nil {
		return nil, fmt.Errorf("lock the mirror of %s: %w", shown, err)
	}
	defer unlock()
	if err := initMirror(dir, url); err != nil {
		return nil, fmt.Errorf("make the mirror of %s: %w", shown, err)
	}
	r, err := Open(dir)
	if err != nil {
		return nil, err
	}
	r.location = shown
	if err := r.fetch(ctx, token); err != nil {
		if !errors.Is(err, ErrNotFound) {
			err = fmt.Errorf("%w: %w", ErrUnreachable, err)
		}
		return nil, fmt.Errorf("fetch %s: %w", shown, err)
	}
	return r, nil
}

// initMirror makes an empty bare repository at dir if there is none. It is made
// beside it and renamed, so that it is never there in part.
func initMirror(dir, url string) error {
	if _, err := os.Stat(dir); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	fresh, err := os.MkdirTemp(filepath.Dir(dir), ".mirror-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(fresh)
	r, err := gogit.PlainInit(fresh, true)
	if err != nil {
		return err
	}
	remote := &config.RemoteConfig{Name: "origin", URLs: []string{url}, Mirror: true, Fetch: []config.RefSpec{"+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"}}
	if _, err := r.CreateRemote(remote); err != nil {
		return err
	}
	return os.Rename(fresh, dir)
}

func (r *Repository) fetch(ctx context.Context, token Token) error {
	options := &gogit.FetchOptions{Prune: true, Tags: gogit.NoTags, Force: true}
	if token.Secret != "" {
		options.Auth = &http.BasicAuth{Username: token.Username, Password: token.Secret}
	}
	err := r.git.FetchContext(ctx, options)
	switch {
	case errors.Is(err, gogit.NoErrAlreadyUpToDate):
		return nil
	case errors.Is(err, transport.ErrRepositoryNotFound), errors.Is(err, transport.ErrAuthenticationRequired),
		errors.Is(err, transport.ErrAuthorizationFailed), errors.Is(err, transport.ErrEmptyRemoteRepository):
		return fmt.Errorf("%w (%v)", ErrNotFound, err)
	}
	return err
}

// Resolve gives the id of the commit that a revision names: an id, a branch, a
// tag, a full reference, with ~n and ^n. A branch that only the remote origin has
// is found too, as in a fresh clone.
func (r *Repository) Resolve(revision string) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if strings.HasPrefix(revision, "-") || strings.Contains(revision, ":") || revision == "" {
		return "", fmt.Errorf("%q: %w", revision, ErrNoRevision)
	}
	for _, name := range []string{revision, "refs/remotes/origin/" + revision} {
		hash, err := r.git.ResolveRevision(plumbing.Revision(name))
		if err != nil {
			continue
		}
		if commit, err := r.git.CommitObject(*hash); err == nil {
			return commit.Hash.String(), nil
		}
	}
	return "", fmt.Errorf("%s in %s: %w", revision, r.location, ErrNoRevision)
}

// DefaultBranch gives the branch that is checked out, or that a bare repository's
// HEAD points to; "" if there is none.
func (r *Repository) DefaultBranch() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	head, err := r.git.Reference(plumbing.HEAD, false)
	if err != nil || head.Type() != plumbing.SymbolicReference {
		return ""
	}
	return head.Target().Short()
}

// Remotes gives the URLs of all remotes, sorted.
func (r *Repository) Remotes() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	remotes, err := r.git.Remotes()
	if err != nil {
		return nil
	}
	var urls []string
	for _, remote := range remotes {
		urls = append(urls, remote.Config().URLs...)
	}
	slices.Sort(urls)
	return urls
}

// Tree gives the files of a commit, without their content.
func (r *Repository) Tree(commit string) (tree.Tree, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c, err := r.git.CommitObject(plumbing.NewHash(commit))
	if err != nil {
		return tree.Tree{}, fmt.Errorf("read commit %s of %s: %w", commit, r.location, err)
	}
	t, _, err := r.tree(c.TreeHash, map[plumbing.Hash]counted{})
	if err != nil {
		return tree.Tree{}, fmt.Errorf("read the files of commit %s of %s: %w", commit, r.location, err)
	}
	return t, nil
}

// counted is a tree that was read, with the number of its files.
type counted struct {
	tree  tree.Tree
	files int
}

// maxFiles bounds a commit: folders that hold the same folder again and again make
// a hundred million files of ten objects.
const maxFiles = 2_000_000

// tree reads a tree, each of its folders once.
func (r *Repository) tree(id plumbing.Hash, known map[plumbing.Hash]counted) (tree.Tree, int, error) {
	if k, ok := known[id]; ok {
		return k.tree, k.files, nil
	}
	t, err := r.git.TreeObject(id)
	if err != nil {
		return tree.Tree{}, 0, err
	}
	entries, names, files := make([]tree.Entry, 0, len(t.Entries)), map[string]bool{}, 0
	for _, e := range t.Entries {
		if err := tree.CheckPath(e.Name); err != nil {
			return tree.Tree{}, 0, err
		}
		if names[e.Name] {
			return tree.Tree{}, 0, fmt.Errorf("a folder has two entries named %q", e.Name)
		}
		names[e.Name] = true
		entry, n := tree.Entry{Name: e.Name, Mode: tree.Mode(e.Mode), ID: tree.ID(e.Hash)}, 1
		if entry.IsDir() {
			var sub tree.Tree
			if sub, n, err = r.tree(e.Hash, known); err != nil {
				return tree.Tree{}, 0, err
			}
			entry = tree.Dir(e.Name, sub)
		}
		if files += n; files > maxFiles {
			return tree.Tree{}, 0, fmt.Errorf("there are more than %d files", maxFiles)
		}
		entries = append(entries, entry)
	}
	read := tree.FromEntries(entries)
	known[id] = counted{read, files}
	return read, files, nil
}

// Load gives the same tree with the content of the files for which want says so;
// size is in bytes.
func (r *Repository) Load(t tree.Tree, want func(path string, size int64) bool) (tree.Tree, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	loaded, err := r.load("", t, want)
	if err != nil {
		return tree.Tree{}, fmt.Errorf("read %s: %w", r.location, err)
	}
	return loaded, nil
}

func (r *Repository) load(prefix string, t tree.Tree, want func(string, int64) bool) (tree.Tree, error) {
	entries := slices.Clone(t.Entries())
	for i := range entries {
		e := &entries[i]
		if e.IsDir() {
			sub, err := r.load(prefix+e.Name+"/", e.Tree(), want)
			if err != nil {
				return tree.Tree{}, err
			}
			*e = tree.Dir(e.Name, sub)
			continue
		}
		if e.Mode == tree.ModeSubmodule {
			continue
		}
		blob, err := r.git.BlobObject(plumbing.Hash(e.ID))
		if err != nil {
			return tree.Tree{}, fmt.Errorf("%s%s: %w", prefix, e.Name, err)
		}
		if !want(prefix+e.Name, blob.Size) {
			continue
		}
		if e.Data, err = content(blob); err != nil {
			return tree.Tree{}, fmt.Errorf("%s%s: %w", prefix, e.Name, err)
		}
	}
	return tree.FromEntries(entries), nil
}

func content(blob *object.Blob) (data []byte, err error) {
	in, err := blob.Reader()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	return io.ReadAll(in)
}
