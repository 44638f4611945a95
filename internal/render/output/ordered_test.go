package output_test

import (
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/kube/kustomize"
	"github.com/fairlead-io/fairlead/internal/render/output"
	"github.com/fairlead-io/fairlead/internal/testkit/crdtest"
	"github.com/fairlead-io/fairlead/internal/testkit/golden"
	"github.com/fairlead-io/fairlead/templates"
)

func builtInLayer() model.Layer {
	return model.Layer{Kind: model.BuiltIn, Name: "built-in", Files: templates.Files()}
}

// TestOrdered renders deployment targets of several kinds, each with a Kustomization of its own.
func TestOrdered(t *testing.T) {
	golden.Run(t, "testdata/ordered/*.txtar", func(t *testing.T, c *golden.Case) {
		m, problems := model.Parse(c.Environment(), append(c.Layers(t), builtInLayer())...)
		files, more := output.Render(m, nil, output.Options{})
		problems = append(problems, more...).Sorted()
		c.Want(t, "problems", golden.Problems(problems))
		if !problems.Stops() {
			checkOrdered(t, files, "cloud")
		}
		c.Want(t, "files", golden.Files(files))
	})
}

// orderedObject is what the tests read of a Kustomization.
type orderedObject struct {
	Kind     string
	Metadata struct{ Name, Namespace string }
	Spec     struct {
		DependsOn  []struct{ Name string } `yaml:"dependsOn"`
		Path       string
		Components []string
	}
}

// checkOrdered holds the files to the definitions of Flux and tofu-controller, and builds what Flux
// applies of the cluster type's folder: the kustomization of each target, and nothing of what the
// Kustomizations of the targets apply. It returns what each of these depends on.
func checkOrdered(t *testing.T, files tree.Tree, clusterType string) map[string][]string {
	t.Helper()
	schemas, err := crdtest.Load()
	if err != nil {
		t.Fatal(err)
	}
	after := map[string][]string{}
	for _, target := range files.Sub(clusterType).Entries() {
		if !target.IsDir() {
			continue
		}
		for file, data := range target.Tree().All() {
			if path.Base(file) == "kustomization.yaml" {
				continue
			}
			for _, wrong := range schemas.Check(data) {
				t.Errorf("%s/%s: %s", target.Name, file, wrong)
			}
		}
		objects, problems := kustomize.Build(files, path.Join(clusterType, target.Name))
		if problems.Stops() {
			t.Fatal(problems)
		}
		for _, built := range objects {
			var o orderedObject
			if err := yaml.Unmarshal(built.YAML, &o); err != nil {
				t.Fatal(err)
			}
			switch {
			case o.Kind == "Kustomization" && o.Metadata.Namespace == "flux-system" && o.Metadata.Name == target.Name:
				after[target.Name] = []string{}
				for _, d := range o.Spec.DependsOn {
					after[target.Name] = append(after[target.Name], d.Name)
				}
				if e, ok := files.Lookup(o.Spec.Path[strings.Index(o.Spec.Path, clusterType+"/"):]); !ok || !e.IsDir() || e.Tree().IsEmpty() {
					t.Errorf("%s applies the folder %s, which is not there", target.Name, o.Spec.Path)
				}
				checkSeal(t, target, o)
			case o.Kind != "Namespace" && o.Kind != "ConfigMap" && o.Kind != "NetworkPolicy":
				t.Errorf("%s: %s/%s is applied without an order", target.Name, o.Kind, o.Metadata.Name)
			}
		}
		if after[target.Name] == nil {
			t.Errorf("%s has no Kustomization of its own", target.Name)
		}
	}
	return after
}

// checkSeal fails the test unless a Kustomization names the one seal of its target: at a revision where it or
// its objects are other ones, Flux finds none of that name, and applies nothing in the order of before.
func checkSeal(t *testing.T, target tree.Entry, o orderedObject) {
	t.Helper()
	var seals []string
	for _, e := range target.Tree().Entries() {
		if strings.HasPrefix(e.Name, "seal-") {
			seals = append(seals, "../"+e.Name)
		}
	}
	if len(seals) != 1 || !slices.Equal(seals, o.Spec.Components) {
		t.Errorf("%s names the seals %v, and has %v", target.Name, o.Spec.Components, seals)
	}
}

