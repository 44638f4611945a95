package pack_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/git/pack"
)

// git runs a Git command in dir and gives what it prints.
func git(t *testing.T, dir string, in []byte, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Stdin = dir, bytes.NewReader(in)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// repository makes one, and opens its packs.
func repository(t *testing.T) (dir, packs string, stored *pack.Set) {
	t.Helper()
	dir = t.TempDir()
	git(t, dir, nil, "init", "-q", "--bare")
	packs = filepath.Join(dir, "objects", "pack")
	stored, err := pack.Open(packs)
	check(t, err)
	t.Cleanup(func() { check(t, stored.Close()) })
	return dir, packs, stored
}

// fleet is folders of folders, of which one text in each is of a version.
func fleet(version string) tree.Tree { return fleetOf(40, 60, version) }

func fleetOf(clusterTypes, perType int, version string) tree.Tree {
	return fleetWith(clusterTypes, perType, version, func(target int) bool { return target == 7 })
}

// fleetWith has texts of a version in some targets of each cluster type.
func fleetWith(clusterTypes, perType int, version string, differs func(target int) bool) tree.Tree {
	var types []tree.Entry
	for i := range clusterTypes {
		targets := []tree.Entry{tree.File("README.md", []byte("Everywhere the same, and long enough to be worth a difference from another text.\n"))}
		for j := range perType {
			text := fmt.Sprintf("kind: Namespace\nmetadata:\n  name: dev-%d-%d\n  labels: {this: is, long: enough, to: differ}\n", i, j)
			if differs(j) {
				text += "version: " + version + "\n"
			}
			targets = append(targets, tree.Dir(fmt.Sprintf("t%02d", j), tree.FromEntries([]tree.Entry{tree.File("a.yaml", []byte(text)), tree.File("b.yaml", []byte(text+"b: b\n"))})))
		}
		types = append(types, tree.Dir(fmt.Sprintf("ct-%d", i), tree.FromEntries(targets)))
	}
	return tree.FromEntries(types)
}

// put writes a tree and a commit of it; parents are commits.
func put(t *testing.T, dir string, files tree.Tree, parent string, known ...tree.Tree) (*pack.Pack, string) {
	t.Helper()
	if parent != "" {
		parent = "parent " + parent + "\n"
	}
	text := fmt.Sprintf("tree %s\n%sauthor a <a@example.com> 0 +0000\ncommitter a <a@example.com> 0 +0000\n\nedit\n", files.ID(), parent)
	id := git(t, dir, []byte(text), "hash-object", "-t", "commit", "--stdin", "--literally")
	p, err := pack.Write(filepath.Join(dir, "objects", "pack"), func(w *pack.Writer) error {
		return errors.Join(w.WriteTree(context.Background(), files, known), w.WriteObject(pack.Commit, idOf(t, id), []byte(text)))
	})
	check(t, err)
	return p, id
}

func idOf(t *testing.T, hex string) (id tree.ID) {
	t.Helper()
	var b []byte
	_, err := fmt.Sscanf(hex, "%x", &b)
	check(t, err)
	copy(id[:], b)
	return id
}

// TestThin sends versions of a fleet to a server as thin packs, keeps them in a mirror,
// and reads everything back, before and after the mirror was tidied. Git checks both.
func TestThin(t *testing.T) {
	mirror, packs, stored := repository(t)
	server, _, _ := repository(t)
	var head string
	var known []tree.Tree
	for n := range 20 {
		next := fleet(fmt.Sprint(n))
		p, id := put(t, mirror, next, head, known...)
		if n > 0 && p.Bytes > 30_000 {
			t.Errorf("version %d takes %d bytes, in which one text of 60 differs", n, p.Bytes)
		}
		sent, err := os.ReadFile(p.Path)
		check(t, err)
		git(t, server, sent, "index-pack", "--strict", "--fix-thin", "--stdin")
		git(t, server, nil, "update-ref", "refs/heads/main", id)
		check(t, p.Keep(packs, stored.Read))
		changed, err := stored.Refresh()
		check(t, err)
		if !changed {
			t.Fatal("a pack that was kept is not seen")
		}
		head, known = id, []tree.Tree{next}
	}
	git(t, mirror, nil, "update-ref", "refs/heads/main", head)
	for _, dir := range []string{mirror, server} {
		git(t, dir, nil, "fsck", "--full", "--strict")
	}
	compare(t, mirror, stored)
	before := size(t, packs)
	check(t, stored.Repack(t.Context(), func(mark func(tree.ID) bool) error {
		for name := range strings.FieldsSeq(git(t, mirror, nil, "rev-list", "--objects", "--no-object-names", "main")) {
			mark(idOf(t, name))
		}
		return nil
	}))
	_, err := stored.Refresh()
	check(t, err)
	git(t, mirror, nil, "fsck", "--full", "--strict")
	compare(t, mirror, stored)
	if after := size(t, packs); after > before/2 {
		t.Errorf("tidied, the mirror has %d bytes of %d", after, before)
	}
}

// TestThinLarge keeps thin packs with more objects than the table of a small one has room
// for, and one that at first cannot be made whole.
func TestThinLarge(t *testing.T) {
	dir, packs, stored := repository(t)
	var head string
	var known []tree.Tree
	for n := range 2 {
		next := fleetWith(40, 400, fmt.Sprint(n), func(target int) bool { return target%20 == 0 })
		p, id := put(t, dir, next, head, known...)
		whole := p.Objects
		read := 0
		failing := func(id tree.ID) (pack.Kind, []byte, error) {
			read++
			if read == 40 {
				return 0, nil, errors.New("the server is away")
			}
			return stored.Read(id)
		}
		if err := p.MakeWhole(failing); n > 0 && (err == nil || p.Objects != whole || whole < 1024) {
			t.Fatalf("a pack of %d objects has %d when it could not be completed (%v)", whole, p.Objects, err)
		}
		check(t, p.Keep(packs, stored.Read))
		_, err := stored.Refresh()
		check(t, err)
		head, known = id, []tree.Tree{next}
	}
	git(t, dir, nil, "update-ref", "refs/heads/main", head)
	git(t, dir, nil, "fsck", "--full", "--strict")
	for _, name := range names(t, packs) {
		git(t, dir, nil, "index-pack", "--strict", "-o", filepath.Join(t.TempDir(), "theirs.idx"), filepath.Join(packs, name+".pack"))
	}
	compare(t, dir, stored)
}

// compare reads all objects of a repository with Git and with ours.
func compare(t *testing.T, dir string, stored *pack.Set) {
	t.Helper()
	all := git(t, dir, nil, "cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objecttype) %(objectsize)")
	kinds := map[string]pack.Kind{"commit": pack.Commit, "tree": pack.Tree, "blob": pack.Blob}
	for line := range strings.Lines(all) {
		var name, kind string
		var size int64
		_, err := fmt.Sscan(line, &name, &kind, &size)
		check(t, err)
		id := idOf(t, name)
		gotKind, data, err := stored.Read(id)
		gotSize, sizeErr := stored.Size(id)
		check(t, errors.Join(err, sizeErr))
		if gotKind != kinds[kind] || gotSize != size || int64(len(data)) != size || !stored.Has(id) {
			t.Fatalf("%s is kind %d with %d bytes, and said to have %d, Git says %s", name, gotKind, len(data), gotSize, line)
		}
		if _, _, err := stored.ReadLimited(id, size-1); !errors.Is(err, pack.ErrLarge) {
			t.Fatalf("%s has %d bytes, and is given though one less was asked for (%v)", name, size, err)
		}
		if gotKind == pack.Blob && tree.HashBlob(data) != id {
			t.Fatalf("the content of %s is another", name)
		}
		if entries, err := tree.ParseTree(string(data), nil); gotKind == pack.Tree && (err != nil || tree.HashTree(entries) != id) {
			t.Fatalf("the entries of %s are others (%v)", name, err)
		}
	}
	if _, _, err := stored.Read(tree.ID{1}); !errors.Is(err, pack.ErrNotFound) || stored.Has(tree.ID{1}) {
		t.Errorf("an object that is not there: %v", err)
	}
}

func size(t *testing.T, dir string) (total int64) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	check(t, err)
	for _, e := range entries {
		info, err := e.Info()
		check(t, err)
		total += info.Size()
	}
	return total
}

