package objects_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/git/objects"
	"github.com/fairlead-io/fairlead/internal/git/pack"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

var kinds = map[string]pack.Kind{"commit": pack.Commit, "tree": pack.Tree, "blob": pack.Blob}

// newRepository returns the folder of a bare repository with two commits, a branch and a tag.
func newRepository(t *testing.T) (dir string, work *gittest.Work) {
	t.Helper()
	server := gittest.ServeGit(t)
	server.Create("r")
	work = server.Work(t, "r")
	work.Switch("main")
	work.Write("README.md", "first\n")
	work.Write("apps/a/values.yaml", strings.Repeat("a: 1\n", 100))
	work.Commit("first")
	work.Write("apps/a/values.yaml", strings.Repeat("a: 1\n", 100)+"b: 2\n")
	work.Commit("second")
	work.Push("main", "main:refs/heads/other", "main~1:refs/tags/v1")
	return server.Dir("r"), work
}

// mustOpen opens a repository, as a mirror if it is to be one.
func mustOpen(t *testing.T, dir string, mirror bool) *objects.Store {
	t.Helper()
	s, err := objects.Open(dir)
	if err == nil && mirror {
		err = s.OpenPacks(dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func mustParseID(t *testing.T, text string) tree.ID {
	t.Helper()
	if !plumbing.IsHash(text) {
		t.Fatalf("%q is not an id", text)
	}
	return tree.ID(plumbing.NewHash(text))
}

// checkObjects compares every object that Git finds in a repository with what the store reads.
func checkObjects(t *testing.T, dir string, s *objects.Store) {
	t.Helper()
	list := gittest.Git(t, dir, "cat-file", "--batch-all-objects", "--batch-check")
	if strings.Count(list, "\n") < 8 {
		t.Fatalf("there are too few objects: %s", list)
	}
	for line := range strings.Lines(list) {
		words := strings.Fields(line)
		id := mustParseID(t, words[0])
		data, err := s.ReadObject(kinds[words[1]], id)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if got := plumbing.ComputeHash(plumbing.ObjectType(kinds[words[1]]), data); got != plumbing.Hash(id) {
			t.Errorf("%s: the content has the id %s", line, got)
		}
		if size, err := s.EncodedObjectSize(plumbing.Hash(id)); err != nil || size != int64(len(data)) {
			t.Errorf("%s: the size is %d (%v)", line, size, err)
		}
		if _, err := s.ReadLimited(kinds[words[1]], id, int64(len(data))-1); !errors.Is(err, pack.ErrLarge) {
			t.Errorf("%s: the error for a lower limit is %v", line, err)
		}
		other := pack.Commit
		if words[1] == "commit" {
			other = pack.Tree
		}
		if _, err := s.ReadObject(other, id); !errors.Is(err, plumbing.ErrObjectNotFound) {
			t.Errorf("%s: the error for another kind is %v", line, err)
		}
	}
}

// references returns the branches and tags of a store.
func references(t *testing.T, s *objects.Store) map[string]string {
	t.Helper()
	found, err := s.HashReferences()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for name, id := range found {
		if name != plumbing.HEAD {
			all[name.String()] = id.String()
		}
	}
	return all
}

// TestLayouts reads every layout in which Git stores objects and references.
func TestLayouts(t *testing.T) {
	for _, c := range []struct {
		name   string
		mirror bool
		make   func(t *testing.T, bare string, work *gittest.Work) (dir string)
	}{
		{name: "loose", make: func(_ *testing.T, bare string, _ *gittest.Work) string { return bare }},
		{name: "packed", make: func(t *testing.T, bare string, _ *gittest.Work) string {
			gittest.Git(t, bare, "gc", "-q")
			return bare
		}},
		{name: "a work tree", make: func(_ *testing.T, _ string, work *gittest.Work) string { return work.Dir }},
		{name: "a linked work tree", make: func(t *testing.T, _ string, work *gittest.Work) string {
			linked := filepath.Join(t.TempDir(), "linked")
			gittest.Git(t, work.Dir, "worktree", "add", "-q", "--detach", linked)
			return linked
		}},
		{name: "objects of another repository", make: func(t *testing.T, bare string, _ *gittest.Work) string {
			shared := filepath.Join(t.TempDir(), "shared")
			gittest.Git(t, bare, "clone", "-q", "--bare", "--shared", bare, shared)
			return shared
		}},
		{name: "a mirror with one pack", mirror: true, make: func(t *testing.T, bare string, _ *gittest.Work) string {
			gittest.Git(t, bare, "repack", "-q", "-a", "-d")
			return bare
		}},
		{name: "a mirror with packed references", mirror: true, make: func(t *testing.T, bare string, _ *gittest.Work) string {
			gittest.Git(t, bare, "repack", "-q", "-a", "-d")
			gittest.Git(t, bare, "pack-refs", "--all")
			gittest.Git(t, bare, "update-ref", "refs/heads/loose", "main")
			return bare
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			bare, work := newRepository(t)
			place := c.make(t, bare, work)
			dir, err := objects.FindDir(place)
			if err != nil {
				t.Fatal(err)
			}
			s := mustOpen(t, dir, c.mirror)
			checkObjects(t, place, s)
			if diff := cmp.Diff(gittest.Refs(t, place), references(t, s)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFindDirRefuses(t *testing.T) {
	for _, c := range []struct{ name, file, text string }{
		{name: "an empty folder"},
		{name: "a file .git that names nothing", file: ".git", text: "nothing"},
		{name: "a file .git that names a missing folder", file: ".git", text: "gitdir: gone"},
		{name: "a folder without HEAD", file: "objects", text: ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			if c.file != "" {
				if err := os.WriteFile(filepath.Join(dir, c.file), []byte(c.text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := objects.FindDir(dir); !errors.Is(err, objects.ErrNoRepository) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

// TestOtherProcess has Git add and replace packs while a mirror is open.
func TestOtherProcess(t *testing.T) {
	bare, work := newRepository(t)
	gittest.Git(t, bare, "repack", "-q", "-a", "-d")
	s := mustOpen(t, bare, true)
	checkObjects(t, bare, s)
	work.Write("new.txt", "new\n")
	work.Commit("third")
	gittest.Git(t, bare, "config", "transfer.unpackLimit", "1")
	work.Push("main")
	before := references(t, s)
	checkObjects(t, bare, s)
	if diff := cmp.Diff(before, references(t, s)); diff != "" {
		t.Errorf("the references changed before they were forgotten: %s", diff)
	}
	s.ForgetReferences()
	if diff := cmp.Diff(gittest.Refs(t, bare), references(t, s)); diff != "" {
		t.Error(diff)
	}
	gittest.Git(t, bare, "repack", "-q", "-a", "-d")
	checkObjects(t, bare, s)
}

// TestMissing reads objects that a partial mirror left at its server.
func TestMissing(t *testing.T) {
	bare, _ := newRepository(t)
	gittest.Git(t, bare, "repack", "-q", "-a", "-d")
	missing := filepath.Join(t.TempDir(), "empty")
	gittest.Git(t, bare, "init", "-q", "--bare", missing)
	blob := mustParseID(t, gittest.Git(t, bare, "rev-parse", "main:README.md"))
	folder := mustParseID(t, gittest.Git(t, bare, "rev-parse", "main:apps"))
	s := mustOpen(t, missing, true)
	if got := s.Missing([]tree.ID{blob, folder, blob}); !slices.Equal(got, []tree.ID{blob, folder}) {
		t.Errorf("missing are %v", got)
	}
	if _, err := s.ReadObject(pack.Blob, blob); !errors.Is(err, plumbing.ErrObjectNotFound) {
		t.Errorf("a whole mirror has the error %v", err)
	}
	refused := errors.New("the server is down")
	s.FetchMissing = func(pack.Kind, []tree.ID) error { return refused }
	if _, err := s.ReadFolder(folder); !errors.Is(err, refused) {
		t.Errorf("the error of the fetch is %v", err)
	}
	s.FetchMissing = func(pack.Kind, []tree.ID) error { return nil }
	if _, err := s.ReadFolder(folder); !errors.Is(err, plumbing.ErrObjectNotFound) {
		t.Errorf("the error of a fetch that brings nothing is %v", err)
	}
	var fetched []pack.Kind
	s.FetchMissing = func(kind pack.Kind, _ []tree.ID) error {
		fetched = append(fetched, kind)
		packs, err := filepath.Glob(filepath.Join(bare, "objects", "pack", "pack-*"))
		for _, file := range packs {
			err = errors.Join(err, os.Link(file, filepath.Join(missing, "objects", "pack", filepath.Base(file))))
		}
		return errors.Join(err, s.Refresh())
	}
	if f, err := s.ReadFolder(folder); err != nil || !f.Canonical || len(f.Entries(nil)) != 1 {
		t.Errorf("the folder is %+v (%v)", f, err)
	}
	if data, err := s.ReadFile(blob, func(int64) bool { return true }); err != nil || string(data) != "first\n" {
		t.Errorf("the file is %q (%v)", data, err)
	}
	if data, err := s.ReadFile(blob, func(size int64) bool { return size < 6 }); err != nil || data != nil {
		t.Errorf("a file that is refused by its size is %q (%v)", data, err)
	}
	if !slices.Equal(fetched, []pack.Kind{pack.Tree}) {
		t.Errorf("fetched %v, want one folder and no file", fetched)
	}
}

// TestReachable marks what Git lists as reachable.
func TestReachable(t *testing.T) {
	bare, _ := newRepository(t)
	gittest.Git(t, bare, "repack", "-q", "-a", "-d")
	s := mustOpen(t, bare, true)
	marked := map[tree.ID]bool{}
	mark := func(id tree.ID) bool {
		before := marked[id]
		marked[id] = true
		return before
	}
	heads, err := s.Haves()
	if err != nil || len(heads) != 2 {
		t.Fatalf("the commits are %v (%v)", heads, err)
	}
	if err := objects.MarkReachable(t.Context(), heads, s.ObjectLinks, mark); err != nil {
		t.Fatal(err)
	}
	want := map[tree.ID]bool{}
	for line := range strings.Lines(gittest.Git(t, bare, "rev-list", "--objects", "--all")) {
		want[mustParseID(t, strings.Fields(line)[0])] = true
	}
	if !maps.Equal(marked, want) {
		t.Errorf("marked %d objects, want %d", len(marked), len(want))
	}
}

// TestInvalidTrees reads trees that Git would not write.
func TestInvalidTrees(t *testing.T) {
	blob := tree.HashBlob(nil)
	for _, c := range []struct {
		name               string
		names              []string
		refused, canonical bool
	}{
		{name: "in order", names: []string{"a", "b"}, canonical: true},
		{name: "out of order", names: []string{"b", "a"}},
		{name: "a parent folder", names: []string{".."}, refused: true},
		{name: "the data of a repository", names: []string{".GIT"}, refused: true},
		{name: "no name", names: []string{""}, refused: true},
		{name: "no name, out of order", names: []string{"b", ""}, refused: true},
		{name: "a path", names: []string{"a/b"}, refused: true},
		{name: "twice", names: []string{"a", "a"}, refused: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			gittest.Git(t, dir, "init", "-q", "--bare", ".")
			var text []byte
			for _, name := range c.names {
				text = tree.AppendEntry(text, tree.ModeFile, name, blob)
			}
			file := filepath.Join(t.TempDir(), "tree")
			if err := os.WriteFile(file, text, 0o600); err != nil {
				t.Fatal(err)
			}
			id := mustParseID(t, gittest.Git(t, dir, "hash-object", "--literally", "-t", "tree", "-w", file))
			f, err := mustOpen(t, dir, false).ReadFolder(id)
			var invalid *objects.InvalidTreeError
			if errors.As(err, &invalid) != c.refused || !c.refused && err != nil {
				t.Fatalf("the error is %v", err)
			}
			if f.Canonical != c.canonical {
				t.Errorf("canonical is %t", f.Canonical)
			}
		})
	}
}
