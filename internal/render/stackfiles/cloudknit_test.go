package stackfiles_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
	"github.com/fairlead-io/fairlead/internal/testkit/golden"
)

// moveToBase returns the file of an environment of CloudKnit as a blueprint, and the file of a stack that takes it:
// what names the state is the environment's, and files are named without their repository, because they move too.
func moveToBase(t *testing.T, text string) (blueprint, stack string) {
	t.Helper()
	var object map[string]any
	if err := yaml.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	spec := object["spec"].(map[string]any)
	own := maps.Clone(object)
	own["spec"] = map[string]any{"teamName": spec["teamName"], "envName": spec["envName"]}
	delete(spec, "teamName")
	delete(spec, "envName")
	for _, one := range spec["components"].([]any) {
		component := one.(map[string]any)
		if file, has := component["variablesFile"].(map[string]any); has {
			delete(file, "source")
		}
		overlays, _ := component["overlayFiles"].([]any)
		for _, file := range overlays {
			delete(file.(map[string]any), "source")
		}
	}
	print := func(of any) string {
		data, err := yaml.Marshal(of)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	return print(object), print(own)
}

// renderLayers renders the files of a base and of an environment.
func renderLayers(t *testing.T, base, env map[string][]byte) (files map[string]string, summary string) {
	t.Helper()
	layer := func(kind model.LayerKind, name string, files map[string][]byte) model.Layer {
		made, err := tree.FromFiles(files)
		if err != nil {
			t.Fatal(err)
		}
		return model.Layer{Kind: kind, Name: name, Files: made}
	}
	m, problems := model.Parse("dev", layer(model.Base, "main", base), layer(model.Env, "dev", env))
	rendered, more := stackfiles.Render(m)
	for _, p := range append(problems, more...).Sorted() {
		if strings.Contains(p.Summary, "has no source, which CloudKnit does not take") { // so it is meant in the base
			continue
		}
		kind := "problem"
		if p.Warning {
			kind = "warning"
		}
		summary += fmt.Sprintf("%s: %s: %s\n", kind, p.Subject, p.Summary)
	}
	stacks, err := stackfiles.Summarize(rendered)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range stacks {
		for _, c := range s.Components {
			summary += fmt.Sprintf("%s/%s: %s, %s, approval %q, after %s, protected %v\n", s.Stack, c.Name, c.Type, c.Action, c.Approval, c.After, c.Protected)
		}
	}
	files = map[string]string{}
	for name, data := range rendered.All() {
		files[name] = string(data)
	}
	return files, summary
}

// TestCloudKnit: what users of CloudKnit write becomes the same files as a stack, and as a stack that takes it as a
// blueprint.
func TestCloudKnit(t *testing.T) {
	golden.Run(t, "testdata/cloudknit.txtar", func(t *testing.T, c *golden.Case) {
		shared, found := map[string][]byte{}, 0
		archive, err := txtar.ParseFile("testdata/cloudknit.txtar")
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.Files {
			if name, isShared := strings.CutPrefix(f.Name, "files/"); isShared {
				shared[name] = f.Data
			}
		}
		for _, f := range archive.Files {
			file := f.Name
			name, isEnvironment := strings.CutSuffix(file, ".yaml")
			if !isEnvironment || strings.Contains(name, "/") {
				continue
			}
			found++
			with := func(more map[string]string) map[string][]byte {
				all := maps.Clone(shared)
				for name, text := range more {
					all[name] = []byte(text)
				}
				return all
			}
			plain, want := renderLayers(t, nil, with(map[string]string{"settings.yaml": settingsText, "stack.yaml": c.Text(file)}))
			blueprint, stack := moveToBase(t, c.Text(file))
			team := string(shared["team.yaml"])
			inBase := with(map[string]string{"blueprint.yaml": blueprint})
			delete(inBase, "team.yaml")
			taken, got := renderLayers(t, inBase, map[string][]byte{"settings.yaml": []byte(settingsText), "team.yaml": []byte(team), "stack.yaml": []byte(stack)})
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: -as a stack +as a blueprint:\n%s", name, diff)
			}
			if diff := cmp.Diff(plain, taken); diff != "" {
				t.Errorf("%s: -as a stack +as a blueprint:\n%s", name, diff)
			}
			c.Want(t, name+".want", want)
		}
		if found != 25 {
			t.Errorf("there are %d environments, and 25 are wanted", found)
		}
	})
}