// TestSwapped writes folders that have changed places: each could be a difference from the
// other.
func TestSwapped(t *testing.T) {
	dir := t.TempDir()
	git(t, dir, nil, "init", "-q", "--bare")
	random := rand.New(rand.NewPCG(1, 2))
	// A folder of 200 has enough objects for those after it to be encoded at the same time.
	folder := func() tree.Tree { return fleetOf(200, 20, fmt.Sprint(random.IntN(5))) }
	for range 10 {
		a, b := folder(), folder()
		at := func(x, y tree.Tree) tree.Tree {
			return tree.FromEntries([]tree.Entry{tree.Dir("x", x), tree.Dir("y", y), tree.Dir("z", folder())})
		}
		before := at(a, b)
		p, id := put(t, dir, before, "")
		check(t, p.Keep(filepath.Join(dir, "objects", "pack"), nil))
		p, _ = put(t, dir, at(b, a), id, before)
		sent, err := os.ReadFile(p.Path)
		check(t, err)
		git(t, dir, sent, "index-pack", "--strict", "--fix-thin", "--stdin")
		p.Discard()
	}
	git(t, dir, nil, "fsck", "--full", "--strict")
}

// TestSpread: what is encoded at the same time comes to the same bytes with one processor and
// with two, each object is written once, and a folder that is twice in the tree is as well.
func TestSpread(t *testing.T) {
	var packs []string
	files := tree.FromEntries([]tree.Entry{
		tree.Dir("a", fleetOf(8, 200, "1")), tree.Dir("b", fleetOf(8, 200, "2")), tree.Dir("c", fleetOf(8, 200, "1")), tree.File("README.md", nil),
	})
	for _, processors := range []int{1, 2, 8} {
		before := runtime.GOMAXPROCS(processors)
		dir := t.TempDir()
		git(t, dir, nil, "init", "-q", "--bare")
		p, id := put(t, dir, files, "")
		runtime.GOMAXPROCS(before)
		sent, err := os.ReadFile(p.Path)
		check(t, err)
		packs = append(packs, string(sent))
		if packs[0] != packs[len(packs)-1] {
			t.Fatalf("the pack is another one with %d processors", processors)
		}
		git(t, dir, sent, "index-pack", "--strict", "--stdin")
		p.Discard()
		git(t, dir, nil, "update-ref", "refs/heads/main", id)
		git(t, dir, nil, "fsck", "--full", "--strict")
		if got, want := git(t, dir, nil, "rev-parse", id+"^{tree}"), files.ID().String(); got != want {
			t.Errorf("the tree is %s, not %s", got, want)
		}
		list := git(t, dir, nil, "rev-list", "--objects", id)
		if n := strings.Count(list, "\n") + 1; n != p.Objects {
			t.Errorf("there are %d objects in the pack, and %d in the commit", p.Objects, n)
		}
	}
}
