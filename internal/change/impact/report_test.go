package impact

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/base/tree"
)

// Every class of the table is in a golden file: people see what it looks like.
func TestEveryClassHasAGoldenCase(t *testing.T) {
	var all strings.Builder
	files, _ := filepath.Glob("../*/testdata/*.txtar")
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, wanted, _ := strings.Cut(string(data), "-- want.txt --\n")
		all.WriteString(wanted)
	}
	for _, r := range rules {
		if r.op != mode && !strings.Contains(all.String(), string(r.class)) {
			t.Errorf("no golden file shows the class %q", r.class)
		}
	}
}

func TestFileModes(t *testing.T) {
	side := func(e tree.Entry) tree.Tree {
		return tree.FromEntries([]tree.Entry{tree.Dir("large", tree.FromEntries([]tree.Entry{
			tree.Dir("gull-main", tree.FromEntries([]tree.Entry{e})),
		}))})
	}
	script := func(m tree.Mode, text string) tree.Entry {
		e := tree.File("platform-config.sh", []byte(text))
		e.Mode = m
		return e
	}
	for _, c := range []struct {
		name     string
		old, new tree.Entry
		want     []string
	}{
		{"mode", script(tree.ModeFile, "A=1\n"), script(tree.ModeExecutable, "A=1\n"),
			[]string{"file mode only", "platform-config.sh mode: 100644 -> 100755"}},
		{"mode and content", script(tree.ModeFile, "A=1\n"), script(tree.ModeExecutable, "A=2\n"),
			[]string{"config values, file mode", "platform-config.sh A: 1 -> 2", "platform-config.sh mode: 100644 -> 100755"}},
		{"a link", tree.Link("r.yaml", "a"), tree.Link("r.yaml", "b"), []string{"unclassified", "r.yaml"}},
		{"not text", tree.File("r.yaml", []byte("a: \x00")), tree.File("r.yaml", []byte("a: b\n")), []string{"unclassified", "r.yaml"}},
		{"too large", tree.File("r.yaml", make([]byte, maxSize+1)), tree.File("r.yaml", []byte("a: b\n")), []string{"unclassified", "r.yaml"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			report := Compare(side(c.old), side(c.new), Options{})
			if len(report.Groups) != 1 {
				t.Fatalf("there are %d groups:\n%s", len(report.Groups), report.Text())
			}
			got := append([]string{report.Groups[0].Name}, report.Groups[0].Details...)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestSummaryWithoutWorkloads(t *testing.T) {
	old, new := fleet(t, 200, "nginx:1.25", constant), fleet(t, 200, "nginx:1.27", constant)
	for _, c := range []struct {
		opt  Options
		want string
	}{
		{Options{}, "2 cluster types, 100 deployment targets; image only: 200"},
		{Options{Workload: func(string) string { return "gull" }}, "2 cluster types, 1 workload; image only: 200"},
		{Options{Workload: func(string) string { return "" }}, "2 cluster types, 100 workloads; image only: 200"},
	} {
		if got := Compare(old, new, c.opt).Summary(); got != c.want {
			t.Errorf("the summary is %q, want %q", got, c.want)
		}
	}
}

// exported has cmp look into unexported fields as well.
var exported = cmp.Exporter(func(reflect.Type) bool { return true })

func TestOfIsDeterministic(t *testing.T) {
	old := fleet(t, 300, "nginx:1.25", constant)
	new := fleet(t, 300, "nginx:1.27", func(i int) string { return fmt.Sprintf("x%dx\n    extra%d: 1", i%40, i%7) })
	want := Compare(old, new, Options{})
	for range 5 {
		if diff := cmp.Diff(want, Compare(old, new, Options{}), exported); diff != "" {
			t.Fatalf("another run gives another report:\n%s", diff)
		}
	}
	if !Compare(old, old, Options{}).IsEmpty() || !Compare(tree.Tree{}, tree.Tree{}, Options{}).IsEmpty() {
		t.Error("equal trees give a report that is not empty")
	}
}

// Every assignment is in exactly one group, whatever bound is reached.
func TestGroupsAddUp(t *testing.T) {
	const n = 6000
	old := fleet(t, n, "nginx:1.25", constant)
	for _, c := range []struct {
		name     string
		checksum func(int) string
		groups   int
	}{
		{"one change", constant, 1},
		{"twenty values", func(i int) string { return fmt.Sprintf("x%dx", i%20) }, 20},
		{"a value each", func(i int) string { return fmt.Sprintf("x%dx", i) }, 1},
		{"a field each", func(i int) string { return fmt.Sprintf("1\n    x%dx: 1", i) }, maxInspections + 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			report := Compare(old, fleet(t, n, "nginx:1.27", c.checksum), Options{})
			total := 0
			for _, g := range report.Groups {
				total += g.Count
			}
			if total != n || len(report.Groups) != c.groups {
				t.Errorf("%d groups of %d assignments in all, want %d of %d", len(report.Groups), total, c.groups, n)
			}
		})
	}
}

func TestMarkdownKeepsToItsLimit(t *testing.T) {
	old := fleet(t, 300, "nginx:1.25", constant)
	new := fleet(t, 300, "nginx:1.27", func(i int) string { return fmt.Sprintf("1\n    x%dx: 1", i) })
	report := Compare(old, new, Options{})
	previous := 0
	for _, limit := range []int{-1, 0, 10, 100, 1000, 3000, 10_000, 30_000, 60_000, 1_000_000} {
		text := report.Markdown(limit)
		if len(text) > max(limit, 0) || len(text) < previous {
			t.Errorf("with a limit of %d bytes, it has %d (%d with the limit before)", limit, len(text), previous)
		}
		previous = len(text)
	}
	if !strings.Contains(report.Markdown(1_000_000), "\n+        image: nginx:1.27\n") || !strings.Contains(report.Markdown(30_000), "image, ") {
		t.Error("a high limit does not tell the lines, or a low one not the classes")
	}
}

func TestMarkdownOfHostileText(t *testing.T) {
	evil := []string{"@all", "`` @all ``", "<img src=x>", "</details>", "[a](javascript:b)", "```", "\"a\\u202eb\\x1b[31m\"", "closes #1"}
	var lines strings.Builder
	for i, e := range evil {
		fmt.Fprintf(&lines, "  k%d: '%s'\n", i, strings.ReplaceAll(e, "'", "''"))
	}
	side := func(values string) tree.Tree {
		tr, err := tree.FromFiles(map[string][]byte{
			"large/@all`<b>/platform-config.yaml": []byte("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  a: b\n" + values),
			"large/x/\x1b[31m.yaml":               []byte("kind: Odd\nspec:\n" + values),
		})
		if err != nil {
			t.Fatal(err)
		}
		return tr
	}
	report := Compare(side("  k: v\n"), side(lines.String()), Options{})
	for _, text := range []string{report.Markdown(100_000), report.Text()} {
		if i := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && r != '\t' && r != '\u200b' && isInvisible(r) }); i >= 0 {
			t.Errorf("there is an invisible character in\n%s", text[i:])
		}
	}
	inCode := ""
	for line := range strings.Lines(report.Markdown(100_000)) {
		trimmed := strings.TrimSpace(line)
		switch ticks := strings.Repeat("`", len(trimmed)-len(strings.TrimLeft(trimmed, "`"))); {
		case inCode == "" && len(ticks) >= 3 && strings.HasSuffix(trimmed, "diff"):
			inCode = ticks
		case inCode != "" && trimmed == inCode:
			inCode = ""
		case inCode == "" && strings.Contains(withoutCode(trimmed), "all"):
			t.Errorf("text from the tree is outside of code: %s", line)
		}
		if strings.Contains(line, "@all") {
			t.Errorf("somebody is mentioned: %s", line)
		}
	}
	if inCode != "" {
		t.Error("a code block does not end")
	}
}

// withoutCode cuts the code spans out of a line, as Markdown finds them.
func withoutCode(line string) string {
	for {
		start := strings.IndexByte(line, '`')
		if start < 0 {
			return line
		}
		ticks := len(line[start:]) - len(strings.TrimLeft(line[start:], "`"))
		rest := line[start+ticks:]
		end := strings.Index(rest, strings.Repeat("`", ticks))
		if end < 0 {
			return line
		}
		line = line[:start] + rest[end+ticks:]
	}
}

func TestMatchPath(t *testing.T) {
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{"spec.ref.**", "spec ref", true},
		{"spec.ref.**", "spec ref branch", true},
		{"spec.ref.**", "spec reference", false},
		{"**.containers.[].image", "spec template spec containers [web] image", true},
		{"**.containers.[].image", "spec containers image", false},
		{"**.parameters.[*image.tag].value", "spec parameters [web.image.tag] value", false},
		{"images.[].newTag", "images [] newTag", true},
		{"spec", "spec x", false},
	} {
		if got := matchPath(strings.Split(c.pattern, "."), strings.Fields(c.path)); got != c.want {
			t.Errorf("matchPath(%q, %q) = %t", c.pattern, c.path, got)
		}
	}
}

// The promise of a bound on memory, for the largest change that there is.
func TestMemoryOfALargeChange(t *testing.T) {
	old, new := fleet(t, 5000, "nginx:1.25", constant), fleet(t, 5000, "nginx:1.27", constant)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	Compare(old, new, Options{})
	runtime.ReadMemStats(&after)
	if perAssignment := (after.TotalAlloc - before.TotalAlloc) / 5000; perAssignment > 2000 {
		t.Errorf("%d bytes are allocated for each assignment", perAssignment)
	}
}

func TestClassesAreTogether(t *testing.T) {
	var seen []Class
	for _, r := range rules {
		if i := slices.Index(seen, r.class); i >= 0 && i < len(seen)-1 {
			t.Errorf("the rows of %q are not together", r.class)
		}
		if i := slices.Index(seen, r.class); i < 0 {
			seen = append(seen, r.class)
		}
	}
}
