package tree_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/tree"
)

// TestMerge merges trees that are written as "path=content".
func TestMerge(t *testing.T) {
	for name, c := range map[string]struct{ base, a, b, want, conflicts string }{
		"nothing":                {"x=1 d/y=1", "x=1 d/y=1", "x=1 d/y=1", "d/y=1 x=1", ""},
		"one side":               {"x=1", "x=2 d/e/n=1", "x=1", "d/e/n=1 x=2", ""},
		"other side":             {"x=1", "x=1", "x=2", "x=2", ""},
		"different files":        {"d/x=1 d/y=1 z=1", "d/x=2 d/y=1 z=1", "d/x=1 d/y=2 d/new=1", "d/new=1 d/x=2 d/y=2", ""},
		"the same change":        {"x=1", "x=2", "x=2", "x=2", ""},
		"the same deletion":      {"x=1 y=1", "y=1", "y=1", "y=1", ""},
		"last file of a folder":  {"d/x=1 y=1", "y=1", "d/x=1 y=2", "y=2", ""},
		"both change a file":     {"d/x=1 y=1", "d/x=2 y=2", "d/x=3 y=1", "y=2", "d/x"},
		"both add a file":        {"", "x=1", "x=2", "", "x"},
		"deleted and changed":    {"x=1 y=1", "y=1", "x=2 y=1", "y=1", "x"},
		"folder deleted, a file": {"d/x=1 d/y=1", "a=1", "d/x=2 d/y=1 d/z=1", "a=1 d/z=1", "d/x"},
		"file becomes a folder":  {"x=1", "x/y=1", "x=2", "", "x"},
		"folder of both":         {"x=1", "x/a=1", "x/b=1", "x/a=1 x/b=1", ""},
	} {
		merged, conflicts := tree.Merge(parseFiles(t, c.base), parseFiles(t, c.a), parseFiles(t, c.b))
		if got := formatFiles(merged); got != c.want || strings.Join(conflicts, " ") != c.conflicts {
			t.Errorf("%s: merged is %q with the conflicts %q, want %q and %q", name, got, conflicts, c.want, c.conflicts)
		}
	}
}

func parseFiles(t *testing.T, text string) tree.Tree {
	t.Helper()
	files := map[string][]byte{}
	for _, f := range strings.Fields(text) {
		file, content, _ := strings.Cut(f, "=")
		files[file] = []byte(content)
	}
	parsed, err := tree.FromFiles(files)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func formatFiles(files tree.Tree) string {
	all := maps.Collect(files.All())
	var texts []string
	for _, file := range slices.Sorted(maps.Keys(all)) {
		texts = append(texts, file+"="+string(all[file]))
	}
	return strings.Join(texts, " ")
}
