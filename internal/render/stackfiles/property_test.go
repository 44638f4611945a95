package stackfiles_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
)

// graph is a stack of Terraform components, by the names of those that each needs.
type graph struct {
	needs     map[string][]string
	values    map[string]string
	protected map[string]bool // by destroyProtection
	teardown  bool
	fields    string // of the spec besides
	more      string // of each component besides
}

// newGraph returns a random graph without circles: a component needs only some that come before it
// in a random order.
func newGraph(r *rand.Rand) *graph {
	g := &graph{needs: map[string][]string{}, values: map[string]string{}}
	names := make([]string, 1+r.IntN(12))
	for i := range names {
		names[i] = fmt.Sprintf("c%d", i)
	}
	r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for i, name := range names {
		g.needs[name], g.values[name] = []string{}, "a"
		for _, earlier := range names[:i] {
			if r.IntN(3) == 0 {
				g.needs[name] = append(g.needs[name], earlier)
			}
		}
		slices.Sort(g.needs[name])
	}
	return g
}

func (g *graph) names() []string {
	var names []string
	for name := range g.needs {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// text writes the stack; the order of its components is random.
func (g *graph) text(r *rand.Rand) string {
	names := g.names()
	r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: stable.cloudknit.io/v1\nkind: Environment\nmetadata: {name: checkout-dev}\nspec:\n  teamName: checkout\n  envName: dev\n  teardown: %v\n%s  components:\n", g.teardown, g.fields)
	for _, name := range names {
		fmt.Fprintf(&b, "    - {name: %s, type: terraform, dependsOn: [%s], module: {source: \"https://github.com/x/y?ref=v1.0\"}, variables: [{name: a, value: %q}], destroyProtection: %v%s}\n",
			name, strings.Join(g.needs[name], ", "), g.values[name], g.protected[name], g.more)
	}
	return b.String()
}

// findKept returns the components that a teardown keeps: those that are protected, and what they need.
func (g *graph) findKept() map[string]bool {
	kept := map[string]bool{}
	var keep func(name string)
	keep = func(name string) {
		kept[name] = true
		for _, n := range g.needs[name] {
			keep(n)
		}
	}
	for name := range g.protected {
		keep(name)
	}
	return kept
}

// expectedOrder returns what each component waits for: what it needs; but what is destroyed waits for what
// needs it.
func (g *graph) expectedOrder() map[string][]string {
	kept, order := g.findKept(), map[string][]string{}
	for _, name := range g.names() {
		order[name] = []string{}
	}
	for _, name := range g.names() {
		for _, n := range g.needs[name] {
			if g.teardown && !kept[n] {
				order[n] = append(order[n], name)
			} else {
				order[name] = append(order[name], n)
			}
		}
	}
	for _, after := range order {
		slices.Sort(after)
	}
	return order
}

// renderTexts renders files of an environment, besides the settings.
func renderTexts(t *testing.T, texts map[string]string) (tree.Tree, problem.List) {
	t.Helper()
	var b tree.Builder
	for name, text := range texts {
		if err := b.Add(name, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	m, problems := model.Parse("dev", model.Layer{Kind: model.Env, Name: "dev", Files: withFile(t, b.Tree(), "settings.yaml", settingsText)})
	files, more := stackfiles.Render(m)
	return files, append(problems, more...).Sorted()
}

func (g *graph) render(t *testing.T, r *rand.Rand) tree.Tree {
	t.Helper()
	files, problems := renderTexts(t, map[string]string{"stack.yaml": g.text(r)})
	if problems.Stops() {
		t.Fatalf("%v\n%s", problems, g.text(r))
	}
	return files
}

// renderedOrder returns what each Kustomization depends on, by components.
func renderedOrder(t *testing.T, files tree.Tree) map[string][]string {
	t.Helper()
	order := map[string][]string{}
	for file, data := range files.Sub(stackfiles.ObjectsFolder).All() {
		if !strings.HasSuffix(file, "/flux-kustomization.yaml") {
			continue
		}
		o := decodeObject(t, data)
		after := []string{}
		for _, d := range o.Spec.DependsOn {
			after = append(after, strings.TrimPrefix(d.Name, "checkout-dev-"))
		}
		order[o.Metadata.Labels["fairlead.io/component"]] = after
	}
	return order
}

// TestOrder: the order of the Kustomizations is the graph of the components, whatever the order in which they are
// written. On teardown it is reversed where what is needed is destroyed, also when the file is deleted, and
// stays where that is kept.
func TestOrder(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 0))
		g := newGraph(r)
		g.protected = map[string]bool{}
		for _, name := range g.names() {
			if seed%2 == 1 && r.IntN(4) == 0 {
				g.protected[name] = true
			}
		}
		for _, g.teardown = range []bool{false, true} {
			files := g.render(t, r)
			if diff := cmp.Diff(g.expectedOrder(), renderedOrder(t, files)); diff != "" {
				t.Fatalf("seed %d: teardown %v: -want +got:\n%s", seed, g.teardown, diff)
			}
			if again := g.render(t, r); !tree.Equal(files, again) {
				t.Fatalf("seed %d: the same stack in another order is rendered otherwise", seed)
			}
			checkReach(t, files)
			down := &graph{needs: g.needs, protected: g.protected, teardown: true}
			deleted, _, problems := keepTexts(t, nil, files)
			if diff := cmp.Diff(down.expectedOrder(), renderedOrder(t, deleted)); diff != "" {
				t.Fatalf("seed %d: deleted with teardown %v: %v: -want +got:\n%s", seed, g.teardown, problems, diff)
			}
			held, _, _ := keepTexts(t, map[string]string{"stack.yaml": g.text(r), "team.yaml": teamText}, files)
			if diff := cmp.Diff(g.needs, renderedOrder(t, held)); diff != "" {
				t.Fatalf("seed %d: kept by its Team with teardown %v: -want +got:\n%s", seed, g.teardown, diff)
			}
			deleted, _, problems = keepTexts(t, map[string]string{"team.yaml": protectingTeam("checkout", false)}, held)
			if diff := cmp.Diff(down.expectedOrder(), renderedOrder(t, deleted)); diff != "" {
				t.Fatalf("seed %d: deleted after its Team kept it, with teardown %v: %v: -want +got:\n%s", seed, g.teardown, problems, diff)
			}
		}
	}
}

// TestCircle: with an edge back from what a component needs to itself, there is no output.
func TestCircle(t *testing.T) {
	circles := 0
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		g := newGraph(r)
		for _, name := range g.names() {
			if needs := g.needs[name]; len(needs) > 0 {
				g.needs[needs[0]] = append(g.needs[needs[0]], name)
				circles++
				break
			}
		}
		files, problems := renderTexts(t, map[string]string{"stack.yaml": g.text(r)})
		found := slices.ContainsFunc(problems, func(p problem.Problem) bool { return strings.Contains(p.Summary, "in a circle") })
		if wanted := problems.Stops(); found != wanted || wanted != files.IsEmpty() {
			t.Fatalf("seed %d: %v", seed, problems)
		}
	}
	if circles < 30 {
		t.Errorf("only %d of the graphs had a circle", circles)
	}
}

