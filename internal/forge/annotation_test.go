package forge_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/forge"
)

func TestAnnotationMarkdown(t *testing.T) {
	for want, a := range map[string]forge.Annotation{
		"**Problem:** it is wrong":      {Text: "it is wrong"},
		"**Warning:** it is odd":        {Text: "it is odd", Warning: true},
		"**Problem:** \\*a\\* @\u200bb": {Text: "*a* @b"},
	} {
		if got := a.Markdown(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestDiffLines(t *testing.T) {
	for name, test := range map[string]struct {
		diff string
		want map[int]int
	}{
		"nothing":    {"", map[int]int{}},
		"binary":     {"Binary files a/x and b/x differ\n", map[int]int{}},
		"a new file": {"--- /dev/null\n+++ b/x\n@@ -0,0 +1,2 @@\n+a\n+b\n", map[int]int{1: 0, 2: 0}},
		"one line":   {"@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file\n", map[int]int{1: 0}},
		"two hunks": {
			"@@ -3,4 +3,5 @@ func x() {\n a\n-b\n+c\n+d\n e\n\n@@ -20,2 +21,1 @@\n-+++ b/x\n y\n",
			map[int]int{3: 3, 4: 0, 5: 0, 6: 5, 7: 6, 21: 21},
		},
		"a line like a head": {"@@ -1,1 +1,2 @@\n a\n+@@ -9 +9 @@\n", map[int]int{1: 1, 2: 0}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, forge.DiffLines(test.diff)); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
		})
	}
}
