package stackfiles_test

import (
	"fmt"
	"path"
	"strings"
	"sync"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/kube/kustomize"
	"github.com/fairlead-io/fairlead/internal/render/output"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
	"github.com/fairlead-io/fairlead/internal/testkit/crdtest"
	"github.com/fairlead-io/fairlead/internal/testkit/golden"
)

// settingsText is in every case that has no settings of its own.
const settingsText = `apiVersion: scheduler.kalypso.io/v1alpha1
kind: GitOpsRepo
metadata: {name: dev}
spec: {repo: https://example.com/zmart/gitops, branch: dev, path: .}
---
apiVersion: scheduler.kalypso.io/v1alpha1
kind: Environment
metadata: {name: dev}
spec:
  controlPlane: {repo: https://github.com/zl-zmart-tech/checkout-team-config, branch: dev, path: .}
---
apiVersion: fairlead.io/v1alpha1
kind: StackSettings
metadata: {name: stacks}
spec:
  state: {bucket: zlifecycle-prod-tfstate-zmart, region: us-east-1, lockTable: zlifecycle-prod-tflock-zmart}
`

// renderCase renders the environment of a case as the program does, and returns the files of its
// stacks.
func renderCase(t *testing.T, c *golden.Case) (tree.Tree, problem.List) {
	t.Helper()
	layers := c.Layers(t)
	if c.Text("env/settings.yaml") == "" {
		layers[1].Files = withFile(t, layers[1].Files, "settings.yaml", settingsText)
	}
	m, problems := model.Parse(c.Environment(), append(layers, repositoryLayers(t, c)...)...)
	files, more := output.Render(m, nil, output.Options{})
	return files, append(problems, more...).Sorted()
}

// repositoryLayers returns the layers of other repositories: each line of REPOSITORIES is the name of
// one, its folder in the case, its commit, and "branch" if that is the head of one; of a team it is
// the name and the folder.
func repositoryLayers(t *testing.T, c *golden.Case) []model.Layer {
	t.Helper()
	var all []model.Layer
	for line := range strings.Lines(c.Text("REPOSITORIES")) {
		words := strings.Fields(line)
		layer := model.Layer{Kind: model.TeamStacks, Name: words[0], Files: c.Tree(t, words[1])}
		if len(words) > 2 {
			layer.Kind, layer.Commit, layer.Moves = model.Files, words[2], len(words) > 3
		}
		all = append(all, layer)
	}
	return all
}

