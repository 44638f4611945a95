package config_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/fairlead-io/fairlead/internal/config"
)

var update = flag.Bool("update", false, "rewrite the wanted parts of testdata")

// TestProblems reads testdata/*.txtar: files NAME.yaml, each followed by NAME.want,
// the problems with their hints. Files that do not name a control plane get one at
// their end, so that it is not in every case.
func TestProblems(t *testing.T) {
	cases, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(cases) == 0 {
		t.Fatal("there are no cases", err)
	}
	for _, path := range cases {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		wanted := map[string]string{}
		for _, f := range archive.Files {
			wanted[f.Name] = string(f.Data)
		}
		result := &txtar.Archive{Comment: archive.Comment}
		for _, f := range archive.Files {
			name, ok := strings.CutSuffix(f.Name, ".yaml")
			if !ok {
				continue
			}
			got := ""
			t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar")+"/"+name, func(t *testing.T) {
				got = problemsOf(t, string(f.Data))
				if diff := cmp.Diff(wanted[name+".want"], got); diff != "" && !*update {
					t.Errorf("-want +got:\n%s", diff)
				}
			})
			result.Files = append(result.Files, f, txtar.File{Name: name + ".want", Data: []byte(got)})
		}
		if *update {
			if err := os.WriteFile(path, txtar.Format(result), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func problemsOf(t *testing.T, text string) string {
	t.Helper()
	dir := folder(t)
	if !strings.Contains(text, "controlPlane") && !strings.HasPrefix(text, "#") {
		text += required
	}
	s, problems := config.Parse("fairlead.yaml", []byte(text), dir, environment)
	if problems.Stops() == (s != nil) {
		t.Errorf("the settings are %v", s)
	}
	for _, p := range problems {
		if p.Hint == "" || strings.HasSuffix(p.Summary, ".") || strings.HasSuffix(p.Hint, ".") {
			t.Errorf("%v: the hint is %q", p, p.Hint)
		}
	}
	got := shown(problems, dir)
	if strings.Contains(got, "hunter2") {
		t.Errorf("a secret is shown in %s", got)
	}
	if got == "" {
		t.Error("there is no problem")
	}
	return got
}
