package promoter_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/promoter"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// graph makes the commits of a text, "b:a m:b,c" for b after a and the merge m of b and c,
// and returns the repository and their ids by name.
func graph(t *testing.T, text string) (*git.Repository, map[string]string) {
	t.Helper()
	dir := t.TempDir()
	gittest.Git(t, dir, "init", "-q", "-b", "main")
	ids := map[string]string{}
	for _, word := range strings.Fields(text) {
		name, parents, _ := strings.Cut(word, ":")
		args := []string{"commit-tree", gittest.Git(t, dir, "write-tree"), "-m", name}
		for _, p := range strings.FieldsFunc(parents, func(r rune) bool { return r == ',' }) {
			args = append(args, "-p", ids[p])
		}
		ids[name] = gittest.Git(t, dir, args...)
	}
	repo, err := git.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return repo, ids
}

// TestLine: what was on the base's branch is in its history, whichever way it was merged.
func TestLine(t *testing.T) {
	for name, test := range map[string]struct {
		graph, head string
		has         string
		want        string // the line, newest first
		behind      string // of each commit that environments have, how many are newer; - if it is not there
	}{
		"a line":                               {"a b:a c:b", "c", "b", "c b a", "1"},
		"a merge":                              {"a b:a s:a m:b,s", "m", "b", "m b a", "1"},
		"a foxtrot":                            {"a b:a s:a m:s,b", "m", "b", "m b a", "1"},
		"a foxtrot of which nothing is known":  {"a b:a s:a m:s,b", "m", "a", "m s a", "2"},
		"a foxtrot and more":                   {"a b:a c:b s:a m:s,c n:m", "n", "c b a", "n m c b a", "2 3 4"},
		"a foxtrot of one":                     {"a b:a c:b s:b t:s m:t,c", "m", "c", "m c b a", "1"},
		"two foxtrots":                         {"a b:a s:a m:s,b c:m t:m n:t,c", "n", "c b", "n c m b a", "1 3"},
		"an environment has the side":          {"a b:a s:a m:b,s n:m", "n", "b s", "n m b a", "2 2"},
		"each has another side":                {"a b:a s:a m:s,b", "m", "s b", "m s a", "1 1"},
		"the side alone":                       {"a b:a s:a m:b,s", "m", "s", "m s a", "1"},
		"three parents":                        {"a b:a s:a u:a m:s,u,b", "m", "b", "m b a", "1"},
		"not on the branch":                    {"a b:a x:a c:b", "c", "x", "c b a", "-"},
		"not on the branch, and a foxtrot":     {"a b:a x:a s:a m:s,b", "m", "x b", "m b a", "- 1"},
		"a side that goes on from a side":      {"a b:a s:a u:s m:b,u n:m", "n", "s b", "n m b a", "2 2"},
		"main was merged into the side before": {"a b:a s:a u:s,b c:b m:u,c", "m", "b c", "m c b a", "2 1"},
	} {
		t.Run(name, func(t *testing.T) {
			repo, ids := graph(t, test.graph)
			names := map[string]string{}
			for name, id := range ids {
				names[id] = name
			}
			var has []string
			for _, name := range strings.Fields(test.has) {
				has = append(has, ids[name])
			}
			h, err := promoter.ReadHistory(source.Base{Repo: repo, Head: ids[test.head]}, has...)
			if err != nil {
				t.Fatal(err)
			}
			var line, behind []string
			for _, commit := range h.Commits() {
				line = append(line, names[commit])
			}
			for _, commit := range has {
				text := "-"
				if h.Contains(commit) {
					text = fmt.Sprint(h.CountNewer(commit))
				}
				behind = append(behind, text)
			}
			if got := strings.Join(line, " "); got != test.want {
				t.Errorf("the line is %s, want %s", got, test.want)
			}
			if got := strings.Join(behind, " "); got != test.behind {
				t.Errorf("%s are behind by %s, want %s", test.has, got, test.behind)
			}
		})
	}
}
