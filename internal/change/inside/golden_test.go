package inside_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/change/impact"
	"github.com/fairlead-io/fairlead/internal/change/inside"
	"github.com/fairlead-io/fairlead/internal/kube/chart"
)

var update = flag.Bool("update", false, "rewrite the wanted sections of the golden files")

// A golden file holds the outputs old/ and new/, sources by their revision, such as
// at/1.10.0/Chart.yaml, and what people are to see of the difference.
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
	moves := inside.Find(old, new)
	opt := impact.Options{Contents: inside.Collect(moves, func(s inside.Source) inside.Built {
		files := treeOf(t, archive, "at/"+s.Revision[:min(len(s.Revision), 6)]+"/")
		switch {
		case files.IsEmpty():
			return inside.Built{Reason: inside.Private}
		case s.Kind == inside.Git || s.Kind == inside.Artifact:
			return inside.BuildManifests(s, files)
		}
		c := chart.Chart{Files: map[string][]byte{}}
		for name, data := range files.Sub(s.Path).All() {
			c.Files[name] = data
		}
		return inside.BuildChart(s, c)
	})}
	report := impact.Compare(old, new, opt)
	removals := impact.RemovalsOf(old, new, report, opt)
	got := map[string]string{
		"want.moves":    describe(moves),
		"want.title":    "dev: " + report.Title(67) + "\n",
		"want.txt":      report.Text(),
		"want.md":       report.Markdown(60_000),
		"want.removals": fmt.Sprintf("%s\n%s\n", removals, strings.Join(removals.Reasons(10, 3, false), "\n")),
	}
	for i, f := range archive.Files {
		text, wanted := got[f.Name]
		if *update && wanted {
			archive.Files[i].Data = []byte(text)
		} else if diff := cmp.Diff(string(f.Data), text); wanted && diff != "" {
			t.Errorf("%s of %s (-want +got):\n%s", f.Name, file, diff)
		}
	}
	if *update {
		if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func describe(moves []inside.Move) string {
	var b strings.Builder
	for _, m := range moves {
		fmt.Fprintf(&b, "%s/%s %s: %s %.12s -> %.12s %s\n", m.ClusterType, m.Target, m.Object, m.To.Kind, m.From.Revision, m.To.Revision, m.Reason)
	}
	return b.String()
}

func treeOf(t *testing.T, archive *txtar.Archive, prefix string) tree.Tree {
	t.Helper()
	files := map[string][]byte{}
	for _, f := range archive.Files {
		if path, ok := strings.CutPrefix(f.Name, prefix); ok {
			files[path] = f.Data
		}
	}
	all, err := tree.FromFiles(files)
	if err != nil {
		t.Fatal(err)
	}
	return all
}
