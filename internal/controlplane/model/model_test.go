package model_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/testkit/golden"
)

// TestParse reads the control planes in testdata. Where a problem stops the
// environment the model is not shown.
func TestParse(t *testing.T) {
	golden.Run(t, "testdata/*.txtar", func(t *testing.T, c *golden.Case) {
		m, problems := model.Parse(c.Environment(), c.Layers(t)...)
		c.Want(t, "problems", golden.Problems(problems))
		if problems.Stops() {
			c.Want(t, "model", "")
			return
		}
		c.Want(t, "model", textOf(m))
	})
}

// textOf writes a model as people read it: an object a paragraph, with its place,
// the labels and what else it says, in the order of the model's lists.
func textOf(m *model.Model) string {
	var w dump
	for _, e := range m.Environments {
		w.object(&e.Object)
		w.repo("control plane", e.ControlPlane)
	}
	for _, b := range m.BaseRepos {
		w.object(&b.Object)
		w.repo("repository", b.RepoRef)
	}
	for _, g := range m.GitOpsRepos {
		w.object(&g.Object)
		w.repo("repository", g.RepoRef)
	}
	for _, c := range m.ClusterTypes {
		w.object(&c.Object)
		w.line("templates", "%q %q %q", c.Reconciler, c.NamespaceService, c.ConfigType)
	}
	for _, t := range m.Templates {
		w.template(t)
	}
	for _, p := range m.Policies {
		w.object(&p.Object)
		w.line("cluster types", "%s", p.ClusterTypes)
		w.line("targets", "%s", p.Targets)
		w.text("workspace", p.Workspace)
	}
	for _, r := range m.Registrations {
		w.object(&r.Object)
		w.repo("workload", r.Workload)
		w.text("workspace", r.Workspace)
	}
	for _, t := range m.Targets {
		w.target(t)
	}
	for _, c := range m.Configs {
		w.config(c)
	}
	for _, s := range m.Schemas {
		w.object(&s.Object)
		w.line("schema", "%q", s.Text)
	}
	for _, kind := range slices.Sorted(maps.Keys(m.Ignored)) {
		w.printf("ignored: %d × %s\n", m.Ignored[kind], kind)
	}
	return w.String()
}

// dump writes the parts of a model.
type dump struct{ strings.Builder }

func (w *dump) printf(format string, args ...any) { fmt.Fprintf(w, format, args...) }

func (w *dump) line(what, format string, args ...any) {
	w.printf("  %s: %s\n", what, fmt.Sprintf(format, args...))
}

// text writes a text unless it is empty.
func (w *dump) text(what, text string) {
	if text != "" {
		w.line(what, "%s", text)
	}
}

func (w *dump) object(o *model.Object) {
	w.printf("%s at %s\n", o.Subject(), o.Pos)
	w.pairs("label", o.Labels)
	w.pairs("annotation", o.Annotations)
}

func (w *dump) pairs(what string, m map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(m)) {
		w.line(what, "%s=%q", key, m[key])
	}
}

func (w *dump) repo(what string, r model.RepoRef) {
	w.line(what, "%s %s %s", r.Repo, r.Branch, r.Path)
	w.text("commit", r.Commit)
}

func (w *dump) template(t *model.Template) {
	w.object(&t.Object)
	w.line("type", "%s, content type %q, engine %s, at most %d expansions", t.Type, t.ContentType, t.Engine, t.Expansions)
	for _, m := range t.Manifests {
		w.line(fmt.Sprintf("manifest at line %d", m.Line), "%q", m.Text)
	}
}

func (w *dump) target(t *model.Target) {
	w.object(&t.Object)
	w.line("of", "workload %s, workspace %q, environment %s", t.Workload, t.Workspace, t.Environment)
	w.pairs("manifest", t.Manifests)
	for _, s := range t.Schemas {
		w.line("schema of "+s.Subject(), "%q at %s", s.Text, s.Pos)
	}
	for _, d := range t.DependsOn {
		w.line("depends on", "%s at %s", d.Name, d.Pos)
	}
}

func (w *dump) config(c *model.Config) {
	w.object(&c.Object)
	w.line("platform", "%v, app configuration %v", c.Platform, c.App)
	for _, v := range c.Values {
		w.line("value", "%s=%q at %s", v.Key, v.Text, v.Pos)
	}
}

// TestParseOrder reads the layers of a case in another order: the model and its
// problems are the same.
func TestParseOrder(t *testing.T) {
	golden.Run(t, "testdata/*.txtar", func(t *testing.T, c *golden.Case) {
		layers := c.Layers(t)
		wanted, wantedProblems := model.Parse(c.Environment(), layers...)
		slices.Reverse(layers)
		got, problems := model.Parse(c.Environment(), layers...)
		if a, b := textOf(wanted), textOf(got); a != b {
			t.Errorf("the order of the layers matters:\n%s\nand\n%s", a, b)
		}
		if a, b := golden.Problems(wantedProblems), golden.Problems(problems); a != b {
			t.Errorf("the order of the layers matters:\n%s\nand\n%s", a, b)
		}
		checkPlaces(t, c, problems)
	})
}