// TestOrderedSeals: the seal of a target changes with its order and with its objects, and with those of no other.
func TestOrderedSeals(t *testing.T) {
	free := map[string][]string{"w00": nil, "w01": nil, "w02": nil}
	before := findSeals(t, free, "v1")
	for name, c := range map[string]struct {
		needs   map[string][]string
		tag     string
		changed []string
	}{
		"the same":      {free, "v1", nil},
		"another order": {map[string][]string{"w00": {"w01"}, "w01": nil, "w02": nil}, "v1", []string{"w00-main"}},
		"other objects": {free, "v2", []string{"w00-main"}},
	} {
		var changed []string
		after := findSeals(t, c.needs, c.tag)
		for _, target := range []string{"w00-main", "w01-main", "w02-main"} {
			if before[target] == "" || before[target] != after[target] {
				changed = append(changed, target)
			}
		}
		if !slices.Equal(changed, c.changed) {
			t.Errorf("%s: the seals of %v change, want %v", name, changed, c.changed)
		}
	}
}

// findSeals returns the seals of targets of all kinds, by what each depends on.
func findSeals(t *testing.T, needs map[string][]string, tag string) map[string]string {
	t.Helper()
	files, problems := output.Render(orderedModel(t, needs, tag), nil, output.Options{})
	if problems.Stops() {
		t.Fatal(problems)
	}
	seals := map[string]string{}
	for file := range files.All() {
		if folder := path.Dir(file); strings.HasPrefix(path.Base(folder), "seal-") {
			seals[path.Base(path.Dir(folder))] = path.Base(folder)
		}
	}
	return seals
}

// orderedModel returns the model of targets of all kinds, by what each depends on, with a tag of their modules.
func orderedModel(t *testing.T, needs map[string][]string, tag string) *model.Model {
	t.Helper()
	kinds := []string{"module: ./a, tag: " + tag, "path: ./a, branch: main", "chart: a, version: '1'"}
	text := object("ClusterType", "cloud", "{reconciler: tofu, namespaceService: default, configType: configmap}") +
		object("SchedulingPolicy", "all", "{clusterTypeSelector: {labelSelector: {}}, deploymentTargetSelector: {labelSelector: {}}}") +
		object("GitOpsRepo", "dev", "{repo: https://example.com/gitops, branch: dev, path: .}")
	for i := range len(needs) {
		name := fmt.Sprintf("w%02d", i)
		text += strings.Replace(object("Workload", name, "{deploymentTargets: [{name: main, environment: dev, manifests: {repo: 'https://example.com/a', "+kinds[i%len(kinds)]+"}}]}"),
			"{name: "+name+"}", "{name: "+name+", annotations: {fairlead.io/depends-on: '"+strings.Join(needs[name], ", ")+"'}}", 1)
	}
	text = strings.ReplaceAll(text, ", annotations: {fairlead.io/depends-on: ''}", "")
	m, problems := model.Parse("dev", model.Layer{Kind: model.Env, Name: "dev", Files: tree.FromEntries([]tree.Entry{tree.File("a.yaml", []byte(text))})}, builtInLayer())
	if problems.Stops() {
		t.Fatal(problems)
	}
	return m
}

func object(kind, name, spec string) string {
	return "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: " + kind + "\nmetadata: {name: " + name + "}\nspec: " + spec + "\n---\n"
}

// TestOrderIsTheGraph: for random graphs, what the Kustomizations depend on is what the workloads name,
// across all kinds, and a cache does not change it.
func TestOrderIsTheGraph(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var cache output.Cache
	for range 12 {
		needs := map[string][]string{}
		want := map[string][]string{}
		for i := range 2 + r.IntN(10) {
			name := fmt.Sprintf("w%02d", i)
			needs[name], want[name+"-main"] = nil, []string{}
			for j := range i {
				if r.IntN(3) == 0 {
					needs[name] = append(needs[name], fmt.Sprintf("w%02d", j))
					want[name+"-main"] = append(want[name+"-main"], fmt.Sprintf("w%02d-main", j))
				}
			}
		}
		m := orderedModel(t, needs, "v1")
		files, problems := output.Render(m, nil, output.Options{})
		cached, more := output.Render(m, &cache, output.Options{})
		if problems.Stops() || more.Stops() || files.ID() != cached.ID() {
			t.Fatalf("%v %v, the same with a cache: %v", problems, more, files.ID() == cached.ID())
		}
		if diff := cmp.Diff(want, checkOrdered(t, files, "cloud")); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
}

// TestOrderedStopsAlone: a target that cannot be ordered is a problem, and no output.
func TestOrderedStopsAlone(t *testing.T) {
	m := orderedModel(t, map[string][]string{"w00": {"w00"}}, "v1")
	files, problems := output.Render(m, nil, output.Options{})
	if !files.IsEmpty() || !slices.ContainsFunc(problems, func(p problem.Problem) bool { return strings.Contains(p.Summary, "circular") }) {
		t.Errorf("%v", problems)
	}
}
