package clusterfiles_test

import (
	"errors"
	"io"
	"path"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/kube/kustomize"
	"github.com/fairlead-io/fairlead/internal/render/clusterfiles"
	"github.com/fairlead-io/fairlead/internal/render/output"
	"github.com/fairlead-io/fairlead/internal/testkit/crdtest"
	"github.com/fairlead-io/fairlead/internal/testkit/golden"
)

// renderCase renders the environment of a case as the program does.
func renderCase(t *testing.T, c *golden.Case) (*model.Model, tree.Tree, problem.List) {
	t.Helper()
	builtIn := model.Layer{Kind: model.BuiltIn, Name: "built-in", Files: c.Tree(t, "templates")}
	m, problems := model.Parse(c.Environment(), append(c.Layers(t), builtIn)...)
	files, more := output.Render(m, nil, output.Options{})
	return m, files.Sub(clusterfiles.Folder), append(problems, more...).Sorted()
}

// TestFiles shows the files of manifests, and builds each folder as Flux does.
func TestFiles(t *testing.T) {
	golden.Run(t, "testdata/*.txtar", func(t *testing.T, c *golden.Case) {
		_, files, problems := renderCase(t, c)
		c.Want(t, "problems", golden.Problems(problems))
		c.Want(t, "files", golden.Files(files))
		if problems.Stops() {
			return
		}
		checkObjects(t, files)
		checkReached(t, files)
	})
}

// checkObjects checks all objects as an API server does, but for Secrets, which are passed on as they
// are.
func checkObjects(t *testing.T, files tree.Tree) {
	t.Helper()
	schemas, err := crdtest.Load()
	if err != nil {
		t.Fatal(err)
	}
	for file, data := range files.All() {
		switch name := path.Base(file); {
		case name == "kustomization.yaml" || name == "lock.yaml" || name == "plan.yaml" || path.Ext(name) == ".tf" || strings.HasPrefix(name, "secret-"):
			continue
		}
		for _, wrong := range schemas.Check(data) {
			t.Errorf("%s: %s", file, wrong)
		}
	}
}

// applied is what the tests read of an object.
type applied struct {
	Kind     string
	Metadata struct {
		Name        string
		Annotations map[string]string
	}
	Spec struct {
		Path       string
		Components []string
		DependsOn  []struct{ Name string } `yaml:"dependsOn"`
	}
}

// checkReached builds all that Flux applies, from the root on, and reports files that it does not reach,
// and Kustomizations that wait for one that is not there.
func checkReached(t *testing.T, files tree.Tree) {
	t.Helper()
	root := tree.FromEntries([]tree.Entry{tree.Dir(clusterfiles.Folder, files)})
	folders, names, built := []string{clusterfiles.Folder}, map[string]bool{}, 0
	for i := 0; i < len(folders); i++ {
		objects, problems := kustomize.Build(root, folders[i])
		if problems.Stops() {
			t.Fatalf("%s: %v", folders[i], problems)
		}
		for _, object := range objects {
			var o applied
			if err := yaml.Unmarshal(object.YAML, &o); err != nil {
				t.Fatal(err)
			}
			built++
			if o.Kind != "Kustomization" {
				continue
			}
			names[o.Metadata.Name] = true
			for _, d := range o.Spec.DependsOn {
				if !names[d.Name] {
					t.Errorf("%s waits for %s, which does not come before it", o.Metadata.Name, d.Name)
				}
			}
			if folder := strings.TrimPrefix(o.Spec.Path, "./"); strings.HasPrefix(folder, clusterfiles.Folder+"/") {
				folders = append(folders, folder)
				if isSealed := len(o.Spec.Components) == 1; isSealed != strings.Contains(folder, "/objects/") {
					t.Errorf("%s of %s names the seals %v", o.Metadata.Name, folder, o.Spec.Components)
				} else if isSealed && root.Sub(path.Join(folder, o.Spec.Components[0])).IsEmpty() {
					t.Errorf("%s names the seal %s, which is not there", o.Metadata.Name, o.Spec.Components[0])
				}
			}
		}
	}
	if built == 0 {
		t.Error("Flux applies nothing")
	}
}

