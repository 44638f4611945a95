package tree_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/base/tree"
)

func fromFiles(t *testing.T, files map[string]string) tree.Tree {
	t.Helper()
	data := map[string][]byte{}
	for path, text := range files {
		data[path] = []byte(text)
	}
	made, err := tree.FromFiles(data)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// The order of Git's trees is not that of the names: "a.txt" comes before the
// folder "a", and "a0" after it.
var awkward = map[string]string{
	"a/x": "1", "a.txt": "2", "a0": "3", "a-b/c/d": "4", "z": "", "README.md": "# hello\n", "a-b/c.d": "\x00\xff",
}

// git runs a Git command in dir and gives what it prints.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func TestIDIsGits(t *testing.T) {
	dir := t.TempDir()
	git(t, dir, "init", "-q")
	for path, text := range awkward {
		full := filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	git(t, dir, "add", "-A")
	if got, want := fromFiles(t, awkward).ID().String(), git(t, dir, "write-tree"); got != want {
		t.Errorf("id is %s, Git says %s", got, want)
	}
	if got, want := tree.EmptyID.String(), git(t, dir, "hash-object", "-t", "tree", os.DevNull); got != want {
		t.Errorf("id of the empty tree is %s, Git says %s", got, want)
	}
}

func TestAllIsSorted(t *testing.T) {
	var paths []string
	for path, data := range fromFiles(t, awkward).All() {
		paths = append(paths, path)
		if string(data) != awkward[path] {
			t.Errorf("%s holds %q, want %q", path, data, awkward[path])
		}
	}
	if want := slices.Sorted(maps.Keys(awkward)); !slices.Equal(paths, want) {
		t.Errorf("paths are %q, want %q", paths, want)
	}
}

func TestBuilderRefuses(t *testing.T) {
	for _, c := range []struct{ paths, want string }{
		{"", "the path is empty"},
		{"/etc/passwd", `"/etc/passwd" is an absolute path`},
		{"a/../../b", `".." is not allowed in a path ("a/../../b")`},
		{"a//b", `"" is not allowed in a path ("a//b")`},
		{".git/config", `".git" is not allowed in a path (".git/config")`},
		{"sub/.GIT/config", `".GIT" is not allowed in a path ("sub/.GIT/config")`},
		{`a\b`, `"a\\b" has a character that paths cannot have`},
		{"a a", "a: there is a file at a already"},
		{"a a/b", "a/b: there is a file at a already"},
		{"d/a d/a/b", "d/a/b: there is a file at d/a already"},
		{"a/b a", "a: there is a folder at that path already"},
	} {
		var b tree.Builder
		var err error
		for path := range strings.SplitSeq(c.paths, " ") {
			err = b.Add(path, nil)
		}
		if err == nil || err.Error() != c.want {
			t.Errorf("Add(%s): %v, want %s", c.paths, err, c.want)
		}
	}
}

func TestUnion(t *testing.T) {
	a := fromFiles(t, map[string]string{"x/1": "one", "y": "why"})
	b := fromFiles(t, map[string]string{"x/2": "two"})
	both, err := tree.Union(a, tree.Tree{}, b)
	if err != nil {
		t.Fatal(err)
	}
	if want := fromFiles(t, map[string]string{"x/1": "one", "x/2": "two", "y": "why"}); !tree.Equal(both, want) {
		t.Errorf("union holds %d files, want 3", both.Count())
	}
	if _, err := tree.Union(a, fromFiles(t, map[string]string{"x/1": "one"})); err == nil || !strings.Contains(err.Error(), "x/1") {
		t.Errorf("two owners of x/1: %v, want an error that names the path", err)
	}
}

// TestDiff checks random edits: a diff names what was edited, in order.
func TestDiff(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		old, edited, want := map[string]string{}, map[string]string{}, []string{}
		for range 30 {
			path := fmt.Sprintf("%c/%c%c", 'a'+random.IntN(4), 'a'+random.IntN(4), "./-x"[random.IntN(4)])
			path = strings.TrimSuffix(path, "/")
			old[path], edited[path] = "old", "old"
		}
		for path := range old {
			switch random.IntN(4) {
			case 0:
				edited[path] = "new"
				want = append(want, "~"+path)
			case 1:
				delete(edited, path)
				want = append(want, "-"+path)
			}
		}
		slices.SortFunc(want, func(a, b string) int { return strings.Compare(a[1:], b[1:]) })
		var got []string
		for c := range tree.Diff(fromFiles(t, old), fromFiles(t, edited)) {
			switch {
			case c.Added():
				got = append(got, "+"+c.Path)
			case c.Removed():
				got = append(got, "-"+c.Path)
			default:
				got = append(got, "~"+c.Path)
			}
		}
		if diff := cmp.Diff(want, got, cmp.Transformer("nil", func(s []string) []string { return append([]string{}, s...) })); diff != "" {
			t.Fatal(diff)
		}
	}
}

