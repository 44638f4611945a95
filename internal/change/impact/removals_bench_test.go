package impact

import (
	"fmt"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/tree"
)

// BenchmarkRemovals takes one deployment target from one of 100,000 assignments, and looks
// for what that removes; Of is what the change costs without the guard.
func BenchmarkRemovals(b *testing.B) {
	build := func(without string) tree.Tree {
		var types []tree.Entry
		for i := range 500 {
			var targets []tree.Entry
			for j := range 200 {
				if name := fmt.Sprintf("t%d", j); fmt.Sprintf("c%d/%s", i, name) != without {
					targets = append(targets, tree.Dir(name, tree.FromEntries([]tree.Entry{tree.File("reconciler.yaml", []byte(name))})))
				}
			}
			types = append(types, tree.Dir(fmt.Sprintf("c%d", i), tree.FromEntries(targets)))
		}
		return tree.FromEntries(types)
	}
	old, new := build(""), build("c7/t7")
	opt := Options{Workload: func(target string) string { return target }}
	report := Compare(old, new, opt)
	b.Run("Of", func(b *testing.B) {
		for b.Loop() {
			Compare(old, new, opt)
		}
	})
	b.Run("RemovalsOf", func(b *testing.B) {
		for b.Loop() {
			if r := RemovalsOf(old, new, report, opt); r.Assignments != (Share{1, 100_000}) {
				b.Fatalf("it removes %+v", r)
			}
		}
	})
}
