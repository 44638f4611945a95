package impact

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/fairlead-io/fairlead/internal/base/tree"
)

var update = flag.Bool("update", false, "rewrite the wanted sections of the golden files")

// A golden file holds the trees old/ and new/, and what people are to see of the
// difference: want.txt, and want.title, want.md, want.json or want.diff where they matter.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { golden(t, file) })
	}
}

func golden(t *testing.T, file string) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	old, new := treeOf(t, archive, "old/"), treeOf(t, archive, "new/")
	o := Options{Workload: workloadOf}
	for _, f := range archive.Files {
		if chosen := strings.Fields(string(f.Data)); f.Name == "chosen" {
			o.Chosen = func(target string) bool { return slices.Contains(chosen, target) }
		}
	}
	report := Compare(old, new, o)
	encoded, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{
		"want.title": "dev: " + report.Title(67) + "\n",
		"want.txt":   report.Text(),
		"want.md":    report.Markdown(60_000),
		"want.json":  string(encoded) + "\n",
		"want.diff":  strings.Join(slices.Collect(UnifiedDiff(old, new, 3)), ""),
		"want.plan":  planText(t, old, new, report),
	}
	for i, f := range archive.Files {
		text, wanted := got[f.Name]
		if !wanted {
			continue
		}
		if *update {
			archive.Files[i].Data = []byte(text)
			continue
		}
		if diff := gocmp.Diff(string(f.Data), text); diff != "" {
			t.Errorf("%s of %s (-want +got):\n%s", f.Name, file, diff)
		}
	}
	if *update {
		if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// planText shows what clusters do with the components of the stacks that change.
func planText(t *testing.T, old, new tree.Tree, r Report) string {
	t.Helper()
	text := ""
	for _, s := range r.StackChanges {
		plan, found, err := PlanStack(old, new, s.Stack)
		if err != nil || !found {
			t.Fatal(s.Stack, found, err)
		}
		for _, c := range plan.Components {
			text += fmt.Sprintf("%s %s: %s, next: %s, approval: %s\n", plan.Stack, c.Name, cmp.Or(c.Change, "unchanged"), cmp.Or(c.Next, "nothing"), cmp.Or(c.Approval, "none"))
		}
	}
	return text
}

// treeOf gives the tree of the files below a prefix. A file cannot be without a
// last line end in txtar: one that ends in "\EOF" has none.
func treeOf(t *testing.T, archive *txtar.Archive, prefix string) tree.Tree {
	files := map[string][]byte{}
	for _, f := range archive.Files {
		if path, ok := strings.CutPrefix(f.Name, prefix); ok {
			files[path] = bytes.TrimSuffix(f.Data, []byte("\\EOF\n"))
		}
	}
	tr, err := tree.FromFiles(files)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// workloadOf takes "<workload>-<target>" apart, as the control plane would.
func workloadOf(target string) string {
	workload, _, _ := strings.Cut(target, "-")
	return workload
}
