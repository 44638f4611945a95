package edit_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/edit"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/schemas"
)

func files(t *testing.T, texts map[string]string) tree.Tree {
	t.Helper()
	var b tree.Builder
	for file, text := range texts {
		if err := b.Add(file, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	return b.Tree()
}

func object(kind, name, rest string) string {
	return "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: " + kind + "\nmetadata:\n  name: " + name + "\n" + rest
}

// TestKinds: every kind that commands create is one that the control plane has, and a new object of it has a schema.
func TestKinds(t *testing.T) {
	words := map[string]bool{}
	for _, k := range edit.Kinds {
		if _, known := schemas.Schema(k.Kind); !known {
			t.Errorf("%s has no schema", k.Kind)
		}
		if words[k.Word] {
			t.Errorf("two kinds are called %s", k.Word)
		}
		words[k.Word] = true
		if kind, found := edit.FindKind(k.Word, nil); !found || kind != k.Kind {
			t.Errorf("%s is %s", k.Word, kind)
		}
	}
	for _, k := range model.Kinds {
		if _, found := edit.FindKind(strings.ToLower(k.Kind), schemas.Kinds()); !found {
			t.Errorf("%s cannot be set", k.Kind)
		}
	}
}

// TestCreatedObjects: with only what is required, and with everything, a new object has no problem of its own.
func TestCreatedObjects(t *testing.T) {
	examples := map[edit.FieldType]string{edit.Text: "config", edit.Pairs: "size=large", edit.Selector: "size=large", edit.Files: "kind: ConfigMap\n"}
	for _, k := range edit.Kinds {
		if k.Kind == "Environment" || k.Kind == "DeploymentTarget" { // made as copies, and in workloads
			continue
		}
		for _, all := range []bool{false, true} {
			values := edit.Values{}
			for _, f := range k.Fields {
				if f.Required || all {
					values[f.Flag] = []string{examples[f.Type]}
				}
			}
			file, text, err := edit.Create(tree.Tree{}, "plane", &k, "one", values)
			if err != nil || file != "plane/"+k.Folder+"/one.yaml" {
				t.Errorf("%s: %s, %v", k.Kind, file, err)
				continue
			}
			layer := model.Layer{Kind: model.Base, Name: "main", Files: files(t, map[string]string{file: string(text)})}
			if found := model.NewParser().Scan("dev", layer); found.Problems.Stops() {
				t.Errorf("%s: %v\n%s", k.Kind, found.Problems, text)
			}
		}
	}
}

// TestNewFile: an object is written where the others of its kind are.
func TestNewFile(t *testing.T) {
	k := edit.Kinds[1]
	in := files(t, map[string]string{"a/x.yaml": object("ClusterType", "x", ""), "b/y.yaml": object("ClusterType", "y", ""), "b/z.yml": object("ClusterType", "z", ""), "b/broken.yaml": "kind: ClusterType\n\tx"})
	if file, _, err := edit.Create(in, "", &k, "New", nil); file != "b/new.yaml" || err != nil {
		t.Errorf("%s, %v", file, err)
	}
	if _, _, err := edit.Create(in, "", &k, "broken", nil); err == nil {
		t.Error("a file is overwritten")
	}
}

func TestDeleteDocument(t *testing.T) {
	one, two, three := object("ClusterType", "one", ""), object("ClusterType", "two", "spec: {}\n"), object("ClusterType", "three", "# the end\n")
	for _, c := range []struct{ text, name, want string }{
		{one, "one", ""},
		{"# about\n" + one + "---\n" + two, "one", two},
		{"---\n" + one + "---\n" + two, "one", "---\n" + two},
		{one + "---\n# about two\n" + two + "--- # next\n" + three, "two", one + "--- # next\n" + three},
		{one + "---\n" + two + "---\n" + three, "three", one + "---\n" + two},
	} {
		file, got, err := edit.Delete(files(t, map[string]string{"x.yaml": c.text}), "ClusterType", c.name, "")
		if err != nil || file != "x.yaml" || (got == nil) != (c.want == "") || string(got) != c.want {
			t.Errorf("without %s: %v\n%s", c.name, err, cmp.Diff(c.want, string(got)))
		}
	}
}

func TestParseSetting(t *testing.T) {
	for text, want := range map[string]edit.Setting{
		"a=b": {Path: "a", Value: "b"}, "a=b=c": {Path: "a", Value: "b=c"}, "a=": {Path: "a"}, "a-": {Path: "a", Remove: true}, "a-=b": {Path: "a-", Value: "b"},
	} {
		if got, err := edit.ParseSetting(text); err != nil || got != want {
			t.Errorf("%s is %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "a", "=b", "-"} {
		if got, err := edit.ParseSetting(text); err == nil {
			t.Errorf("%q is %+v", text, got)
		}
	}
}

// TestPaths: where a path leads, by the kind.
func TestPaths(t *testing.T) {
	in := files(t, map[string]string{
		"c.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\n  labels: {a: b}\ndata:\n  x.y: 1.0\n",
		"w.yaml": object("Workload", "w", "spec:\n  deploymentTargets:\n  - name: t\n    environment: dev\n    manifests: {path: a}\n"),
		"r.yaml": object("BaseRepo", "r", "spec:\n  branch: main\n"),
	})
	for _, c := range []struct{ kind, name, setting, want string }{
		{"ConfigMap", "c", "x.y=true", `x.y: "true"`},
		{"ConfigMap", "c", "labels.example.com/a=1", `labels: {a: b, example.com/a: "1"}`},
		{"ConfigMap", "c", "z..w=1", `z..w: "1"`},
		{"Workload", "w", "annotations.fairlead.io/depends-on=x", "annotations:\n    fairlead.io/depends-on: x"},
		{"DeploymentTarget", "w/t", "manifests.path=b", "manifests: {path: b}"},
		{"DeploymentTarget", "w/t", "labels.a=true", "labels:\n      a: \"true\""},
		{"BaseRepo", "r", "branch=1", `branch: "1"`},
		{"BaseRepo", "r", "spec.path=./x", "path: ./x"},
	} {
		s, err := edit.ParseSetting(c.setting)
		if err != nil {
			t.Fatal(err)
		}
		if _, got, err := edit.Set(in, c.kind, c.name, "dev", []edit.Setting{s}); err != nil || !strings.Contains(string(got), c.want) {
			t.Errorf("%s: %v\n%s", c.setting, err, got)
		}
	}
	for _, setting := range []string{"metadata.name=x", "kind=x", "a[=x", "path={"} {
		s, _ := edit.ParseSetting(setting)
		var refusal *problem.Refusal
		if _, got, err := edit.Set(in, "BaseRepo", "r", "", []edit.Setting{s}); !errors.As(err, &refusal) {
			t.Errorf("%s: %v\n%s", setting, err, got)
		}
	}
}

// TestAmbiguous: what two files have is not changed.
func TestAmbiguous(t *testing.T) {
	in := files(t, map[string]string{"a.yaml": object("ClusterType", "x", ""), "b.yaml": object("ClusterType", "x", ""), "c.yaml": strings.Replace(object("Environment", "x", ""), "scheduler.kalypso.io/v1alpha1", "stable.cloudknit.io/v1", 1)})
	for _, kind := range []string{"ClusterType", "Environment"} {
		if file, _, err := edit.Delete(in, kind, "x", ""); err == nil {
			t.Errorf("%s: %s is changed", kind, file)
		}
	}
}

// TestEnvironmentFolder: an output whose folder is named by the environment goes to a folder of its own.
func TestEnvironmentFolder(t *testing.T) {
	base := files(t, map[string]string{".environments/dev.yaml": object("Environment", "dev", "spec:\n  controlPlane: {repo: r, branch: dev, path: .}\n")})
	for _, c := range []struct{ place, want string }{
		{"branch: main\n  path: env/dev\n", "branch: main\n  path: env/qa\n"},
		{"branch: out/dev\n  path: .\n", "branch: out/qa\n  path: .\n"},
		{"branch: fleet\n  path: .\n", "branch: qa\n  path: .\n"},
	} {
		branch := files(t, map[string]string{"to.yaml": object("GitOpsRepo", "dev", "spec:\n  repo: r\n  "+c.place)})
		made, err := edit.CreateEnvironment(base, branch, edit.NewEnvironment{Name: "qa", From: "dev"})
		if err != nil || !strings.HasSuffix(string(made.Branch["to.yaml"]), c.want) {
			t.Errorf("%v\n%s", err, made.Branch["to.yaml"])
		}
	}
}

// TestEnvironmentStacks: a new environment begins without the stacks of the other one, and says how each is cloned.
func TestEnvironmentStacks(t *testing.T) {
	stack := func(env string) string {
		return "apiVersion: stable.cloudknit.io/v1\nkind: Environment\nmetadata: {name: " + env + "}\nspec: {teamName: shop, envName: " + env + "}\n"
	}
	const settings = "apiVersion: fairlead.io/v1alpha1\nkind: StackSettings\nmetadata: {name: s}\n"
	base := files(t, map[string]string{".environments/dev.yaml": object("Environment", "dev", "spec:\n  controlPlane: {repo: r, branch: dev, path: .}\n")})
	branch := files(t, map[string]string{
		"all.yaml":   stack("dev-blue") + "---\n" + object("GitOpsRepo", "dev", "spec:\n  repo: r\n  branch: dev\n") + "---\n" + stack("green") + "---\n" + settings,
		"stack.yaml": stack("dev"),
	})
	made, err := edit.CreateEnvironment(base, branch, edit.NewEnvironment{Name: "qa", From: "dev"})
	if err != nil {
		t.Fatal(err)
	}
	want := object("GitOpsRepo", "qa", "spec:\n  repo: r\n  branch: qa\n") + "---\n" + settings
	if diff := cmp.Diff(want, string(made.Branch["all.yaml"])); diff != "" || made.Branch["stack.yaml"] != nil {
		t.Errorf("the files (-want +got):\n%s\n%s", diff, made.Branch["stack.yaml"])
	}
	notes := strings.Join(made.Notes, "\n")
	for _, command := range []string{"clone dev shop/dev-blue shop/qa-blue --into qa", "clone dev shop/green shop/green-qa --into qa", "clone dev shop/dev shop/qa --into qa"} {
		if !strings.Contains(notes, command) {
			t.Errorf("the notes do not have %q:\n%s", command, notes)
		}
	}
}

// TestDeleteEnvironmentOrder: what came after the environment comes after its predecessors.
func TestDeleteEnvironmentOrder(t *testing.T) {
	base := files(t, map[string]string{
		"e.yaml": object("Environment", "b", ""),
		"p.yaml": "kind: Promotion\nspec:\n  environments:\n  - name: a\n  - name: b # the second\n    after: [a]\n  - name: c\n    after:\n    - b\n  - {name: d, after: [b, a]}\n",
	})
	changed, err := edit.DeleteEnvironment(base, "b")
	const want = "kind: Promotion\nspec:\n  environments:\n  - name: a\n  - name: c\n    after: [a]\n  - {name: d, after: [a]}\n"
	if err != nil || changed["e.yaml"] != nil || string(changed["p.yaml"]) != want {
		t.Errorf("%v\n%s", err, cmp.Diff(want, string(changed["p.yaml"])))
	}
}
