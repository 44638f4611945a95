package kustomize

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
)

var update = flag.Bool("update", false, "rewrite the wanted part of the golden files")

// wanted is the section of a golden file that says what comes out; the others
// are the files of the tree. A line "dir: NAME" above them names the folder.
const wanted = "WANT"

func TestBuild(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			input, want := split(t, archive)
			got := printed(Build(input, dirOf(archive)))
			if *update {
				rewrite(t, file, archive, got)
				return
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("wrong build (-want +got):\n%s", diff)
			}
		})
	}
}

func split(t *testing.T, archive *txtar.Archive) (input tree.Tree, want string) {
	t.Helper()
	var b tree.Builder
	for _, f := range archive.Files {
		if f.Name == wanted {
			want = string(f.Data)
			continue
		}
		if err := b.Add(f.Name, f.Data); err != nil {
			t.Fatal(err)
		}
	}
	return b.Tree(), want
}

func dirOf(archive *txtar.Archive) string {
	for line := range strings.Lines(string(archive.Comment)) {
		if dir, ok := strings.CutPrefix(line, "dir: "); ok {
			return strings.TrimSpace(dir)
		}
	}
	return ""
}

func rewrite(t *testing.T, file string, archive *txtar.Archive, got string) {
	t.Helper()
	kept := archive.Files[:0]
	for _, f := range archive.Files {
		if f.Name != wanted {
			kept = append(kept, f)
		}
	}
	archive.Files = append(kept, txtar.File{Name: wanted, Data: []byte(got)})
	if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
		t.Fatal(err)
	}
}

// printed shows objects, each below the file that it is from, and problems.
func printed(objects []Object, problems problem.List) string {
	var b strings.Builder
	for _, o := range objects {
		fmt.Fprintf(&b, "--- # %s\n%s", o.File, o.YAML)
	}
	for _, p := range problems.Sorted() {
		fmt.Fprintf(&b, "%s\n", p)
		if p.Hint != "" {
			fmt.Fprintf(&b, "  hint: %s\n", p.Hint)
		}
	}
	return b.String()
}

// treeOf makes a tree of files by path.
func treeOf(t testing.TB, files map[string]string) tree.Tree {
	t.Helper()
	var b tree.Builder
	for name, text := range files {
		if err := b.Add(name, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	return b.Tree()
}

func configMap(name string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\n"
}

func TestIsKustomizationFile(t *testing.T) {
	for name, want := range map[string]bool{
		"kustomization.yaml": true, "kustomization.yml": true, "Kustomization": true,
		"kustomization": false, "Kustomization.yaml": false, "a/kustomization.yaml": false, "": false,
	} {
		if got := IsKustomizationFile(name); got != want {
			t.Errorf("IsKustomizationFile(%q) = %v", name, got)
		}
	}
}

// TestSameBytes builds one fleet often and in parallel, beside builds that set
// another schema.
func TestSameBytes(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/patches.txtar")
	if err != nil {
		t.Fatal(err)
	}
	input, want := split(t, archive)
	other := treeOf(t, map[string]string{
		"kustomization.yaml": "openapi: {path: schema.json}\nresources: [cm.yaml]\n",
		"cm.yaml":            configMap("a"),
		"schema.json":        `{"definitions": {"x": {"properties": {"a": {"$ref": "#/definitions/y"}}}, "y": {"type": "string"}}}`,
	})
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			if got := printed(Build(input, dirOf(archive))); got != want {
				t.Errorf("another build:\n%s", cmp.Diff(want, got))
			}
		})
		group.Go(func() {
			if _, problems := Build(other, ""); len(problems) > 0 {
				t.Errorf("unexpected problems: %v", problems)
			}
		})
	}
	group.Wait()
}

// TestSchemaStaysInItsBuild shows that a custom schema, by which krusty merges
// lists, is gone in the next build; and so is one that made krusty panic.
func TestSchemaStaysInItsBuild(t *testing.T) {
	const kustomization = "resources: [a.yaml]\npatches:\n- path: patch.yaml\n"
	const object = "apiVersion: example.com/v1\nkind: Thing\nmetadata:\n  name: a\nparts:\n- name: %s\n  size: 1\n"
	files := map[string]string{
		"kustomization.yaml": kustomization,
		"a.yaml":             fmt.Sprintf(object, "one"),
		"patch.yaml":         fmt.Sprintf(object, "two"),
	}
	plain := treeOf(t, files)
	files["kustomization.yaml"] = kustomization + "openapi: {path: schema.json}\n"
	files["schema.json"] = `{"definitions": {"thing": {
		"x-kubernetes-group-version-kind": [{"group": "example.com", "version": "v1", "kind": "Thing"}],
		"properties": {"parts": {"type": "array", "items": {"type": "object"},
			"x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "name"}}}}}`
	custom := treeOf(t, files)
	files["schema.json"] = `{"definitions": 7}`
	broken := treeOf(t, files)

	parts := func(input tree.Tree) int {
		objects, problems := Build(input, "")
		if len(objects) != 1 {
			t.Fatalf("problems: %v", problems)
		}
		return bytes.Count(objects[0].YAML, []byte("size: 1"))
	}
	if got := parts(plain); got != 1 {
		t.Fatalf("without a schema the list has %d parts, want it replaced", got)
	}
	if got := parts(custom); got != 2 {
		t.Fatalf("with the schema the list has %d parts, want them merged", got)
	}
	if got := parts(plain); got != 1 {
		t.Errorf("after the schema the list has %d parts, want it replaced", got)
	}
	if _, problems := Build(broken, ""); !strings.Contains(fmt.Sprint(problems), "kustomize panics: invalid schema file") {
		t.Errorf("a schema that is none: %v", problems)
	}
	if got := parts(plain); got != 1 {
		t.Errorf("after a panic the list has %d parts, want it replaced", got)
	}
}
