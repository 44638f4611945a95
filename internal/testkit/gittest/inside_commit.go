package gittest

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

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
	refs, err := listReferences(o.dir)
	if err != nil {
		return objectID{}, err
	}
	ref := "refs/heads/" + branch
	old := refs.ids[ref]
	parent := cmp.Or(old, refs.ids["refs/heads/main"])
	entries := map[string]string{} // mode, name and id, by name as trees are sorted
	if parent != (objectID{}) {
		err = readEntries(o.dir, parent, entries)
		if err != nil {
			return objectID{}, err
		}
	}
	var all []object
	for file, text := range files {
		blob := newObject(pack.Blob, []byte(text))
		entries[file] = "100644 " + file + "\x00" + string(blob.id[:])
		all = append(all, blob)
	}
	var folder bytes.Buffer
	for _, file := range slices.Sorted(maps.Keys(entries)) {
		folder.WriteString(entries[file])
	}
	tree := newObject(pack.Tree, folder.Bytes())
	var text bytes.Buffer
	fmt.Fprintf(&text, "tree %s\n", tree.id)
	if parent != (objectID{}) {
		fmt.Fprintf(&text, "parent %s\n", parent)
	}
	fmt.Fprintf(&text, "author a <a@example.com> %[1]d +0000\ncommitter a <a@example.com> %[1]d +0000\n\n%[2]s\n", at.Unix(), message)
	commit := newObject(pack.Commit, text.Bytes())
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
func readEntries(dir string, commit objectID, to map[string]string) error {
	r, err := openRevision(dir, commit.String())
	if err != nil {
		return err
	}
	defer r.packs.Close()
	return r.eachEntry(r.root, func(name string, isFolder bool, id objectID) error {
		if isFolder {
			to[name+"/"] = "40000 " + name + "\x00" + string(id[:])
			return nil
		}
		to[name] = "100644 " + name + "\x00" + string(id[:])
		return nil
	})
}