// TestHealth evaluates the conditions of health as Flux does: a condition that fails counts as false.
func TestHealth(t *testing.T) {
	statuses := []struct{ name, status, with, without string }{
		{"not seen yet", `{}`, "in progress", "in progress"},
		{"begun", `{state: IN_PROGRESS, clusters: {dev: {state: IN_PROGRESS}}}`, "in progress", "in progress"},
		{"before it is picked up", `{state: WATCHING_FOR_CHANGES}`, "in progress", "current"},
		{"no clusters", `{state: WATCHING_FOR_CHANGES, clusters: {}}`, "in progress", "current"},
		{"steady, or still to be destroyed", `{state: WATCHING_FOR_CHANGES, clusters: {dev: {state: DONE}}}`, "current", "in progress"},
		{"version 0.9", `{state: DONE, clusters: {dev: {state: DONE}}}`, "current", "in progress"},
		{"another one is still to be destroyed", `{state: DONE, clusters: {dev: {state: DONE}, prod: {state: DONE}}}`, "in progress", "in progress"},
		{"another one was made before", `{state: DONE, clusters: {prod: {state: DONE}}}`, "in progress", "in progress"},
		{"it waits", `{state: WATCHING_FOR_CHANGES, clusters: {dev: {state: WAIT_FOR_PICKUP}}}`, "in progress", "in progress"},
		{"one failed, others go on", `{state: IN_PROGRESS, clusters: {dev: {state: IN_PROGRESS}, prod: {state: ERROR}}}`, "in progress", "in progress"},
		{"one failed", `{state: WATCHING_FOR_CHANGES, clusters: {dev: {state: DONE}, prod: {state: ERROR}}}`, "failed", "failed"},
		{"failed", `{state: ERROR}`, "failed", "failed"},
		{"a Secret is missing", `{state: "WATCHING_FOR_CHANGES (describe resource for detailed report)\n\nno secret"}`, "failed", "failed"},
		{"deleted", `{state: SCHEDULED_FOR_DELETION, clusters: {dev: {state: IN_PROGRESS}}}`, "in progress", "in progress"},
	}
	with := map[string]any{"kubernetes": map[string]any{"clusters": []any{map[string]any{"name": "dev"}}}}
	golden.Run(t, "testdata/*.txtar", func(t *testing.T, c *golden.Case) {
		_, files, _ := renderCase(t, c)
		for file, data := range files.All() {
			if path.Base(file) != "flux.yaml" {
				continue
			}
			for _, h := range healthOf(t, string(data)) {
				for _, s := range statuses {
					var status any
					if err := yaml.Unmarshal([]byte(s.status), &status); err != nil {
						t.Fatal(err)
					}
					for _, side := range []struct {
						spec any
						want string
					}{{with, s.with}, {map[string]any{"providers": []any{}}, s.without}, {map[string]any{"kubernetes": map[string]any{}}, s.without}} {
						if got := h.evaluate(t, map[string]any{"status": status, "spec": side.spec}); got != side.want {
							t.Errorf("%s: %s, with the spec %v: got %q, want %q", file, s.name, side.spec, got, side.want)
						}
					}
				}
			}
		}
	})
}

// health is when an object counts as failed, as in progress, and as ready.
type health struct {
	Failed, Current string
	InProgress      string `yaml:"inProgress"`
}

// healthOf returns the conditions of health of a file of Kustomizations.
func healthOf(t *testing.T, text string) []health {
	t.Helper()
	var all []health
	decoder := yaml.NewDecoder(strings.NewReader(text))
	for {
		var k struct {
			Spec struct {
				HealthCheckExprs []health `yaml:"healthCheckExprs"`
			}
		}
		err := decoder.Decode(&k)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, k.Spec.HealthCheckExprs...)
	}
}

// evaluate returns what an object counts as, as Flux finds it.
func (h health) evaluate(t *testing.T, object map[string]any) string {
	t.Helper()
	switch {
	case evaluate(t, h.InProgress, object):
	case evaluate(t, h.Failed, object):
		return "failed"
	case evaluate(t, h.Current, object):
		return "current"
	}
	return "in progress"
}

func evaluate(t *testing.T, expression string, object map[string]any) bool {
	t.Helper()
	env, err := cel.NewEnv(cel.Variable("metadata", cel.DynType), cel.Variable("spec", cel.DynType), cel.Variable("status", cel.DynType))
	if err != nil {
		t.Fatal(err)
	}
	compiled, issues := env.Compile(expression)
	if issues.Err() != nil {
		t.Fatalf("%s: %v", expression, issues.Err())
	}
	program, err := env.Program(compiled)
	if err != nil {
		t.Fatal(err)
	}
	result, _, err := program.Eval(object)
	return err == nil && result.Value() == true
}

// TestCheckPrevious compares the manifests of a case with the output of its files below previous.
func TestCheckPrevious(t *testing.T) {
	golden.Run(t, "testdata/previous/*.txtar", func(t *testing.T, c *golden.Case) {
		before, problems := model.Parse("dev", model.Layer{Kind: model.Env, Name: "dev", Files: c.Tree(t, "before")})
		files, more := output.Render(before, nil, output.Options{})
		if problems = append(problems, more...); problems.Stops() {
			t.Fatalf("the previous output: %s", golden.Problems(problems))
		}
		if text := c.Text("EDIT"); text != "" {
			from, to, _ := strings.Cut(strings.TrimSpace(text), " => ")
			files = editLocks(t, files, from, to)
		}
		m, _ := model.Parse("dev", c.Layers(t)...)
		c.Want(t, "problems", golden.Problems(clusterfiles.CheckPrevious(m, files)))
	})
}

// editLocks returns an output in which a text of all locks is another one.
func editLocks(t *testing.T, files tree.Tree, from, to string) tree.Tree {
	t.Helper()
	var b tree.Builder
	for file, data := range files.All() {
		if path.Base(file) == "lock.yaml" {
			data = []byte(strings.ReplaceAll(string(data), from, to))
		}
		if err := b.Add(file, data); err != nil {
			t.Fatal(err)
		}
	}
	return b.Tree()
}
