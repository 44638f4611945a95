package parallel_test

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/panics"
	"github.com/fairlead-io/fairlead/internal/base/parallel"
)

// TestEach: everything is done, and never more at a time than the limit.
func TestEach(t *testing.T) {
	for limit, most := range map[int]int{-1: 1, 0: 1, 1: 1, 3: 3, 100: 20} {
		var mu sync.Mutex
		var done []int
		now, peak := 0, 0
		all := make([]int, 20)
		for i := range all {
			all[i] = i * i
		}
		parallel.Each(limit, all, func(i, one int) {
			if one != i*i {
				t.Errorf("the %d-th is %d", i, one)
			}
			mu.Lock()
			now++
			peak = max(peak, now)
			done = append(done, one)
			mu.Unlock()
			mu.Lock()
			now--
			mu.Unlock()
		})
		if slices.Sort(done); !slices.Equal(done, all) || peak > most {
			t.Errorf("limit %d: %v, with %d at a time", limit, done, peak)
		}
	}
}

// TestInOrder: what comes of the numbers is used in their order, and nothing goes on after
// an error.
func TestInOrder(t *testing.T) {
	for _, limit := range []int{0, 1, 3, 100} {
		var used []int
		err := parallel.EachInOrder(limit, 50, func(i int) int { return i * i }, func(square int) error {
			used = append(used, square)
			return nil
		})
		if len(used) != 50 || !slices.IsSorted(used) || err != nil {
			t.Errorf("limit %d: used %v (%v)", limit, used, err)
		}
		failed := errors.New("no")
		calls := 0
		err = parallel.EachInOrder(limit, 50, func(i int) int { return i }, func(i int) error {
			calls++
			if i == 7 {
				return failed
			}
			return nil
		})
		if !errors.Is(err, failed) || calls != 8 {
			t.Errorf("limit %d: %v after %d", limit, err, calls)
		}
	}
}

// TestPanic: what panics is a panic of who called, once all else is over.
func TestPanic(t *testing.T) {
	one := func(_, i int) {
		if i == 3 {
			panic("no")
		}
	}
	inOrder := func(i int) int { one(0, i); return i }
	for name, do := range map[string]func(limit int){
		"each":     func(limit int) { parallel.Each(limit, []int{0, 1, 2, 3, 4, 5}, one) },
		"in order": func(limit int) { _ = parallel.EachInOrder(limit, 6, inOrder, func(int) error { return nil }) },
	} {
		for _, limit := range []int{1, 2, 100} {
			err := panics.Barrier{}.Run(name, "", func() error { do(limit); return nil })
			if !panics.Is(err) {
				t.Errorf("%s, limit %d: it ends with %v", name, limit, err)
			}
		}
	}
}
