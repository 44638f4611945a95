package pack_test

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/git/pack"
)

// TestSearch looks for ids in a pack that are spread evenly, as hashes are, and for such as
// nobody has by chance: all beginning alike, or in two heaps. What is there is found, and what
// is beside it is not.
func TestSearch(t *testing.T) {
	random := rand.New(rand.NewPCG(21, 22))
	id := func(begin ...byte) (id tree.ID) {
		for i := range id {
			id[i] = byte(random.Uint32())
		}
		copy(id[:], begin)
		return id
	}
	for name, next := range map[string]func(i int) tree.ID{
		"even":      func(int) tree.ID { return id() },
		"first":     func(int) tree.ID { return id(0, 0) },
		"last":      func(int) tree.ID { return id(0xff, 0xff) },
		"in a byte": func(int) tree.ID { return id(7) },
		"first end": func(i int) tree.ID { return id(0, byte(250+i%6)) },
		"last end":  func(i int) tree.ID { return id(0xff, byte(i%6)) },
		"alike":     func(int) tree.ID { return id(0xff, 0xff, 0xff, 0xff, 0xff, 0xff) },
		"lowest":    func(int) tree.ID { return id(0, 0, 0, 0, 0, 0) },
		"two heaps": func(i int) tree.ID { return id(3, byte(-(i & 1)), byte(-(i & 1)), 1) },
		"lopsided":  func(i int) tree.ID { return id(9, byte(-min(i, 1)), byte(-min(i, 1)), 2) },
	} {
		for _, objects := range []int{1, 2, 17, 3000} {
			there := map[tree.ID]bool{}
			dir := t.TempDir()
			p, err := pack.Write(dir, func(w *pack.Writer) error {
				for i := range objects {
					one := next(i)
					there[one] = true
					if err := w.WriteObject(pack.Blob, one, []byte("x")); err != nil {
						return err
					}
				}
				return nil
			})
			check(t, err)
			check(t, p.Keep(dir, nil))
			stored, err := pack.Open(dir)
			check(t, err)
			for one := range there {
				for _, beside := range []tree.ID{one, moved(one, 19, 1), moved(one, 19, -1), moved(one, 3, 1), moved(one, 2, -1), moved(one, 0, 1)} {
					if stored.Has(beside) != there[beside] {
						t.Fatalf("%s, %d: that %s is there: %v, want %v", name, objects, beside, !there[beside], there[beside])
					}
				}
			}
			for range 20 {
				one := next(1)
				prefix := one[:1+random.IntN(5)]
				want := 0
				for other := range there {
					if bytes.HasPrefix(other[:], prefix) {
						want++
					}
				}
				got := stored.FindPrefix(prefix)
				if len(got) != want || slices.ContainsFunc(got, func(id tree.ID) bool { return !there[id] || !bytes.HasPrefix(id[:], prefix) }) {
					t.Fatalf("%s, %d: %d objects begin with %x, want %d", name, objects, len(got), prefix, want)
				}
			}
			check(t, stored.Close())
		}
	}
}

// moved returns another id, of which one byte is higher or lower.
func moved(id tree.ID, at int, by int) tree.ID {
	id[at] += byte(by)
	return id
}
