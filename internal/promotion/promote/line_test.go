package promote_test

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/fairlead-io/fairlead/internal/promotion/promote"
)

// TestLine holds lines of random graphs of commits against what contains what.
func TestLine(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 0))
		n := 3 + random.IntN(9)
		contains := make([]map[int]bool, n) // each commit and those before it
		var line []int
		for c := range n {
			contains[c] = map[int]bool{c: true}
			if c == 0 {
				line = []int{0}
				continue
			}
			for range 1 + random.IntN(2) {
				for before := range contains[random.IntN(c)] {
					contains[c][before] = true
				}
			}
			if contains[c][line[0]] && random.IntN(2) == 0 {
				line = slices.Insert(line, 0, c)
			}
		}
		var names []string
		for _, c := range line {
			names = append(names, strconv.Itoa(c))
		}
		var beside []promote.SideCommit
		var known []int
		for c := range n {
			if slices.Contains(line, c) {
				known = append(known, c)
				continue
			}
			b := promote.SideCommit{Commit: strconv.Itoa(c)}
			for _, l := range line {
				if contains[l][c] {
					b.Newer++
				}
				if !contains[c][l] {
					b.Older++
				}
			}
			if b.Newer > 0 {
				known, beside = append(known, c), append(beside, b)
			}
		}
		h := promote.NewLine(names, beside...)
		for _, a := range known {
			for _, b := range known {
				both := !slices.Contains(line, a) && !slices.Contains(line, b)
				want := a != b && contains[a][b]
				if both { // only by way of a commit of the line
					want = slices.ContainsFunc(line, func(l int) bool { return contains[a][l] && contains[l][b] })
				}
				if got := h.IsNewer(strconv.Itoa(a), strconv.Itoa(b)); got != want {
					t.Fatalf("seed %d: Newer(%d, %d) = %v in the line %v beside %v", seed, a, b, got, line, beside)
				}
			}
			for _, l := range h.Commits()[:h.CountNewer(strconv.Itoa(a))] {
				if i, _ := strconv.Atoi(l); !contains[i][a] || i == a {
					t.Fatalf("seed %d: %s counts as newer than %d", seed, l, a)
				}
			}
		}
	}
}
