// Package golden runs tests that are text files: txtar archives that hold a control plane
// and the wanted results.
//
// The files of an archive are the layers of an environment, base/…, env/… and
// workloads/<registration>/…, and the wanted texts, each in a file of its own. The
// comment on top says what the case pins. The first line of the file ENV is the
// environment's name ("dev" without one).
//
// What the package keeps true: with -update the wanted texts are rewritten in
// place and nothing else is; without it a difference fails the test.
package golden

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

var update = flag.Bool("update", false, "rewrite the wanted parts of the golden files")

// Case is one archive.
type Case struct {
	path    string
	archive *txtar.Archive
}

// Run runs a test for every archive that the pattern matches; there must be one.
func Run(t *testing.T, pattern string, test func(*testing.T, *Case)) {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("no golden file matches %s (%v)", pattern, err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			test(t, &Case{path, archive})
		})
	}
}

// Text returns the content of a file of the archive; "" if there is none.
func (c *Case) Text(name string) string {
	if i := c.fileIndex(name); i >= 0 {
		return string(c.archive.Files[i].Data)
	}
	return ""
}

func (c *Case) fileIndex(name string) int {
	return slices.IndexFunc(c.archive.Files, func(f txtar.File) bool { return f.Name == name })
}

// Environment returns the name of the case's environment.
func (c *Case) Environment() string {
	if env := strings.TrimSpace(c.Text("ENV")); env != "" {
		return env
	}
	return "dev"
}

// Tree returns the files of the archive below a folder.
func (c *Case) Tree(t *testing.T, folder string) tree.Tree {
	t.Helper()
	var b tree.Builder
	for _, f := range c.archive.Files {
		if path, ok := strings.CutPrefix(f.Name, folder+"/"); ok {
			if err := b.Add(path, f.Data); err != nil {
				t.Fatal(err)
			}
		}
	}
	return b.Tree()
}

// Layers returns the layers of the environment, without built-in templates.
func (c *Case) Layers(t *testing.T) []model.Layer {
	t.Helper()
	layers := []model.Layer{
		{Kind: model.Base, Name: "main", Files: c.Tree(t, "base")},
		{Kind: model.Env, Name: c.Environment(), Files: c.Tree(t, "env")},
	}
	if decisions := c.Tree(t, "env/"+model.DecisionFolder); !decisions.IsEmpty() {
		layers = append(layers, model.Layer{Kind: model.Decisions, Name: c.Environment(), Files: decisions, Prefix: model.DecisionFolder})
	}
	for _, e := range c.Tree(t, "workloads").Entries() {
		layers = append(layers, model.Layer{Kind: model.Workloads, Name: e.Name, Files: e.Tree()})
	}
	return layers
}

// Want compares a text with the file of the archive that holds the wanted one.
func (c *Case) Want(t *testing.T, name, got string) {
	t.Helper()
	if got != "" && !strings.HasSuffix(got, "\n") {
		got += "\n"
	}
	if *update {
		c.rewriteFile(t, name, got)
		return
	}
	if diff := cmp.Diff(c.Text(name), got); diff != "" {
		t.Errorf("%s: %s differs (-want +got); go test -update rewrites it:\n%s", c.path, name, diff)
	}
}

func (c *Case) rewriteFile(t *testing.T, name, got string) {
	t.Helper()
	i := c.fileIndex(name)
	switch {
	case i < 0 && got == "":
		return
	case i < 0:
		c.archive.Files = append(c.archive.Files, txtar.File{Name: name, Data: []byte(got)})
	case bytes.Equal(c.archive.Files[i].Data, []byte(got)):
		return
	default:
		c.archive.Files[i].Data = []byte(got)
	}
	if err := os.WriteFile(c.path, txtar.Format(c.archive), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Files returns a tree as one text: a line "=== path" before each file. The end of a file
// without a final newline is marked, and trailing spaces are made visible.
func Files(t tree.Tree) string {
	var b strings.Builder
	for path, data := range t.All() {
		b.WriteString("=== " + path + "\n")
		text := string(data)
		for line := range strings.Lines(text) {
			body, ended := strings.CutSuffix(line, "\n")
			if trimmed := strings.TrimRight(body, " "); trimmed != body {
				body = trimmed + strings.Repeat("·", len(body)-len(trimmed))
			}
			b.WriteString(body)
			if !ended {
				b.WriteString("⏎ no newline at the end")
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

// Problems returns problems as people see them, one a line, with their hints.
func Problems(list problem.List) string {
	var b strings.Builder
	for _, p := range list {
		if p.Warning {
			b.WriteString("warning: ")
		}
		b.WriteString(p.String() + "\n")
		if p.Hint != "" {
			b.WriteString("  hint: " + p.Hint + "\n")
		}
	}
	return b.String()
}