// checkPlaces wants every problem to be at a line that its file has.
func checkPlaces(t *testing.T, c *golden.Case, problems problem.List) {
	t.Helper()
	for _, p := range problems {
		if p.Pos.File == "" {
			continue
		}
		folder := "workloads/" + p.Pos.Layer
		switch p.Pos.Layer {
		case "base":
			folder = "base"
		case c.Environment():
			folder = "env"
		}
		text := c.Text(folder + "/" + p.Pos.File)
		if lines := strings.Count(text, "\n"); text == "" || p.Pos.Line > lines {
			t.Errorf("there is no line %d in %s, which has %d: %s", p.Pos.Line, p.Pos.File, lines, p)
		}
	}
}

// TestParserKeepsUp parses a layer, changes a folder that a kustomization beside
// it takes in, and parses it again with the same parser: the model is that of a
// new one.
func TestParserKeepsUp(t *testing.T) {
	parser := model.NewParser()
	for _, reconciler := range []string{"one", "two"} {
		layer := model.Layer{Kind: model.Env, Name: "dev", Files: treeOf(t, map[string]string{
			"shared/kustomization.yaml": "resources: [a.yaml]\n",
			"shared/a.yaml": "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: ClusterType\nmetadata: {name: summit}\n" +
				"spec: {reconciler: " + reconciler + ", namespaceService: room, configType: cargo}\n",
			"unit/kustomization.yaml": "resources: [../shared]\nnamePrefix: x-\n",
		})}
		wanted, _ := model.Parse("dev", layer)
		got, _ := parser.Parse("dev", layer)
		if diff := cmp.Diff(textOf(wanted), textOf(got)); diff != "" {
			t.Errorf("the parser remembers an old model (-want +got):\n%s", diff)
		}
	}
}

// TestParserRemembers parses layers of which none has changed, then one, and then those of
// another environment in between.
func TestParserRemembers(t *testing.T) {
	parser := model.NewParser()
	layers := func(region string) []model.Layer {
		return []model.Layer{
			{Kind: model.Base, Name: "main", Files: treeOf(t, map[string]string{"type.yaml": "apiVersion: scheduler.kalypso.io/v1alpha1\n" +
				"kind: ClusterType\nmetadata: {name: summit, labels: {region: " + region + "}}\nspec: {reconciler: a, namespaceService: b, configType: c}\n"})},
			{Kind: model.Env, Name: "dev", Files: treeOf(t, map[string]string{"broken.yaml": "kind: [\n"})},
		}
	}
	first, problems := parser.Parse("dev", layers("north")...)
	again, same := parser.Parse("dev", layers("north")...)
	if first != again || len(problems) == 0 || !cmp.Equal(problems, same) {
		t.Errorf("layers that have not changed give another model, or other problems: %v and then %v", problems, same)
	}
	parser.Forget()
	if anew, _ := parser.Parse("dev", layers("north")...); anew == first || textOf(anew) != textOf(first) {
		t.Error("a parser that was told to forget gives what it has known, or something else than before")
	}
	for _, env := range []string{"dev", "prod", "dev"} {
		for _, region := range []string{"south", "north"} {
			wanted, wantedProblems := model.Parse(env, layers(region)...)
			got, gotProblems := parser.Parse(env, layers(region)...)
			if diff := cmp.Diff(textOf(wanted), textOf(got)) + cmp.Diff(wantedProblems, gotProblems); diff != "" {
				t.Errorf("%s, %s: the parser remembers another model (-want +got):\n%s", env, region, diff)
			}
		}
	}
}

// TestParserCanceled: what was not read to the end has a problem that stops the environment, and
// is not remembered.
func TestParserCanceled(t *testing.T) {
	layer := model.Layer{Kind: model.Env, Name: "dev", Files: treeOf(t, map[string]string{"a.yaml": "kind: [\n", "b.yaml": "kind: [\n"})}
	_, wanted := model.Parse("dev", layer)
	parser, asked := model.NewParser(), 0
	parser.Canceled = func() bool { asked++; return asked > 1 }
	if _, problems := parser.Parse("dev", layer); !problems.Stops() || !strings.Contains(problems[0].Summary, "reading stopped early") {
		t.Errorf("a canceled parser says %v", problems)
	}
	parser.Canceled = nil
	if _, problems := parser.Parse("dev", layer); !cmp.Equal(wanted, problems) {
		t.Errorf("then it says %v, want %v", problems, wanted)
	}
}

