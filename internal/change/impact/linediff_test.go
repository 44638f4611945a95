package impact

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/base/tree"
)

// edits counts the lines that the blocks drop and take.
func editsOf(blocks []block) int {
	n := 0
	for _, b := range blocks {
		n += b.a1 - b.a0 + b.b1 - b.b0
	}
	return n
}

// patch makes b of a, with the blocks.
func patch(a, b [][]byte, blocks []block) (out [][]byte) {
	at := 0
	for _, bl := range blocks {
		out = append(append(out, a[at:bl.a0]...), b[bl.b0:bl.b1]...)
		at = bl.a1
	}
	return append(out, a[at:]...)
}

// distance is the least number of lines to drop and take, by the table that
// everybody knows.
func distance(a, b [][]byte) int {
	common := make([][]int, len(a)+1)
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := range a {
		for j := range b {
			if bytes.Equal(a[i], b[j]) {
				common[i+1][j+1] = common[i][j] + 1
			} else {
				common[i+1][j+1] = max(common[i][j+1], common[i+1][j])
			}
		}
	}
	return len(a) + len(b) - 2*common[len(a)][len(b)]
}

func randomLines(r *rand.Rand) [][]byte {
	lines := make([][]byte, r.IntN(12))
	for i := range lines {
		lines[i] = []byte{"abc"[r.IntN(3)], '\n'}
	}
	return lines
}

func TestDiffLinesIsRightAndSmallest(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		a, b := randomLines(r), randomLines(r)
		blocks := diffLines(a, b)
		if got := patch(a, b, blocks); !slices.EqualFunc(got, b, bytes.Equal) {
			t.Fatalf("the blocks %v make %q of %q, not %q", blocks, got, a, b)
		}
		if got, want := editsOf(blocks), distance(a, b); got != want {
			t.Fatalf("%d lines change from %q to %q, %d would do", got, a, b, want)
		}
		for i := 1; i < len(blocks); i++ {
			if blocks[i].a0 <= blocks[i-1].a1 && blocks[i].b0 <= blocks[i-1].b1 {
				t.Fatalf("the blocks %v touch", blocks)
			}
		}
	}
}

func TestDiffLinesGivesUpOnGiants(t *testing.T) {
	var a, b [][]byte
	for i := range 50_000 {
		a, b = append(a, fmt.Appendf(nil, "a%d\n", i)), append(b, fmt.Appendf(nil, "b%d\n", i))
	}
	a, b = append(a, []byte("end\n")), append(b, []byte("end\n"))
	if diff := cmp.Diff([]block{{0, 50_000, 0, 50_000}}, diffLines(a, b), cmp.AllowUnexported(block{})); diff != "" {
		t.Error(diff)
	}
}

func TestUnifiedOfOddFiles(t *testing.T) {
	executable := tree.File("x", []byte("a\n"))
	executable.Mode = tree.ModeExecutable
	side := func(entries ...tree.Entry) tree.Tree { return tree.FromEntries(entries) }
	for _, c := range []struct {
		name     string
		old, new tree.Tree
		want     string
	}{
		{"no line end", side(tree.File("x", []byte("a\nb"))), side(tree.File("x", []byte("a\nb\n"))),
			"diff --git a/x b/x\nindex 0a207c0..422c2b7 100644\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n"},
		{"binary", side(tree.File("x", []byte("a\x00"))), side(tree.File("x", []byte("b\x00"))),
			"diff --git a/x b/x\nindex 90802fe..28eacf2 100644\nBinary files a/x and b/x differ\n"},
		{"added", side(), side(tree.File("x", []byte("a\n"))),
			"diff --git a/x b/x\nnew file mode 100644\nindex 0000000..7898192\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n"},
		{"removed and empty", side(tree.File("x", nil)), side(),
			"diff --git a/x b/x\ndeleted file mode 100644\nindex e69de29..0000000\n"},
		{"mode", side(tree.File("x", []byte("a\n"))), side(executable),
			"diff --git a/x b/x\nold mode 100644\nnew mode 100755\n"},
		{"file to link", side(tree.File("x", []byte("a\n"))), side(tree.Link("x", "y")),
			"diff --git a/x b/x\ndeleted file mode 100644\nindex 7898192..0000000\n--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n" +
				"diff --git a/x b/x\nnew file mode 120000\nindex 0000000..e25f181\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+y\n\\ No newline at end of file\n"},
		{"name", side(tree.File("ä \"\t", []byte("a\n"))), side(),
			"diff --git \"a/\\303\\244 \\\"\\011\" \"b/\\303\\244 \\\"\\011\"\ndeleted file mode 100644\nindex 7898192..0000000\n" +
				"--- \"a/\\303\\244 \\\"\\011\"\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := strings.Join(slices.Collect(UnifiedDiff(c.old, c.new, 3)), "")
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestUnifiedContext(t *testing.T) {
	side := func(lines string) tree.Tree {
		return tree.FromEntries([]tree.Entry{tree.File("x", []byte(strings.ReplaceAll(lines, " ", "\n")+"\n"))})
	}
	old, new := side("1 2 3 4 5 6 7 8 9"), side("1 2 x 4 5 6 7 y 9")
	for _, c := range []struct {
		context int
		want    []string
	}{
		{-1, []string{"@@ -3 +3 @@", "@@ -8 +8 @@"}},
		{0, []string{"@@ -3 +3 @@", "@@ -8 +8 @@"}},
		{1, []string{"@@ -2,3 +2,3 @@", "@@ -7,3 +7,3 @@"}},
		{2, []string{"@@ -1,9 +1,9 @@"}},
	} {
		var got []string
		for l := range strings.Lines(strings.Join(slices.Collect(UnifiedDiff(old, new, c.context)), "")) {
			if strings.HasPrefix(l, "@@") {
				got = append(got, strings.TrimSpace(l))
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("context %d: -want +got:\n%s", c.context, diff)
		}
	}
}

// FuzzOf looks for texts that make it panic or contradict itself.
func FuzzOf(f *testing.F) {
	f.Add("a: 1\n", "a: 2\n", "r.yaml")
	f.Add("kind: List\nitems: [{kind: A}]\n", "---\n- name: &a b\n- *a\n", "r.yaml")
	f.Add("A=1\n", "A='\n", "platform-config.sh")
	f.Fuzz(func(t *testing.T, old, new, name string) {
		if tree.CheckPath(name) != nil || strings.Contains(name, "/") {
			t.Skip("it cannot be the name of a file")
		}
		side := func(text string) tree.Tree {
			tr, err := tree.FromFiles(map[string][]byte{"large/gull-main/" + name: []byte(text), "large/x": nil})
			if err != nil {
				t.Fatal(err)
			}
			return tr
		}
		report := Compare(side(old), side(new), Options{})
		if report.IsEmpty() != (old == new) {
			t.Errorf("empty is %t", report.IsEmpty())
		}
		for _, text := range []string{report.Text(), report.Markdown(500)} {
			if strings.ContainsRune(text, '\x1b') {
				t.Errorf("an escape gets through: %q", text)
			}
		}
		_ = slices.Collect(UnifiedDiff(side(old), side(new), 3))
	})
}