// TestWith returns a tree other entries: its own with more content, fewer, others, and its own
// in another order.
func TestWith(t *testing.T) {
	whole := fromFiles(t, map[string]string{"a": "1", "b/c": "2", "d": "3"})
	bare := slices.Clone(whole.Entries())
	for i := range bare {
		bare[i].Data = nil
	}
	without := tree.FromEntries(bare)
	loaded := without.WithEntries(whole.Entries())
	if e, _ := loaded.Lookup("a"); !tree.Equal(loaded, whole) || string(e.Data) != "1" {
		t.Errorf("it is %s with %q in a, want %s", loaded.ID(), e.Data, whole.ID())
	}
	reversed := slices.Clone(whole.Entries())
	slices.Reverse(reversed)
	if again := whole.WithEntries(reversed); !tree.Equal(again, whole) || again.Entries()[0].Name != "a" {
		t.Errorf("in another order it is %s, and begins with %s", again.ID(), again.Entries()[0].Name)
	}
	for name, entries := range map[string][]tree.Entry{
		"fewer": whole.Entries()[:2], "none": nil, "another name": append(slices.Clone(whole.Entries()[:2]), tree.File("e", []byte("3"))),
		"another content": append(slices.Clone(whole.Entries()[:2]), tree.File("d", []byte("4"))),
		"another mode":    append(slices.Clone(whole.Entries()[:2]), tree.Link("d", "3")),
	} {
		if got, want := whole.WithEntries(entries), tree.FromEntries(slices.Clone(entries)); !tree.Equal(got, want) {
			t.Errorf("%s: it is %s, want %s", name, got.ID(), want.ID())
		}
	}
}

// TestLazy checks that equal subtrees are never looked into.
func TestLazy(t *testing.T) {
	sub := fromFiles(t, map[string]string{"f": "text"})
	loads := 0
	lazy := func() tree.Tree {
		return tree.FromEntries([]tree.Entry{tree.Dir("d", tree.Lazy(sub.ID(), 0, func() tree.Tree { loads++; return sub }))})
	}
	for range tree.Diff(lazy(), lazy()) {
		t.Error("equal trees differ")
	}
	if loads != 0 {
		t.Errorf("an equal subtree was loaded %d times", loads)
	}
	e, ok := lazy().Lookup("d/f")
	if !ok || !bytes.Equal(e.Data, []byte("text")) || loads != 1 {
		t.Errorf("d/f is %q after %d loads, want \"text\" after 1", e.Data, loads)
	}
}

// TestUnread checks that a folder is opened by its entry, that a tree which knows how
// many files it has is not, and that equal ones are never looked into.
func TestUnread(t *testing.T) {
	sub := fromFiles(t, map[string]string{"f": "text", "g": "more"})
	opened, loads := 0, 0
	open := func(e tree.Entry) tree.Tree {
		opened++
		return tree.Lazy(e.ID, 2, func() tree.Tree { loads++; return sub })
	}
	whole := tree.FromEntries([]tree.Entry{tree.UnreadDir("d", sub.ID(), open), tree.File("h", nil)})
	if want := fromFiles(t, map[string]string{"d/f": "text", "d/g": "more", "h": ""}); !tree.Equal(whole, want) {
		t.Errorf("the id is %s, want %s", whole.ID(), want.ID())
	}
	if n := whole.Count(); n != 3 || opened != 1 || loads != 0 {
		t.Errorf("%d files after %d opens and %d loads, want 3 after 1 and 0", n, opened, loads)
	}
	if e, ok := whole.Lookup("d/g"); !ok || string(e.Data) != "more" {
		t.Errorf("d/g is %q, want \"more\"", e.Data)
	}
	opened = 0
	for range tree.Diff(whole, tree.FromEntries([]tree.Entry{tree.UnreadDir("d", sub.ID(), open), tree.File("h", nil)})) {
		t.Error("equal trees differ")
	}
	if opened != 0 {
		t.Errorf("an equal folder was opened %d times", opened)
	}
}