// TestParserKeepsLists edits workloads at random, with names that two of them have, targets that
// come and go, labels that cannot be, and a team that moves to another workspace: a parser that
// knows the lists of the last model gives the model and the problems of a new one.
func TestParserKeepsLists(t *testing.T) {
	const api = "apiVersion: scheduler.kalypso.io/v1alpha1\n"
	random := rand.New(rand.NewPCG(11, 12))
	files, workspace := map[string]string{}, "dock"
	edit := func() {
		n := random.IntN(6)
		file := fmt.Sprintf("w%d.yaml", n)
		if random.IntN(12) == 0 {
			n = random.IntN(7)
		}
		text := api + fmt.Sprintf("kind: Workload\nmetadata: {name: app-%d}\nspec:\n  deploymentTargets:\n", n)
		for i := range random.IntN(3) {
			text += fmt.Sprintf("    - {name: t%d, environment: %s, labels: {tier: %q}, manifests: {branch: b%d}}\n",
				i, []string{"dev", "dev", "prod"}[random.IntN(3)], []string{"gold", "tin", "iron", "clay", "a b"}[min(random.IntN(30), 28)/7], random.IntN(3))
		}
		switch files[file] = text; random.IntN(20) {
		case 0:
			delete(files, file)
		case 1:
			files[file] = api + fmt.Sprintf("kind: DeploymentTarget\nmetadata: {name: app-%d-t0, labels: {workload: x}}\nspec: {name: t0, environment: dev, manifests: {branch: b}}\n", random.IntN(7))
		case 2:
			workspace = []string{"dock", "yard"}[random.IntN(2)]
		}
	}
	parser, refused := model.NewParser(), 0
	for range 3000 {
		edit()
		registration := api + "kind: WorkloadRegistration\nmetadata: {name: team}\nspec: {workspace: " + workspace + ", workload: {repo: https://git.example.com/w, branch: main, path: .}}\n"
		layers := []model.Layer{
			{Kind: model.Base, Name: "main", Files: treeOf(t, map[string]string{"r.yaml": registration})},
			{Kind: model.Env, Name: "dev", Files: treeOf(t, map[string]string{"g.yaml": gitOpsRepo})},
			{Kind: model.Workloads, Name: "team", Files: treeOf(t, files)},
		}
		wanted, wantedProblems := model.Parse("dev", layers...)
		got, gotProblems := parser.Parse("dev", layers...)
		if diff := cmp.Diff(textOf(wanted), textOf(got)) + cmp.Diff(wantedProblems, gotProblems); diff != "" {
			t.Fatalf("the parser keeps what is not so any more (-want +got):\n%s\nof %v", diff, files)
		}
		if wantedProblems.Stops() {
			refused++
		}
	}
	if refused < 300 || refused > 2700 {
		t.Errorf("%d of 3000 models have problems; that tells little", refused)
	}
}

func treeOf(t testing.TB, files map[string]string) tree.Tree {
	t.Helper()
	var b tree.Builder
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if err := b.Add(path, []byte(files[path])); err != nil {
			t.Fatal(err)
		}
	}
	return b.Tree()
}

// TestHugeValue reads a value of 10 MB, which no Kubernetes object can hold.
func TestHugeValue(t *testing.T) {
	text := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {platform-config: \"true\"}}\ndata:\n  SMALL: a\n  HUGE: " + strings.Repeat("x", 10<<20) + "\n"
	_, problems := model.Parse("dev", model.Layer{Kind: model.Env, Name: "dev", Files: treeOf(t, map[string]string{"a.yaml": text, "b.yaml": gitOpsRepo})})
	want := "dev/a.yaml:6: ConfigMap/a: data.HUGE is 10485760 bytes long, which is over 1048576\n  hint: Kubernetes refuses objects over 1 MiB\n"
	if diff := cmp.Diff(want, golden.Problems(problems)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

// TestParserCanceledInFile: one large file does not keep a program from ending, whether it is
// many documents or one.
func TestParserCanceledInFile(t *testing.T) {
	const many = 5000
	item := "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: ClusterType\nmetadata: {name: c%d}\nspec: {reconciler: r, namespaceService: n, configType: c}\n"
	var documents, list strings.Builder
	list.WriteString("apiVersion: v1\nkind: List\nitems:\n")
	for i := range many {
		fmt.Fprintf(&documents, item+"---\n", i)
		list.WriteString("- " + strings.ReplaceAll(strings.TrimSpace(fmt.Sprintf(item, i)), "\n", "\n  ") + "\n")
	}
	for name, text := range map[string]string{"documents": documents.String(), "one document": list.String()} {
		files := tree.FromEntries([]tree.Entry{tree.File("c.yaml", []byte(text))})
		layer := model.Layer{Kind: model.Env, Name: "dev", Files: files}
		parser := model.NewParser()
		asked, last := 0, 20
		parser.Canceled = func() bool { asked++; return asked > last }
		if _, problems := parser.Parse("dev", layer); !strings.Contains(fmt.Sprint(problems), "because the program is shutting down") || asked > last+5 {
			t.Errorf("%s: asked %d times: %v", name, asked, problems)
		}
		parser.Canceled = func() bool { return false }
		if m, problems := parser.Parse("dev", layer); len(m.ClusterTypes) != many {
			t.Errorf("%s: %d cluster types: %v", name, len(m.ClusterTypes), problems)
		}
	}
}
