package git

import (
	"errors"
	"fmt"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/git/objects"
	"github.com/fairlead-io/fairlead/internal/git/pack"
)

// ReadTree returns a commit's tree without file contents.
func (r *Repository) ReadTree(commit string) (tree.Tree, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c, err := object.GetCommit(r.store, plumbing.NewHash(commit))
	if err != nil {
		return tree.Tree{}, fmt.Errorf("read commit %s of %s: %w", commit, r.location, r.markDamaged(err))
	}
	if r.folders.Len() > maxFolders {
		r.folders.Rotate()
	}
	t, _, err := r.readTree(c.TreeHash)
	if err != nil {
		return tree.Tree{}, fmt.Errorf("read the files of commit %s of %s: %w", commit, r.location, err)
	}
	return t, nil
}

type countedTree struct {
	tree  tree.Tree
	files int
}

const (
	// maxFiles bounds a commit: ten nested tree objects can describe a hundred million files.
	maxFiles   = 2_000_000
	maxFolders = 4_000
)

// readTree also returns the number of files. It reads each distinct folder once.
func (r *Repository) readTree(id plumbing.Hash) (tree.Tree, int, error) {
	if known, ok := r.folders.Find(tree.ID(id)); ok {
		return known.tree, known.files, nil
	}
	f, err := r.readFolder(tree.ID(id))
	if err != nil {
		return tree.Tree{}, 0, err
	}
	entries, files := f.Entries(nil), 0
	for i, e := range entries {
		n := 1
		if e.IsDir() {
			var sub tree.Tree
			sub, n, err = r.readTree(plumbing.Hash(e.ID))
			if err != nil {
				return tree.Tree{}, 0, err
			}
			entries[i] = tree.Dir(e.Name, sub)
		}
		files += n
		if files > maxFiles {
			return tree.Tree{}, 0, fmt.Errorf("there are more than %d files", maxFiles)
		}
	}
	var stored tree.Tree
	if f.Canonical {
		stored = tree.FromText(tree.ID(id), f.Text, nil)
	}
	read := stored.WithEntries(entries)
	r.folders.Put(tree.ID(id), countedTree{read, files})
	return read, files, nil
}

func (r *Repository) readFolder(id tree.ID) (objects.Folder, error) {
	f, err := r.store.ReadFolder(id)
	var refused *objects.InvalidTreeError
	if err != nil && !errors.As(err, &refused) {
		err = r.markDamaged(err)
	}
	return f, err
}

func (r *Repository) readDeltaBase(id tree.ID) (pack.Kind, []byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f, err := r.readFolder(id)
	return pack.Tree, []byte(f.Text), err
}

// ReadFiles is ReadTree and [Repository.LoadFiles].
func (r *Repository) ReadFiles(commit string, want func(path string, size int64) bool) (tree.Tree, error) {
	t, err := r.ReadTree(commit)
	if err != nil {
		return tree.Tree{}, err
	}
	return r.LoadFiles(t, tree.Tree{}, want)
}

// LoadFiles returns t with the content of files that want accepts, first with size 0 and then with
// the size in bytes. It reuses content of before, a tree loaded with the same want.
func (r *Repository) LoadFiles(t, before tree.Tree, want func(path string, size int64) bool) (tree.Tree, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := loader{r, want, map[tree.ID][]byte{}}
	loaded, err := l.loadTree("", t, before)
	if err != nil {
		return tree.Tree{}, fmt.Errorf("read %s: %w", r.location, err)
	}
	return loaded, nil
}

// loader shares content between equal files: a tree may repeat one large file under many names.
type loader struct {
	repo *Repository
	want func(path string, size int64) bool
	read map[tree.ID][]byte
}

// loadTree returns before if the trees are equal, and t itself if it loads nothing.
func (l *loader) loadTree(prefix string, t, before tree.Tree) (tree.Tree, error) {
	if tree.Equal(t, before) {
		return before, nil
	}
	entries := make([]tree.Entry, 0, t.Len())
	same := true
	for e, old := range tree.Zip(t, before) {
		if e.Name == "" {
			continue
		}
		var err error
		path, sub := prefix+e.Name, e.Tree()
		switch {
		case e.IsDir():
			sub, err = l.loadTree(path+"/", sub, old.Tree())
			same = same && sub == e.Tree()
			e = tree.Dir(e.Name, sub)
		case e.Mode == tree.ModeSubmodule || !l.want(path, 0):
		case old.Data != nil && old.ID == e.ID:
			e.Data, same = old.Data, false
		default:
			var data []byte
			data, err = l.readFile(path, e.ID)
			if data != nil {
				e.Data, same = data, false
			}
		}
		if err != nil {
			return tree.Tree{}, err
		}
		entries = append(entries, e)
	}
	if same {
		return t, nil
	}
	return t.WithEntries(entries), nil
}

func (l *loader) readFile(path string, id tree.ID) ([]byte, error) {
	if data, ok := l.read[id]; ok {
		if !l.want(path, int64(len(data))) {
			return nil, nil
		}
		return data, nil
	}
	data, err := l.repo.store.ReadFile(id, func(size int64) bool { return l.want(path, size) })
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, l.repo.markDamaged(err))
	}
	if data != nil {
		l.read[id] = data
	}
	return data, nil
}

// View is a commit's tree, read on demand. Unreadable parts are missing: check [View.Err] before
// using a result. Use [InspectTree] unless the tree is written or kept.
type View struct {
	Tree tree.Tree

	repo  *Repository
	local bool // omits objects instead of fetching them
	mu    sync.Mutex
	err   error
	known map[tree.ID]tree.Tree
}

