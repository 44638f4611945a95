package partial_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/git/objects"
	"github.com/fairlead-io/fairlead/internal/git/pack"
	"github.com/fairlead-io/fairlead/internal/git/partial"
)

func mustTree(t *testing.T, files map[string]string) tree.Tree {
	t.Helper()
	all := map[string][]byte{}
	for path, text := range files {
		all[path] = []byte(text)
	}
	made, err := tree.FromFiles(all)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// TestPrefetch counts the requests for the objects of a tree: one for the folders of a level,
// and one for the files in them.
func TestPrefetch(t *testing.T) {
	before := mustTree(t, map[string]string{"a/x/1": "1", "a/y/2": "2", "b/z/3": "3", "b/w/4": "4"})
	after := mustTree(t, map[string]string{"a/x/1": "1", "a/y/2": "changed", "b/z/3": "3", "b/w/4": "4", "c/new/5": "5", "c/6": "6"})
	for _, c := range []struct {
		name  string
		base  tree.Tree
		has   []tree.Tree // what the mirror has already
		walk  partial.Prefetcher
		wants []string
	}{
		{name: "everything", wants: []string{"3 folders", "1 files", "5 folders", "5 files"}},
		{name: "what differs", base: before, has: []tree.Tree{before}, wants: []string{"2 folders", "1 files", "2 folders", "2 files"}},
		{name: "one level", base: before, has: []tree.Tree{before}, walk: partial.Prefetcher{Depth: 1}, wants: []string{"2 folders", "1 files"}},
		{name: "one folder", base: before, has: []tree.Tree{before}, walk: partial.Prefetcher{Include: func(_ int, name string) bool { return name == "new" }},
			wants: []string{"2 folders", "1 files", "1 folders", "1 files"}},
		{name: "all is there", has: []tree.Tree{after}},
		{name: "the same", base: after},
	} {
		t.Run(c.name, func(t *testing.T) {
			server, mirror := map[tree.ID]string{}, map[tree.ID]bool{}
			for _, made := range []tree.Tree{before, after} {
				visitFolders(made, func(f tree.Tree) { server[f.ID()] = f.Text() })
			}
			for _, made := range c.has {
				visitFolders(made, func(f tree.Tree) { mirror[f.ID()] = true })
				for _, e := range made.Walk() {
					mirror[e.ID] = true
				}
			}
			var requests []string
			c.walk.Missing = func(ids []tree.ID) (missing []tree.ID) {
				seen := map[tree.ID]bool{}
				for _, id := range ids {
					if !mirror[id] && !seen[id] {
						missing = append(missing, id)
					}
					seen[id] = true
				}
				return missing
			}
			c.walk.ReadFolder = func(id tree.ID) (objects.Folder, error) {
				if !mirror[id] {
					return objects.Folder{}, fmt.Errorf("folder %s is read before it is fetched", id)
				}
				return objects.Folder{Text: server[id], Canonical: true}, nil
			}
			c.walk.FetchObjects = func(kind pack.Kind, ids []tree.ID) error {
				requests = append(requests, fmt.Sprintf("%d %s", len(ids), map[pack.Kind]string{pack.Tree: "folders", pack.Blob: "files"}[kind]))
				for _, id := range ids {
					mirror[id] = true
				}
				return nil
			}
			if err := c.walk.PrefetchFolders(partial.ChangedFolders(after, c.base)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.wants, requests); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestPrefetchMany fetches whole folders once there are too many objects.
func TestPrefetchMany(t *testing.T) {
	files := map[string]string{}
	for i := range 31_000 {
		files[fmt.Sprintf("a/%d", i)] = fmt.Sprint(i)
	}
	many := mustTree(t, files)
	folder := many.Sub("a")
	mirror := map[tree.ID]bool{}
	var whole []tree.ID
	w := partial.Prefetcher{
		Missing: func(ids []tree.ID) []tree.ID { return ids },
		ReadFolder: func(tree.ID) (objects.Folder, error) {
			return objects.Folder{Text: folder.Text(), Canonical: true}, nil
		},
		FetchObjects: func(_ pack.Kind, ids []tree.ID) error {
			for _, id := range ids {
				mirror[id] = true
			}
			return nil
		},
		FetchFolders: func(folders []tree.ID) error {
			whole = folders
			return nil
		},
	}
	if err := w.PrefetchFolders(partial.ChangedFolders(many, tree.Tree{})); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]tree.ID{folder.ID()}, whole); diff != "" || len(mirror) != 1 {
		t.Errorf("%d objects were fetched one by one; %s", len(mirror), diff)
	}
}

func visitFolders(t tree.Tree, visit func(tree.Tree)) {
	visit(t)
	for _, e := range t.Entries() {
		if e.IsDir() {
			visitFolders(e.Tree(), visit)
		}
	}
}