// TestChangeStays: a change of one component changes the files of that component, and a teardown no
// root module.
func TestChangeStays(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 2))
		g := newGraph(r)
		before := g.render(t, r)
		names := g.names()
		changed := names[r.IntN(len(names))]
		g.values[changed] = "b"
		after := g.render(t, r)
		count := 0
		for c := range tree.Diff(before, after) {
			count++
			if !strings.Contains(c.Path, "/"+changed+"/") {
				t.Fatalf("seed %d: the change of %s changes %s", seed, changed, c.Path)
			}
		}
		if count != 6 { // the module, the pin, the health expression, the inputs of the plan, and the seal, which is another one
			t.Fatalf("seed %d: the change of one value changes %d files", seed, count)
		}
		g.teardown = true
		down := g.render(t, r)
		if !tree.Equal(after.Sub(stackfiles.ModulesFolder), down.Sub(stackfiles.ModulesFolder)) {
			t.Fatalf("seed %d: teardown changes root modules", seed)
		}
	}
}

// TestCache: with what the last rendering has left, a rendering is the same as without, and a change
// of one component renders that component alone.
func TestCache(t *testing.T) {
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 6))
		g, cache := newGraph(r), &stackfiles.Cache{}
		files := map[string]string{"settings.yaml": settingsText, "a.tfvars": "x = 1\n", "files/a.tf": "# a\n"}
		render := func() (changed int) {
			files["stack.yaml"] = g.text(rand.New(rand.NewPCG(seed, 7))) // the order stays: lines are in problems
			all, err := tree.FromFiles(bytesOf(files))
			if err != nil {
				t.Fatal(err)
			}
			m, _ := model.Parse("dev", model.Layer{Kind: model.Env, Name: "dev", Files: all})
			before := cache.Rendered()
			got, problems := stackfiles.RenderCached(m, cache, nil)
			want, wanted := stackfiles.Render(m)
			if !tree.Equal(want, got) || !slices.Equal(wanted.Sorted(), problems.Sorted()) {
				t.Fatalf("seed %d: -fresh +cached:\n%s\n-%v\n+%v", seed, changesOf(want, got), wanted, problems)
			}
			return cache.Rendered() - before
		}
		if n := render(); n != len(g.names()) {
			t.Fatalf("seed %d: %d components are rendered at first", seed, n)
		}
		if n := render(); n != 0 {
			t.Fatalf("seed %d: unchanged, %d components are rendered", seed, n)
		}
		name := g.names()[r.IntN(len(g.names()))]
		g.values[name] = "b"
		if n := render(); n != 1 {
			t.Fatalf("seed %d: for a change of one component, %d are rendered", seed, n)
		}
		for _, edit := range []func(){
			func() { g.teardown = true },
			func() { g.protected = map[string]bool{name: true} }, // what needs it waits for it
			func() { g.protected = nil },
			func() { g.fields = "  workspace: blue\n" },
			func() { g.fields = "  zlocals: [{name: a, value: b}]\n  autoApprove: true\n" },
			func() { files["settings.yaml"] += "  interval: 1h\n" },
			func() { files["team.yaml"] = teamText },
			func() { g.values[name] = "${x" }, // a problem
			func() { g.values[name], g.teardown, g.fields = "c", false, "" },
			func() {
				g.more = ", variablesFile: {source: \"https://github.com/zl-zmart-tech/checkout-team-config\", path: a.tfvars}, overlayFiles: [{source: \"https://github.com/zl-zmart-tech/checkout-team-config\", paths: [files]}]"
			},
			func() { files["a.tfvars"] = "x = 2\n" },
			func() { files["files/a.tf"] = "# b\n" },
			func() { files["files/b.tf"] = "# c\n" },
			func() { delete(files, "a.tfvars") },
			func() { files["a.tfvars"], g.protected = "a = 3\n", map[string]bool{name: true} },
			func() {
				files["settings.yaml"] = strings.Replace(files["settings.yaml"], "branch: dev, path: .}", "branch: dev, path: moved}", 1)
			},
			func() { files["p.yaml"] = approvalText("checkout/dev", name, "plan-a", "b") },
		} {
			edit()
			render()
		}
	}
}