const maxKnown = 4_000

// maxViewed bounds a file's content in a View, in bytes; larger files have only an id.
const maxViewed = 4 << 20

// View returns a commit's tree, read on demand; that of "" is empty.
func (r *Repository) View(commit string) (*View, error) { return r.newView(commit, false) }

// LocalTree returns the part of a commit's tree that needs no fetching: missing folders are empty,
// files have only ids. A receiver of the commit has at least these objects.
func (r *Repository) LocalTree(commit string) (tree.Tree, error) {
	v, err := r.newView(commit, true)
	if err != nil {
		return tree.Tree{}, err
	}
	return v.Tree, nil
}

func (r *Repository) newView(commit string, local bool) (*View, error) {
	v := &View{repo: r, local: local, known: map[tree.ID]tree.Tree{}}
	if commit == "" {
		return v, nil
	}
	info, err := r.Commit(commit)
	if err == nil {
		v.Tree = v.lazyFolder(tree.ID(plumbing.NewHash(info.Tree)))
	}
	return v, err
}

// InspectTree returns the result of use for a commit's tree ("" has an empty one), or the error if
// a part could not be read. use must not have side effects.
func InspectTree[T any](r *Repository, commit string, use func(tree.Tree) (T, error)) (found T, err error) {
	return InspectTrees(r, []string{commit}, func(trees []tree.Tree) (T, error) { return use(trees[0]) })
}

// InspectTrees is [InspectTree] for several commits.
func InspectTrees[T any](r *Repository, commits []string, use func([]tree.Tree) (T, error)) (found T, err error) {
	var none T
	var views []*View
	var trees []tree.Tree
	for _, commit := range commits {
		v, err := r.View(commit)
		if err != nil {
			return none, err
		}
		views, trees = append(views, v), append(trees, v.Tree)
	}
	found, err = use(trees)
	for _, v := range views {
		if failed := v.Err(); failed != nil {
			return none, failed
		}
	}
	return found, err
}

// FindEntry returns the entry at a path of a commit and whether it exists.
func (r *Repository) FindEntry(commit, path string) (e tree.Entry, ok bool, err error) {
	e, err = InspectTree(r, commit, func(t tree.Tree) (found tree.Entry, _ error) {
		found, ok = t.Lookup(path)
		return found, nil
	})
	return e, ok && err == nil, err
}

// FolderID returns the id of a folder ("" for the root), or of the empty tree if it does not exist.
func (r *Repository) FolderID(commit, folder string) (tree.ID, error) {
	return InspectTree(r, commit, func(t tree.Tree) (tree.ID, error) { return t.Sub(folder).ID(), nil })
}

// Err returns the read errors so far.
func (v *View) Err() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.err
}

func (v *View) lazyFolder(id tree.ID) tree.Tree {
	return tree.Lazy(id, 0, func() tree.Tree {
		v.mu.Lock()
		defer v.mu.Unlock()
		if known, ok := v.known[id]; ok {
			return known
		}
		if v.err != nil { // further reads would wait for the server in vain
			return tree.Tree{}
		}
		t, err := v.readFolder(id)
		if err != nil {
			v.err = errors.Join(v.err, fmt.Errorf("read %s: %w", v.repo.location, err))
			return tree.Tree{}
		}
		if len(v.known) < maxKnown {
			v.known[id] = t
		}
		return t
	})
}

// readFolder fetches the missing files of a small folder together.
func (v *View) readFolder(id tree.ID) (tree.Tree, error) {
	v.repo.mu.Lock()
	defer v.repo.mu.Unlock()
	if v.local && len(v.repo.store.Missing([]tree.ID{id})) > 0 {
		return tree.Tree{}, nil
	}
	f, err := v.repo.readFolder(id)
	if err != nil {
		return tree.Tree{}, err
	}
	if !v.local && !f.Large {
		if err := v.repo.fetchFiles(f); err != nil {
			return tree.Tree{}, err
		}
	}
	open := func(e tree.Entry) tree.Tree { return v.lazyFolder(e.ID) }
	if f.Canonical {
		return tree.FromText(id, f.Text, func(e tree.Entry) tree.Entry { return v.completeEntry(e, open) }), nil
	}
	entries := f.Entries(open)
	for i := range entries {
		e := &entries[i]
		e.Data, err = v.readContent(*e)
		if err != nil {
			return tree.Tree{}, err
		}
	}
	return tree.FromEntries(entries), nil
}

func (v *View) readContent(e tree.Entry) ([]byte, error) {
	if v.local || e.Mode == tree.ModeDir || e.Mode == tree.ModeSubmodule {
		return nil, nil
	}
	data, err := v.repo.store.ReadLimited(pack.Blob, e.ID, maxViewed)
	if err != nil && !errors.Is(err, pack.ErrLarge) {
		return nil, fmt.Errorf("%s: %w", e.Name, v.repo.markDamaged(err))
	}
	return data, nil
}

func (v *View) completeEntry(e tree.Entry, open func(tree.Entry) tree.Tree) tree.Entry {
	if e.IsDir() {
		return tree.UnreadDir(e.Name, e.ID, open)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.err != nil {
		return e
	}
	v.repo.mu.Lock()
	defer v.repo.mu.Unlock()
	var err error
	e.Data, err = v.readContent(e)
	if err != nil {
		v.err = errors.Join(v.err, fmt.Errorf("read %s: %w", v.repo.location, err))
	}
	return e
}
