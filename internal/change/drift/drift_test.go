package drift_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/change/drift"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/render/output"
	"github.com/fairlead-io/fairlead/templates"
)

var update = flag.Bool("update", false, "rewrite the wanted sections of the golden files")

// TestGolden compares dev and prod of each archive. The files are those of a base of
// each environment (base/, and base-prod/ where prod has another one), of the branches
// dev/ and prod/, and of registrations (workloads/NAME/); COMMITS has the commits of the
// base, "dev ID title" a line.
func TestGolden(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			from, to := sideOf(t, archive, "dev"), sideOf(t, archive, "prod")
			report := drift.Compare(from, to)
			encoded, err := json.MarshalIndent(report, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{"want.txt": report.Text(), "want.json": string(encoded) + "\n", "want-back.txt": drift.Compare(to, from).Text()}
			got["want-meaning.txt"] = meaningText(report, drift.Compare(from, sideOf(t, withOneBase(archive), "prod")))
			for i, f := range archive.Files {
				text, wanted := got[f.Name]
				if !wanted {
					continue
				}
				if diff := cmp.Diff(string(f.Data), text); diff != "" && !*update {
					t.Errorf("%s of %s (-want +got):\n%s", f.Name, path, diff)
				}
				archive.Files[i].Data = []byte(text)
			}
			if *update {
				if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			for _, side := range []drift.Side{from, to} {
				if same := drift.Compare(side, side); !same.IsEmpty() || same.Shared != same.Same {
					t.Errorf("%s differs from itself: %+v", side.Model.Environment, same)
				}
			}
		})
	}
}

// withOneBase returns an archive in which prod has the base of dev.
func withOneBase(of *txtar.Archive) *txtar.Archive {
	one := &txtar.Archive{}
	for _, f := range of.Files {
		if !strings.HasPrefix(f.Name, "base-prod/") {
			f.Name = strings.Replace(f.Name, "base-dev/", "base/", 1)
			one.Files = append(one.Files, f)
		}
	}
	return one
}

// meaningText returns what each difference means, where same is the report with one base.
func meaningText(report, same drift.Report) string {
	report.Classify(same)
	var b strings.Builder
	for _, t := range report.Topics {
		for _, f := range t.Findings {
			fmt.Fprintf(&b, "%s: %s: %s%s%s\n", f.Meaning, t.Name, f.Change, strings.TrimPrefix("only in "+f.Only, "only in "), strings.Join(append([]string{""}, f.Names...), " "))
		}
	}
	return b.String()
}

func filesOf(t *testing.T, archive *txtar.Archive, prefix string) tree.Tree {
	t.Helper()
	files := map[string][]byte{}
	for _, f := range archive.Files {
		if path, ok := strings.CutPrefix(f.Name, prefix); ok {
			files[path] = f.Data
		}
	}
	made, err := tree.FromFiles(files)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func sideOf(t *testing.T, archive *txtar.Archive, env string) drift.Side {
	t.Helper()
	base := filesOf(t, archive, "base-"+env+"/")
	if base.IsEmpty() {
		base = filesOf(t, archive, "base/")
	}
	layers := []model.Layer{
		{Kind: model.BuiltIn, Name: "built-in", Files: templates.Files()},
		{Kind: model.Base, Name: "main", Files: base},
		{Kind: model.Env, Name: env, Files: filesOf(t, archive, env+"/")},
	}
	for _, e := range filesOf(t, archive, "workloads/").Entries() {
		layers = append(layers, model.Layer{Kind: model.Workloads, Name: e.Name, Files: e.Tree()})
	}
	m, problems := model.Parse(env, layers...)
	if problems.Stops() {
		t.Fatal(problems.Sorted())
	}
	rendered, problems := output.Render(m, nil, output.Options{})
	if problems.Stops() {
		t.Fatal(problems.Sorted())
	}
	side := drift.Side{Model: m, Tree: rendered}
	for _, f := range archive.Files {
		if f.Name != "COMMITS" {
			continue
		}
		for line := range strings.Lines(string(f.Data)) {
			if words := strings.SplitN(strings.TrimSpace(line), " ", 3); words[0] == env {
				if side.Base == "" {
					side.Base = words[1]
				}
				if len(words) > 2 {
					side.Ahead = append(side.Ahead, drift.Commit{ID: words[1], Title: words[2]})
				}
			}
		}
	}
	return side
}
