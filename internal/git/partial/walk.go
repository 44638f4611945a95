package partial

import (
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/git/objects"
	"github.com/fairlead-io/fairlead/internal/git/pack"
)

// Walk fetches the objects that a caller is about to read, level by level: all missing folders
// of one level together, and then all missing files in them.
type Walk struct {
	// Lacks returns the objects that the mirror lacks, Folder reads one that it has, and
	// Bring fetches some.
	Lacks  func(ids []tree.ID) []tree.ID
	Folder func(id tree.ID) (objects.Folder, error)
	Bring  func(kind pack.Kind, ids []tree.ID) error
	// All fetches folders with everything in them. It is called instead of Bring if there are
	// too many single objects.
	All func(folders []tree.ID) error
	// Enter reports whether to descend into a folder; nil descends into all.
	Enter func(depth int, name string) bool
	// Depth is the number of levels to fetch; 0 for all.
	Depth int

	first []tree.ID // folders of the first level
	asked int
	done  bool // All was called
}

// Pair is a folder, and the one that it will be compared with: what both have will not be
// read.
type Pair struct {
	Folder tree.ID
	With   tree.Tree
}

// maxAsked is the number of objects above which folders are fetched with everything in them.
const maxAsked = 30_000

// Differing returns the folders directly in t that differ from those in other.
func Differing(t, other tree.Tree) []Pair {
	var all []Pair
	for with, e := range tree.Fresh(other, t) {
		if e.IsDir() {
			all = append(all, Pair{e.ID, with.Tree()})
		}
	}
	return all
}

// Do fetches the missing objects of folders that differ from what they will be compared with.
func (w *Walk) Do(level []Pair) error {
	seen := map[[2]tree.ID]bool{} // a folder may be in many places, and in itself again and again
	for depth := 0; len(level) > 0 && (w.Depth == 0 || depth < w.Depth); depth++ {
		var folders []tree.ID
		for _, p := range level {
			folders = append(folders, p.Folder)
		}
		if depth == 0 {
			w.first = folders
		}
		if err := w.bring(pack.Tree, folders); err != nil || w.done {
			return err
		}
		var files []tree.ID
		var next []Pair
		for _, p := range level {
			key := [2]tree.ID{p.Folder, p.With.ID()}
			if seen[key] {
				continue
			}
			seen[key] = true
			in, below, err := w.open(p, depth)
			if err != nil {
				return err
			}
			files, next = append(files, in...), append(next, below...)
		}
		if err := w.bring(pack.Blob, files); err != nil || w.done {
			return err
		}
		level = next
	}
	return nil
}

// open returns the files in a folder that will be read, and the folders in it that differ; none
// of the last level. Of a large folder only files that differ will be read.
func (w *Walk) open(p Pair, depth int) (files []tree.ID, below []Pair, err error) {
	read, err := w.Folder(p.Folder)
	if err != nil {
		return nil, nil, err
	}
	folder, last := tree.Encoded(p.Folder, read.Text, nil), w.Depth > 0 && depth+1 == w.Depth
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
	for with, e := range tree.Fresh(p.With, folder) {
		switch {
		case e.Mode == tree.ModeSubmodule:
		case !e.IsDir():
			if read.Large {
				files = append(files, e.ID)
			}
		case !last && (w.Enter == nil || w.Enter(depth, e.Name)):
			below = append(below, Pair{e.ID, with.Tree()})
		}
	}
	return files, below, nil
}

// bring fetches the objects that are missing.
func (w *Walk) bring(kind pack.Kind, ids []tree.ID) error {
	ids = w.Lacks(ids)
	w.asked += len(ids)
	if w.asked > maxAsked {
		w.done = true
		return w.All(w.first)
	}
	if len(ids) == 0 {
		return nil
	}
	return w.Bring(kind, ids)
}
