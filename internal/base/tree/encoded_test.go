package tree_test

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/base/tree"
)

// shuffled makes a folder of files and folders, some of which have names that sort in
// another way as the one than as the other.
func shuffled(random *rand.Rand) tree.Tree {
	var entries []tree.Entry
	seen := map[string]bool{}
	for range random.IntN(40) {
		name := fmt.Sprintf("%c%s", 'a'+random.IntN(3), []string{"", "-b", ".b", "0", "b", "-b-c"}[random.IntN(6)])
		if seen[name] {
			continue
		}
		seen[name] = true
		file := tree.File(name, []byte{byte(random.IntN(3))})
		if random.IntN(2) == 0 {
			file = tree.Dir(name, tree.FromEntries([]tree.Entry{tree.File("f", []byte{byte(random.IntN(3))})}))
		}
		entries = append(entries, file)
	}
	return tree.FromEntries(entries)
}

// asText returns the same folder as Git stores it.
func asText(t tree.Tree) tree.Tree {
	known := map[string]tree.Entry{}
	for _, e := range t.Entries() {
		known[e.Name] = e
	}
	return tree.FromText(t.ID(), t.Text(), func(e tree.Entry) tree.Entry {
		return known[e.Name]
	})
}

type pair struct{ Old, New string }

func pairsOf(all iter.Seq2[tree.Entry, tree.Entry]) (found []pair) {
	describe := func(e tree.Entry) string {
		return fmt.Sprintf("%s %o %s %q %d", e.Name, e.Mode, e.ID, e.Data, e.Tree().Len())
	}
	for old, e := range all {
		found = append(found, pair{describe(old), describe(e)})
	}
	return found
}

// TestEncoded: a folder is the same whether it is a list of entries or a text.
func TestEncoded(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	same := func(what string, got, want any) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s (-listed +encoded)\n%s", what, diff)
		}
	}
	for range 2000 {
		a, b := shuffled(random), shuffled(random)
		x, y := asText(a), asText(b)
		want := pairsOf(tree.ZipChanged(a, b))
		for what, got := range map[string]iter.Seq2[tree.Entry, tree.Entry]{"text and text": tree.ZipChanged(x, y), "list and text": tree.ZipChanged(a, y), "text and list": tree.ZipChanged(x, b)} {
			same(what, pairsOf(got), want)
		}
		var paths, listed []string
		for c := range tree.Diff(x, y) {
			paths = append(paths, c.Path)
		}
		for c := range tree.Diff(a, b) {
			listed = append(listed, c.Path)
		}
		same("what differs", paths, listed)
		same("entries", len(x.Entries()), len(a.Entries()))
		same("length", x.Len(), a.Len())
		same("text", x.Text(), a.Text())
		for _, name := range []string{"a", "a-b", "b", "c.b", "a/f", "b-b/f", "c0/none", "zz"} {
			e, ok := a.Lookup(name)
			got, found := x.Lookup(name)
			same("look up "+name, []any{found, got.ID, got.Data}, []any{ok, e.ID, e.Data})
			if i := slices.IndexFunc(a.Entries(), func(e tree.Entry) bool { return e.Name == name }); (i >= 0) != ok && name != "a/f" && name != "b-b/f" && name != "c0/none" {
				t.Fatalf("%s is found: %v, and is the entry %d", name, ok, i)
			}
		}
	}
}

// TestBeside: both folders come whole, side by side, and what differs is what Pairs gives.
func TestBeside(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	for range 500 {
		a, b := shuffled(random), shuffled(random)
		var left, right []tree.Entry
		differing := func(yield func(tree.Entry, tree.Entry) bool) {
			for old, fresh := range tree.Zip(asText(a), b) {
				if old.Name != "" {
					left = append(left, old)
				}
				if fresh.Name != "" {
					right = append(right, fresh)
				}
				if (old.ID != fresh.ID || old.Mode != fresh.Mode) && !yield(old, fresh) {
					return
				}
			}
		}
		if diff := cmp.Diff(pairsOf(tree.ZipChanged(a, b)), pairsOf(differing)); diff != "" {
			t.Fatalf("what differs (-pairs +beside)\n%s", diff)
		}
		if tree.FromEntries(left).ID() != a.ID() || tree.FromEntries(right).ID() != b.ID() {
			t.Fatalf("not all entries of %s and %s were given", a.ID(), b.ID())
		}
	}
}

// TestFresh: what a known folder has is not given, and the content of its files is not read.
func TestFresh(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for range 500 {
		known, next, unread := shuffled(random), shuffled(random), 0
		var want []pair
		for old, e := range tree.ZipChanged(known, next) {
			if e.Name == "" {
				continue
			}
			if !old.IsDir() {
				old.Data = nil
			}
			want = append(want, pairsOf(func(yield func(tree.Entry, tree.Entry) bool) { yield(old, e) })...)
		}
		files := tree.FromText(known.ID(), known.Text(), func(e tree.Entry) tree.Entry {
			if !e.IsDir() {
				unread++
			}
			sub, _ := known.Lookup(e.Name)
			return sub
		})
		if diff := cmp.Diff(want, pairsOf(tree.ChangedEntries(files, asText(next)))); diff != "" {
			t.Fatalf("(-want +got)\n%s", diff)
		}
		if unread > 0 {
			t.Fatalf("%d known files were read", unread)
		}
	}
}
