package impact

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/kube/manifest"
)

// edits are changes of one line that people or templates could make.
var edits = []func(r *rand.Rand, l []byte) [][]byte{
	func(r *rand.Rand, l []byte) [][]byte { return nil },
	func(r *rand.Rand, l []byte) [][]byte { return [][]byte{l, l} },
	func(r *rand.Rand, l []byte) [][]byte {
		return [][]byte{append(bytes.Clone(l), pick(r, "1", "x", " # why")...)}
	},
	func(r *rand.Rand, l []byte) [][]byte {
		return [][]byte{l, append([]byte(pick(r, "", "  ", "    ")), "new: 1"...)}
	},
	func(r *rand.Rand, l []byte) [][]byte {
		key, _, ok := bytes.Cut(l, []byte(": "))
		if !ok {
			return [][]byte{l}
		}
		return [][]byte{fmt.Appendf(nil, "%s: %s", key, pick(r, "1", "true", `"a"`, "'b'", "a: b", "[a]", "|", "gull0-main", "&x y"))}
	},
	func(r *rand.Rand, l []byte) [][]byte {
		return [][]byte{bytes.Replace(l, []byte(": "), []byte(": '"), 1)}
	},
	func(r *rand.Rand, l []byte) [][]byte { return [][]byte{[]byte("---"), l} },
}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// mutate makes one or two edits at the same places for each seed.
func mutate(seed uint64, text []byte) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	for range 1 + r.IntN(2) {
		lines := bytes.Split(text, []byte("\n"))
		i := r.IntN(len(lines))
		lines = slices.Replace(lines, i, i+1, pick(r, edits...)(r, lines[i])...)
		text = bytes.Join(lines, []byte("\n"))
	}
	return text
}

// hasKeyTwice finds what is a problem before it gets into an output.
func hasKeyTwice(text []byte) bool {
	return slices.ContainsFunc(manifest.Check(text), func(f manifest.Finding) bool { return strings.Contains(f.Summary, "twice") })
}

// Units that are told to change in the same way are looked into one by one: what
// is said of the first must be true of all.
func TestGroupsAreTrueForAllMembers(t *testing.T) {
	first, diffs := map[digest]finding{}, map[digest]string{}
	exact := map[digest]finding{}
	var s signer
	shared := 0
	for seed := range uint64(1200) {
		for _, at := range []location{{clusterType: "cluster-1", target: "gull0-main"}, {clusterType: "image", target: "tern"}, {clusterType: "data", target: "x-y"}} {
			files := assignmentFiles(at.clusterType, at.target, "nginx:1.25", "1")
			name := slices.Sorted(maps.Keys(files))[seed%3]
			old, new := files[name], mutate(seed/3, files[name])
			if seed%5 == 0 {
				old, new = new, old
			}
			change := tree.Change{Path: name, Old: tree.File(name, old), New: tree.File(name, new)}
			if change.Old.ID == change.New.ID || hasKeyTwice(old) || hasKeyTwice(new) {
				continue
			}
			shape, values := s.signUnit(at, "", []tree.Change{change})
			got := inspectUnit(at, []tree.Change{change}, s.names)
			want, seen := first[shape]
			if !seen {
				first[shape], diffs[shape] = got, unifiedFileDiff(change, 9)
			} else if diff := cmp.Diff(want.classes, got.classes); diff != "" {
				t.Fatalf("same shape, other classes (-first +this): %s\n%s\n%s", diff, diffs[shape], unifiedFileDiff(change, 9))
			}
			shape = digest(append(shape[:16], values[:16]...))
			want, seen = exact[shape]
			if !seen {
				exact[shape], diffs[shape] = got, unifiedFileDiff(change, 9)
				continue
			}
			shared++
			if diff := cmp.Diff(want.detailTexts(true), got.detailTexts(true)); diff != "" {
				t.Fatalf("same change, other details (-first +this): %s\n%s\n%s", diff, diffs[shape], unifiedFileDiff(change, 9))
			}
		}
	}
	if shared < 1000 {
		t.Errorf("only %d changes were like another one: the test shows little", shared)
	}
}