const teamText = "apiVersion: stable.cloudknit.io/v1\nkind: Team\nmetadata: {name: checkout}\nspec: {teamName: checkout, teardownProtection: true, configRepo: {source: \"https://example.com/a/b\", path: .}}\n"

// TestModuleMoveCached: what the cache has of a component is not used when its module has moved, or when
// a file that it names in another repository is another one.
func TestModuleMoveCached(t *testing.T) {
	stack := "apiVersion: stable.cloudknit.io/v1\nkind: Environment\nmetadata: {name: a, namespace: zmart-config}\nspec:\n  teamName: checkout\n  envName: dev\n  components:\n" +
		"    - {name: moves, type: terraform, module: {source: 'https://example.com/acme/vpc'}, variablesFile: {source: 'https://example.com/acme/vars', path: a.tfvars}}\n" +
		"    - {name: stays, type: terraform, module: {source: './local'}}\n"
	var cache stackfiles.Cache
	seen := map[tree.ID]bool{}
	for i, step := range []struct{ commit, module, vars, local string }{
		{"1", "variable \"a\" {}\n", "a = 1\n", "# a\n"}, {"2", "variable \"a\" {}\n", "a = 1\n", "# a\n"}, {"2", "variable \"a\" {}\n", "a = 2\n", "# a\n"},
		{"3", "variable \"a\" {}\nvariable \"b\" { default = 1 }\n", "a = 2\n", "# a\n"}, {"3", "variable \"a\" {}\nvariable \"b\" { default = 1 }\n", "a = 2\n", "# b\n"},
	} {
		layers := []model.Layer{
			{Kind: model.Env, Name: "dev", Files: filesOf(t, map[string]string{"stack.yaml": stack, "settings.yaml": settingsText, "local/main.tf": step.local})},
			{Kind: model.Files, Name: "example.com/acme/vpc", Commit: strings.Repeat(step.commit, 40), Moves: true, Files: filesOf(t, map[string]string{"main.tf": step.module})},
			{Kind: model.Files, Name: "example.com/acme/vars", Commit: strings.Repeat("4", 40), Files: filesOf(t, map[string]string{"a.tfvars": step.vars})},
		}
		m, problems := model.Parse("dev", layers...)
		before := cache.Rendered()
		cached, more := stackfiles.RenderCached(m, &cache, nil)
		whole, _ := stackfiles.Render(m)
		if problems.Stops() || more.Stops() || cached.ID() != whole.ID() || seen[whole.ID()] {
			t.Errorf("step %d: %v %v, the same with a cache: %v, new: %v", i, problems, more, cached.ID() == whole.ID(), !seen[whole.ID()])
		}
		if rendered := cache.Rendered() - before; i > 0 && rendered != 1 {
			t.Errorf("step %d: %d components were rendered, want 1", i, rendered)
		}
		seen[whole.ID()] = true
	}
}

