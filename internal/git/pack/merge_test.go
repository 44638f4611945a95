package pack_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/git/pack"
)

// numbers adds a pack of files, of which each has its number in it.
func numbers(t *testing.T, packs string, from, to int) {
	t.Helper()
	p, err := pack.Write(packs, func(w *pack.Writer) error {
		for i := from; i < to; i++ {
			if err := w.WriteObject(pack.Blob, numbered(i), []byte(fmt.Sprint(i))); err != nil {
				return err
			}
		}
		return nil
	})
	check(t, err)
	check(t, p.Keep(packs, nil))
}

func numbered(i int) tree.ID { return tree.HashBlob([]byte(fmt.Sprint(i))) }

// TestTidy: what is merged are small packs; a large one stays as it is until those beside it
// have half as many objects, and only then somebody has to find out what is in use.
func TestTidy(t *testing.T) {
	dir, packs, stored := repository(t)
	tidy := func(reachable func(mark func(tree.ID) bool) error) {
		t.Helper()
		_, err := stored.Refresh()
		check(t, err)
		check(t, stored.Repack(t.Context(), reachable))
		_, err = stored.Refresh()
		check(t, err)
	}
	unasked := func(func(tree.ID) bool) error {
		t.Error("what is in use is looked for")
		return nil
	}

	numbers(t, packs, 0, 1000)
	tidy(unasked)
	large := names(t, packs)
	for n := range 10 { // ten that are new, and ten that are there in a pack that stays
		numbers(t, packs, 990+10*n, 1010+10*n)
	}
	tidy(unasked)
	after := names(t, packs)
	if len(after) != 2 || !strings.Contains(fmt.Sprint(after), large[0]) {
		t.Errorf("there are %v, want %s and one more", after, large[0])
	}
	if got, want := objects(t, packs), []int{1000, 100}; !cmp.Equal(got, want) {
		t.Errorf("the packs have %d objects, want %d", got, want)
	}
	numbers(t, packs, 1100, 1250)
	tidy(unasked)
	if got, want := objects(t, packs), []int{1000, 250}; !cmp.Equal(got, want) {
		t.Errorf("the packs have %d objects, want %d", got, want)
	}
	numbers(t, packs, 1250, 1600)
	marked := 0
	tidy(func(mark func(tree.ID) bool) error {
		for i := range 1600 {
			if i%2 == 0 && !mark(numbered(i)) {
				marked++
			}
		}
		if !mark(numbered(4)) || mark(numbered(-1)) {
			t.Error("what is marked is not known, or what is not there is")
		}
		return nil
	})
	if got, want := objects(t, packs), []int{800}; !cmp.Equal(got, want) || marked != 800 {
		t.Errorf("the packs have %d objects, want %d that are in use; %d were marked", got, want, marked)
	}
	for i := range 1600 {
		if _, data, err := stored.Read(numbered(i)); i%2 == 0 && (err != nil || string(data) != fmt.Sprint(i)) {
			t.Fatalf("object %d is %q (%v)", i, data, err)
		}
	}
	git(t, dir, nil, "fsck", "--full", "--strict")
}

// names returns the packs that are there.
func names(t *testing.T, packs string) (all []string) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(packs, "*.idx"))
	check(t, err)
	for _, file := range found {
		all = append(all, strings.TrimSuffix(filepath.Base(file), ".idx"))
	}
	return all
}

// objects returns the number of objects in each pack, the largest first.
func objects(t *testing.T, packs string) (all []int) {
	t.Helper()
	for _, name := range names(t, packs) {
		index, err := os.ReadFile(filepath.Join(packs, name+".idx"))
		check(t, err)
		const upToLast = 8 + 255*4 // where the index says how many there are
		all = append(all, int(index[upToLast+2])<<8|int(index[upToLast+3]))
	}
	slices.SortFunc(all, func(a, b int) int { return b - a })
	return all
}
