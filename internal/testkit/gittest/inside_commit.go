package gittest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/fairlead-io/fairlead/internal/git/pack"
)

// CommitTo commits files of the root folder to a branch, on top of what it has, or else of what main has, and returns the
// commit's id. It is as a [Work] would make and push it, without a start of git.
func (s *Server) CommitTo(t testing.TB, name, branch, message string, files map[string]string) string {
	t.Helper()
	s.mu.Lock()
	at := start.Add(time.Duration(s.repositoryOf(name).clock.Add(1)-1) * time.Second)
	s.mu.Unlock()
	id, err := commitFiles(s.storeOf(s.Dir(name)), branch, message, at, files)
	if err != nil {
		t.Fatalf("commit to %s of %s: %v", branch, name, err)
	}
	return id.String()
}

func newObject(kind pack.Kind, data []byte) object {
	return object{objectID(plumbing.ComputeHash(plumbing.ObjectType(kind), data)), kind, data}
}

func commitFiles(o *store, branch, message string, at time.Time, files map[string]string) (objectID, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	refs, err := listReferences(o.dir)
	if err != nil {
		return objectID{}, err
	}
	ref := "refs/heads/" + branch
	old := refs.ids[ref]
	parent := cmp.Or(old, refs.ids["refs/heads/main"])
	entries := map[string]string{} // mode, name and id, by name as trees are sorted
	if parent != (objectID{}) {
		err = o.readEntries(parent, entries)
		if err != nil {
			return objectID{}, err
		}
	}
	var all []object
	for file, text := range files {
		blob := newObject(pack.Blob, []byte(text))
		entries[file] = formatEntry(filemode.Regular, file, blob.id)
		all = append(all, blob)
	}
	tree := newTree(entries)
	commit := newObject(pack.Commit, formatCommit(tree.id, parent, at, message))
	if err := keepObjects(o.dir, append(all, tree, commit)); err != nil {
		return objectID{}, err
	}
	moves := []command{{old: old, new: commit.id, ref: ref}}
	held, err := o.lockReferences(moves)
	defer held.removeFiles()
	if err != nil {
		return objectID{}, err
	}
	return commit.id, held[0].moveReference(o.dir, moves[0])
}

// readEntries adds the entries of the root folder of a commit.
func (o *store) readEntries(commit objectID, to map[string]string) error {
	if err := o.refreshPacks(); err != nil {
		return err
	}
	l, err := o.linksOf(commit)
	if err != nil || len(l.folders) != 1 {
		return errLeft
	}
	_, data, err := o.packs.Read(l.folders[0])
	if err != nil {
		return err
	}
	return eachEntry(data, func(mode filemode.FileMode, name string, id objectID) error {
		to[sortedName(mode, name)] = formatEntry(mode, name, id)
		return nil
	})
}

func sortedName(mode filemode.FileMode, name string) string {
	if mode == filemode.Dir {
		return name + "/"
	}
	return name
}

func formatEntry(mode filemode.FileMode, name string, id objectID) string {
	return fmt.Sprintf("%o %s\x00%s", uint32(mode), name, id[:])
}

// newTree returns a tree of formatted entries, which are by their sorted names.
func newTree(entries map[string]string) object {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		text.WriteString(entries[name])
	}
	return newObject(pack.Tree, []byte(text.String()))
}