func withFile(t *testing.T, files tree.Tree, name, text string) tree.Tree {
	t.Helper()
	all, err := tree.Union(files, tree.FromEntries([]tree.Entry{tree.File(name, []byte(text))}))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestFiles shows all files of a few stacks.
func TestFiles(t *testing.T) {
	golden.Run(t, "testdata/files/*.txtar", func(t *testing.T, c *golden.Case) {
		files, problems := renderCase(t, c)
		c.Want(t, "problems", golden.Problems(problems))
		c.Want(t, "files", golden.Files(files))
		checkFiles(t, files)
	})
}

// TestStacks shows what matters of many stacks: problems, the order, and what is done with each
// component.
func TestStacks(t *testing.T) {
	golden.Run(t, "testdata/stacks/*.txtar", func(t *testing.T, c *golden.Case) {
		files, problems := renderCase(t, c)
		c.Want(t, "problems", golden.Problems(problems))
		c.Want(t, "order", summarize(t, files))
		modules := ""
		if !problems.StopsEnvironment() {
			modules = selectFiles(files, strings.Fields(c.Text("SHOW")))
			checkFiles(t, files)
		}
		c.Want(t, "modules", modules)
	})
}

// selectFiles returns the files with one of the given names.
func selectFiles(files tree.Tree, names []string) string {
	var b tree.Builder
	for file, e := range files.Walk() {
		for _, name := range names {
			if strings.HasSuffix(file, "/"+name) {
				_ = b.AddEntry(file, e) // the tree had it there
			}
		}
	}
	return golden.Files(b.Tree())
}

// decoded is what the tests read of an object.
type decoded struct {
	Kind     string
	Metadata struct {
		Name, Namespace string
		Labels          map[string]string
		Annotations     map[string]string
	}
	Spec struct {
		DependsOn   []struct{ Name string } `yaml:"dependsOn"`
		Path        string
		ApprovePlan string `yaml:"approvePlan"`
		Destroy     bool
		Suspend     bool
		Wait        bool
		// StoreReadablePlan and Webhooks are those of a Terraform object.
		StoreReadablePlan string `yaml:"storeReadablePlan"`
		Webhooks          []any
		Ref               struct{ Branch, Commit string }
		SourceRef         struct{ Namespace string } `yaml:"sourceRef"`
	}
}

func decodeObject(t *testing.T, data []byte) (o decoded) {
	t.Helper()
	if err := yaml.Unmarshal(data, &o); err != nil {
		t.Fatal(err)
	}
	return o
}

// summarize returns a line for each component: what it waits for, and what is done with it.
func summarize(t *testing.T, files tree.Tree) string {
	t.Helper()
	var b strings.Builder
	for file, data := range files.All() {
		if path.Base(file) != "flux-kustomization.yaml" {
			continue
		}
		o := decodeObject(t, data)
		var after []string
		for _, d := range o.Spec.DependsOn {
			after = append(after, d.Name)
		}
		fmt.Fprintf(&b, "%s after [%s]", o.Metadata.Name, strings.Join(after, " "))
		if e, ok := files.Lookup(path.Join(path.Dir(file), "objects", "terraform.yaml")); ok {
			terraform := decodeObject(t, e.Data)
			fmt.Fprintf(&b, ": destroy %v, approvePlan %q", terraform.Spec.Destroy, terraform.Spec.ApprovePlan)
			if terraform.Spec.Suspend {
				fmt.Fprintf(&b, ", suspended, wait %v", o.Spec.Wait)
			}
			if p := terraform.Metadata.Annotations["kustomize.toolkit.fluxcd.io/prune"]; p != "" {
				fmt.Fprintf(&b, ", prune %s", p)
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

var loadSchemas = sync.OnceValues(crdtest.Load)

// checkFiles holds rendered files to the definitions of Flux and tofu-controller, and looks whether
// Flux reaches all of them from the folder of stacks.
func checkFiles(t *testing.T, files tree.Tree) {
	t.Helper()
	schemas, err := loadSchemas()
	if err != nil {
		t.Fatal(err)
	}
	checkReach(t, files)
	for file, data := range files.All() {
		if !strings.HasPrefix(file, stackfiles.ObjectsFolder+"/") || path.Base(file) == "kustomization.yaml" {
			continue
		}
		for _, wrong := range schemas.Check(data) {
			t.Errorf("%s: %s", file, wrong)
		}
	}
}

// checkReach builds the kustomizations as Flux does: the first one gives the Kustomizations and the
// namespaces and nothing else, and each of these the objects of its component. All files are reached.
func checkReach(t *testing.T, files tree.Tree) {
	t.Helper()
	if files.IsEmpty() {
		return
	}
	reached := map[string]bool{}
	folders := []string{stackfiles.ObjectsFolder}
	for i := 0; i < len(folders); i++ {
		whole := files.Sub(folders[i])
		if _, ok := whole.Lookup("kustomization.yaml"); !ok { // Flux would list the files
			for file, data := range whole.All() {
				reached[path.Join(folders[i], file)] = true
				if o := decodeObject(t, data); o.Kind == "Kustomization" && o.Spec.SourceRef.Namespace != "" { // of the output
					t.Errorf("%s: a Kustomization among the objects of a component", file)
				}
			}
			continue
		}
		objects, problems := kustomize.Build(files, folders[i])
		if problems.Stops() {
			t.Fatalf("%s: %v", folders[i], problems)
		}
		for _, built := range objects {
			o := decodeObject(t, built.YAML)
			switch o.Kind {
			case "Kustomization":
				folders = append(folders, o.Spec.Path[strings.Index(o.Spec.Path, stackfiles.ObjectsFolder+"/"):])
			case "Namespace":
			case "ConfigMap":
				reached[path.Join(folders[i], "none.yaml")] = o.Metadata.Name == "fairlead-stacks"
			default:
				t.Errorf("%s: %s/%s is applied without an order", folders[i], o.Kind, o.Metadata.Name)
			}
		}
	}
	for file := range files.Sub(stackfiles.ObjectsFolder).All() {
		file = path.Join(stackfiles.ObjectsFolder, file)
		structural := path.Base(file) == "kustomization.yaml" || path.Base(file) == "namespace.yaml" || path.Base(file) == "flux-kustomization.yaml"
		if !structural && !reached[file] {
			t.Errorf("%s: no Kustomization applies it", file)
		}
	}
}
