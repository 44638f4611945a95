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
		DependsOn []struct{ Name string } `yaml:"dependsOn"`
		Path      string
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

// orderedModel returns the model of targets of all kinds, by what each depends on.
func orderedModel(t *testing.T, needs map[string][]string) *model.Model {
	t.Helper()
	kinds := []string{"module: ./a, tag: v1", "path: ./a, branch: main", "chart: a, version: '1'"}
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
		m := orderedModel(t, needs)
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
	m := orderedModel(t, map[string][]string{"w00": {"w00"}})
	files, problems := output.Render(m, nil, output.Options{})
	if !files.IsEmpty() || !slices.ContainsFunc(problems, func(p problem.Problem) bool { return strings.Contains(p.Summary, "circular") }) {
		t.Errorf("%v", problems)
	}
}
