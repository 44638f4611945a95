package partial

import (
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/git/objects"
	"github.com/fairlead-io/fairlead/internal/git/pack"
)

// Prefetcher fetches the objects that a caller is about to read, level by level: first all missing
// folders, then all missing files.
type Prefetcher struct {
	Missing      func(ids []tree.ID) []tree.ID
	ReadFolder   func(id tree.ID) (objects.Folder, error)
	FetchObjects func(kind pack.Kind, ids []tree.ID) error
	// FetchFolders fetches folders with all contents, instead of FetchObjects for too many objects.
	FetchFolders func(folders []tree.ID) error
	Include      func(depth int, name string) bool
	// Depth is in levels; 0 is unlimited.
	Depth int

	roots     []tree.ID
	requested int
	done      bool
}

// FolderPair is a folder and the base of a comparison; common parts will not be read.
type FolderPair struct {
	Folder tree.ID
	Base   tree.Tree
}

const maxRequested = 30_000

// ChangedFolders returns the subfolders of t that differ from those in other.
func ChangedFolders(t, other tree.Tree) []FolderPair {
	var all []FolderPair
	for with, e := range tree.ChangedEntries(other, t) {
		if e.IsDir() {
			all = append(all, FolderPair{e.ID, with.Tree()})
		}
	}
	return all
}

// PrefetchFolders fetches what folders have and their bases lack.
func (w *Prefetcher) PrefetchFolders(level []FolderPair) error {
	seen := map[[2]tree.ID]bool{} // folders may repeat and nest
	for depth := 0; len(level) > 0 && (w.Depth == 0 || depth < w.Depth); depth++ {
		var folders []tree.ID
		for _, p := range level {
			folders = append(folders, p.Folder)
		}
		if depth == 0 {
			w.roots = folders
		}
		if err := w.fetchMissing(pack.Tree, folders); err != nil || w.done {
			return err
		}
		var files []tree.ID
		var next []FolderPair
		for _, p := range level {
			key := [2]tree.ID{p.Folder, p.Base.ID()}
			if seen[key] {
				continue
			}
			seen[key] = true
			in, below, err := w.readFolder(p, depth)
			if err != nil {
				return err
			}
			files, next = append(files, in...), append(next, below...)
		}
		if err := w.fetchMissing(pack.Blob, files); err != nil || w.done {
			return err
		}
		level = next
	}
	return nil
}

// readFolder returns the files that will be read (only changed ones in a large folder) and the
// changed subfolders.
func (w *Prefetcher) readFolder(p FolderPair, depth int) (files []tree.ID, below []FolderPair, err error) {
	read, err := w.ReadFolder(p.Folder)
	if err != nil {
		return nil, nil, err
	}
	folder, last := tree.FromText(p.Folder, read.Text, nil), w.Depth > 0 && depth+1 == w.Depth
	if last && read.Large {
		return nil, nil, nil
	}
	if !read.Large {
		folders := false
		for _, e := range folder.Entries() {
			folders = folders || e.IsDir()
			if e.Mode != tree.ModeSubmodule && !e.IsDir() {
				files = append(files, e.ID)
			}
		}
		if !folders { // its base may need rendering first
			return files, nil, nil
		}
	}
	for with, e := range tree.ChangedEntries(p.Base, folder) {
		switch {
		case e.Mode == tree.ModeSubmodule:
		case !e.IsDir():
			if read.Large {
				files = append(files, e.ID)
			}
		case !last && (w.Include == nil || w.Include(depth, e.Name)):
			below = append(below, FolderPair{e.ID, with.Tree()})
		}
	}
	return files, below, nil
}

func (w *Prefetcher) fetchMissing(kind pack.Kind, ids []tree.ID) error {
	ids = w.Missing(ids)
	w.requested += len(ids)
	if w.requested > maxRequested {
		w.done = true
		return w.FetchFolders(w.roots)
	}
	if len(ids) == 0 {
		return nil
	}
	return w.FetchObjects(kind, ids)
}
