package partial

import (
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/git/objects"
	"github.com/fairlead-io/fairlead/internal/git/pack"
)

// Walk brings what somebody is about to read, level by level: all folders of one level,
// and then all files in them, are asked for together.
type Walk struct {
	Lacks  func(ids []tree.ID) []tree.ID
	Folder func(id tree.ID) (objects.Folder, error)
	Bring  func(kind pack.Kind, ids []tree.ID) error
	// All brings folders with everything in them. It is called where single objects would
	// be too many.
	All func(folders []tree.ID) error
	// Enter says which of the folders in a folder are looked into; nil for all.
	Enter func(depth int, name string) bool
	// Depth is how many levels are brought; 0 for all.
	Depth int

	first []tree.ID // folders, of the first level
	asked int
	done  bool // everything is there
}

// Pair is a folder, and one that it will be compared with: what is the same in both
// will not be read.
type Pair struct {
	Folder tree.ID
	With   tree.Tree
}

// maxAsked is the number of objects from which on folders are brought with everything in
// them.
const maxAsked = 30_000

// Differing returns the folders of a tree that are not so in another one.
func Differing(t, other tree.Tree) []Pair {
	var all []Pair
	for with, e := range tree.Fresh(other, t) {
		if e.IsDir() {
			all = append(all, Pair{e.ID, with.Tree()})
		}
	}
	return all
}

// Do brings what differs.
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

// open returns the files in a folder, which are read with it, and the folders in it that
// differ; of the last level none. Of a large folder those files are read that differ.
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
		if !folders { // what is rendered would be rendered again to be compared
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

// bring has objects be there.
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
