package partial

import (
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/git/objects"
	"github.com/fairlead-io/fairlead/internal/git/pack"
)

// Prefetcher fetches the objects that a caller is about to read, level by level: all missing folders
// of one level together, and then all missing files in them.
type Prefetcher struct {
	// Missing returns the objects that the mirror lacks, Folder reads one that it has, and
	// Bring fetches some.
	Missing      func(ids []tree.ID) []tree.ID
	ReadFolder   func(id tree.ID) (objects.Folder, error)
	FetchObjects func(kind pack.Kind, ids []tree.ID) error
	// FetchFolders fetches folders with everything in them. It is called instead of Bring if there are
	// too many single objects.
	FetchFolders func(folders []tree.ID) error
	// Include reports whether to descend into a folder; nil descends into all.
	Include func(depth int, name string) bool
	// Depth is the number of levels to fetch; 0 for all.
	Depth int

	roots     []tree.ID // folders of the first level
	requested int
	done      bool // All was called
}

// FolderPair is a folder, and the one that it will be compared with: what both have will not be
// read.
type FolderPair struct {
	Folder tree.ID
	Base   tree.Tree
}

// maxRequested is the number of objects above which folders are fetched with everything in them.
const maxRequested = 30_000

// ChangedFolders returns the folders directly in t that differ from those in other.
func ChangedFolders(t, other tree.Tree) []FolderPair {
	var all []FolderPair
	for with, e := range tree.ChangedEntries(other, t) {
		if e.IsDir() {
			all = append(all, FolderPair{e.ID, with.Tree()})
		}
	}
	return all
}

// PrefetchFolders fetches the missing objects of folders that differ from what they will be compared with.
func (w *Prefetcher) PrefetchFolders(level []FolderPair) error {
	seen := map[[2]tree.ID]bool{} // a folder may be in many places, and in itself again and again
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

// readFolder returns the files in a folder that will be read, and the folders in it that differ; none
// of the last level. Of a large folder only files that differ will be read.
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
		if !folders { // its base may have to be rendered to be compared
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
