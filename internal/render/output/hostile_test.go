package output_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/render/output"
	"github.com/fairlead-io/fairlead/templates"
)

// controlPlane is a small one that is sound, file by file. A test replaces one of them.
func controlPlane() map[string]string {
	const head = "apiVersion: scheduler.kalypso.io/v1alpha1\n"
	return map[string]string{
		"base/registration.yaml": head + "kind: WorkloadRegistration\nmetadata: {name: team}\nspec: {workload: {repo: https://example.com/team, branch: main, path: .}, workspace: team}\n",
		"base/environment.yaml":  head + "kind: Environment\nmetadata: {name: dev}\nspec: {controlPlane: {repo: https://example.com/cp, branch: dev, path: .}}\n",
		"base/template.yaml":     head + "kind: Template\nmetadata: {name: own}\nspec: {type: config, manifests: ['a: {{ .ClusterType }}']}\n",
		"env/base.yaml":          head + "kind: BaseRepo\nmetadata: {name: main}\nspec: {repo: https://example.com/cp, branch: main, path: ., commit: 7a5f2c1e8b9d4a3f6c0e1d2b3a4f5e6d7c8b9a0f}\n",
		"env/gitops.yaml":        head + "kind: GitOpsRepo\nmetadata: {name: dev}\nspec: {repo: https://example.com/gitops, branch: dev, path: .}\n",
		"env/type.yaml":          head + "kind: ClusterType\nmetadata: {name: edge}\nspec: {reconciler: argocd, namespaceService: default, configType: own}\n",
		"env/policy.yaml":        head + "kind: SchedulingPolicy\nmetadata: {name: all}\nspec: {deploymentTargetSelector: {labelSelector: {}}, clusterTypeSelector: {labelSelector: {}}}\n",
		"env/config.yaml":        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: values, labels: {platform-config: \"true\"}}\ndata: {REGION: west}\n",
		"env/schema.yaml":        head + "kind: ConfigSchema\nmetadata: {name: rules}\nspec: {schema: '{}'}\n",
		"team/app.yaml": head + "kind: Workload\nmetadata: {name: app}\nspec:\n  deploymentTargets:\n    - name: web\n      environment: dev\n" +
			"      manifests: {repo: https://example.com/app, branch: main, path: ./web}\n",
		"team/target.yaml": head + "kind: DeploymentTarget\nmetadata: {name: written, labels: {workload: app, workspace: team}}\nspec: {environment: dev, manifests: {repo: https://example.com/app, branch: main, path: ./web}}\n",
	}
}

// soundModel returns the model of the small control plane.
func soundModel(t *testing.T) *model.Model {
	t.Helper()
	m, problems := parsed(t, "dev", controlPlane())
	if problems.Stops() {
		t.Fatal(problems)
	}
	return m
}

// rendered renders files for an environment.
func rendered(t *testing.T, environment string, files map[string]string) (tree.Tree, problem.List) {
	t.Helper()
	m, problems := parsed(t, environment, files)
	out, more := output.Render(m, nil, output.Options{})
	return out, append(problems, more...).Sorted()
}

func parsed(t *testing.T, environment string, files map[string]string) (*model.Model, problem.List) {
	t.Helper()
	below := func(folder string) tree.Tree {
		var b tree.Builder
		for name, text := range files {
			if file, ok := strings.CutPrefix(name, folder+"/"); ok {
				if err := b.Add(file, []byte(text)); err != nil {
					t.Fatal(err)
				}
			}
		}
		return b.Tree()
	}
	return model.Parse(environment,
		model.Layer{Kind: model.Base, Name: "main", Files: below("base")},
		model.Layer{Kind: model.Env, Name: environment, Files: below("env")},
		model.Layer{Kind: model.Workloads, Name: "team", Files: below("team")},
		model.Layer{Kind: model.BuiltIn, Name: "built-in", Files: templates.Files()})
}

func TestControlPlaneIsSound(t *testing.T) {
	out, problems := rendered(t, "dev", controlPlane())
	if problems.Stops() || out.Count() == 0 {
		t.Fatalf("%d files, %v", out.Count(), problems)
	}
}

// TestWorkloadSizes: what a workload may have much of is bounded, as a problem of its own, and so is
// what its targets wait for.
func TestWorkloadSizes(t *testing.T) {
	workload := func(name, annotation, schemas string, targets int) string {
		var b strings.Builder
		fmt.Fprintf(&b, "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: Workload\nmetadata: {name: %s, annotations: {fairlead.io/depends-on: %q}}\nspec:\n  configSchemas: [%s]\n  deploymentTargets:\n", name, annotation, schemas)
		for i := range targets {
			fmt.Fprintf(&b, "    - {name: t%d, environment: dev, manifests: {repo: https://example.com/app, branch: main, path: ./web}}\n", i)
		}
		return b.String() + "---\n"
	}
	names := make([]string, 101)
	for i := range names {
		names[i] = fmt.Sprintf("app%d", i)
	}
	for _, c := range []struct{ name, text, want string }{
		{"fits", workload("big", "", "", 500) + workload("many", "big", strings.Repeat("'{}',", 49)+"'{}'", 500), ""},
		{"targets", workload("many", "", "", 2001), "2001 deployment targets, and 2000"},
		{"schemas", workload("many", "", strings.Repeat("'{}',", 50)+"'{}'", 1), "51 configSchemas, and 50"},
		{"dependencies", workload("many", strings.Join(names, ","), "", 1), "101 names, and 100"},
		{"wide", workload("big", "", "", 501) + workload("many", "big", "", 1), "workload big, which has 501 deployment targets on cluster type edge, and 500"},
	} {
		files := controlPlane()
		files["team/many.yaml"] = c.text
		_, problems := rendered(t, "dev", files)
		found := slices.ContainsFunc(problems, func(p problem.Problem) bool {
			return strings.Contains(p.Summary, c.want) && p.Pos.File == "many.yaml" && p.Pos.Line > 0 && p.Hint != ""
		})
		if found != (c.want != "") || c.want == "" && problems.Stops() {
			t.Errorf("%s: %.1000v", c.name, problems)
		}
	}
}

// TestNames puts hostile names in every place where the name of an object, a folder or a
// branch is read. Each must be a problem with a place and a hint, and nothing may panic.
func TestNames(t *testing.T) {
	always := []string{"a/b", "../../x", "/etc", ".", "..", ".git", ".GIT", ".gIt", "a/.git/b", "git~1/x", ".git::$INDEX_ALLOCATION", ".g\u200cit", "a\x01b", "a\x7fb", "a\u0085b", `a\b`}
	objects := slices.Concat(always, []string{"", ".github", ".fairlead", "git~1", "README.md", "A", "ü", "-x", "a b", "a..b", "@{", "x.lock/y", "a\nb", strings.Repeat("x", 300)})
	branches := []string{"x.lock", "-x", "a..b", "@{", "@", "a b", "a~1", "a^", "a:b", "a*", "a?", "a[", `a\b`, "a.", ".a", "a/.b", "/a", "a//b", "HEAD", "refs/heads/a", "a\x01", "a\x7f"}
	folders := []string{"..", "../x", "a/../../x", ".git", "a/.GIT/b", "git~1", ".git.", ".git ", ".g\u200cit", "a\x01", "a\x7f", `a\b`}
	for _, place := range []struct {
		file, text string // the text is replaced by the name, in double quotes
		names      []string
	}{
		{"env/type.yaml", "edge", objects},
		{"env/policy.yaml", "all", objects},
		{"env/gitops.yaml", "{name: dev}", objects},
		{"env/base.yaml", "{name: main}", objects},
		{"env/config.yaml", "values", objects},
		{"env/schema.yaml", "rules", objects},
		{"base/template.yaml", "own", objects},
		{"base/registration.yaml", "{name: team}", objects},
		{"base/environment.yaml", "{name: dev}", slices.Concat(objects, []string{"x.lock", "a.b.lock"})},
		{"team/app.yaml", "app}", objects},
		{"team/app.yaml", "web\n", slices.DeleteFunc(slices.Clone(objects), func(n string) bool { return n == "-x" })}, // app--x is a name
		{"team/target.yaml", "written", objects},
		{"env/gitops.yaml", "branch: dev", branches},
		{"env/base.yaml", "branch: main", branches},
		{"base/registration.yaml", "branch: main", branches},
		{"base/environment.yaml", "branch: dev", branches},
		{"env/gitops.yaml", "path: .", folders},
		{"env/base.yaml", "path: .", folders},
		{"base/registration.yaml", "path: .", folders},
		{"base/environment.yaml", "path: .", folders},
	} {
		for _, name := range place.names {
			t.Run(fmt.Sprintf("%s %s is %q", place.file, strings.TrimSpace(place.text), name), func(t *testing.T) {
				files := controlPlane()
				files[place.file] = strings.Replace(files[place.file], place.text, replaced(place.text, name), 1)
				if files[place.file] == controlPlane()[place.file] {
					t.Fatalf("there is no %q to replace", place.text)
				}
				_, problems := rendered(t, "dev", files)
				if !slices.ContainsFunc(problems, func(p problem.Problem) bool {
					return !p.Warning && strings.HasSuffix(p.Pos.File, strings.Split(place.file, "/")[1]) && p.Pos.Line > 0 && p.Hint != ""
				}) {
					t.Errorf("there is no problem with a place and a hint: %v", problems)
				}
			})
		}
	}
	for _, name := range slices.Concat(objects, []string{"x.lock", "-x"}) {
		if _, problems := rendered(t, name, controlPlane()); !problems.Stops() {
			t.Errorf("there may be an environment %q", name)
		}
	}
}

// replaced puts a name in the place of the last word of a text.
func replaced(text, name string) string {
	bare := strings.Trim(text, "{}\n")
	key, _, ok := strings.Cut(bare, ": ")
	quoted := fmt.Sprintf("%q", name)
	if ok {
		quoted = key + ": " + quoted
	}
	return strings.Replace(text, bare, quoted, 1)
}

// TestCanceled cancels a run at each of its first questions, and renders again with the same
// cache: nothing of the run that did not end may be left.
func TestCanceled(t *testing.T) {
	m := soundModel(t)
	want, problems := output.Render(m, nil, output.Options{})
	if problems.Stops() {
		t.Fatal(problems)
	}
	for after := range 8 {
		cache, asked := &output.Cache{}, 0
		files, problems := output.Render(m, cache, output.Options{Canceled: func() bool { asked++; return asked > after }})
		if asked <= after {
			break // it was at its end before
		}
		if !problems.Stops() || !files.IsEmpty() {
			t.Errorf("canceled after %d questions: %d files, %v", after, files.Count(), problems)
		}
		files, problems = output.Render(m, cache, output.Options{})
		if !tree.Equal(files, want) || problems.Stops() {
			t.Errorf("after a run that was canceled after %d questions: %d files, %v", after, files.Count(), problems)
		}
	}
}