func filesOf(t *testing.T, files map[string]string) tree.Tree {
	t.Helper()
	data := map[string][]byte{}
	for name, text := range files {
		data[name] = []byte(text)
	}
	all, err := tree.FromFiles(data)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestOverlayBackendCached: what the cache has of a component is not used when the backend in an overlay of one that
// it needs is another one.
func TestOverlayBackendCached(t *testing.T) {
	const text = "apiVersion: stable.cloudknit.io/v1\nkind: Environment\nmetadata: {name: a, namespace: zmart-config}\nspec:\n  teamName: checkout\n  envName: dev\n  components:\n" +
		"    - {name: net, type: terraform, module: {source: './local'}, overlayFiles: [{paths: [terraform.tf]}]}\n" +
		"    - {name: eks, type: terraform, dependsOn: [net], module: {source: './local'}}\n"
	var cache stackfiles.Cache
	for i, bucket := range []string{"a", "b"} {
		files := filesOf(t, map[string]string{
			"stack.yaml": text, "settings.yaml": settingsText, "local/main.tf": "# nothing\n",
			"terraform.tf": "terraform {\n  backend \"gcs\" {\n    bucket = \"" + bucket + "\"\n  }\n}\n",
		})
		m, _ := model.Parse("dev", model.Layer{Kind: model.Env, Name: "dev", Files: files})
		cached, problems := stackfiles.RenderCached(m, &cache, nil)
		data := textOf(cached, "team/checkout-team-environment/dev-environment-component/eks/terraform/data.tf")
		if problems.Stops() || !strings.Contains(data, `bucket = "`+bucket+`"`) {
			t.Errorf("step %d: %v\n%s", i, problems, data)
		}
	}
}
