package scaffold_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/render/output"
	"github.com/fairlead-io/fairlead/internal/testkit/golden"
	"github.com/fairlead-io/fairlead/schemas"
	"github.com/fairlead-io/fairlead/templates"
)

const (
	controlPlane = "https://github.com/harbor-example/control-plane"
	gitOps       = "https://github.com/harbor-example/gitops"
)

// options gives those that name the two repositories, with what change does to them.
func options(change func(*scaffold.Options)) scaffold.Options {
	schema, _ := schemas.Schema("all")
	o := scaffold.Options{ControlPlane: controlPlane, GitOps: gitOps, Schema: schema}
	if change != nil {
		change(&o)
	}
	return o
}

// daemons are the least that settings say, and the most.
var daemons = map[bool]scaffold.Daemon{
	false: {},
	true: {
		DataDir: "/var/lib/fairlead: data", Listen: "127.0.0.1:9000", Interval: 90 * time.Second, Create: true, Write: true,
		Remotes: []scaffold.Remote{
			{URL: "https://git.example.com:8443/team", TokenVariable: "HOME", Username: "yes"},
			{URL: "https://github.com/harbor-example", TokenVariable: "HOME"},
		},
		Forges: []scaffold.Forge{
			{Host: "git.example.com:8443", Kind: "github", API: "https://git.example.com:8443/api/v3"},
			{Host: "github.com", Kind: "github"},
		},
	},
}

// variants are the options that the tests of all files go through.
var variants = map[string]scaffold.Options{
	"blank":  options(nil),
	"sample": options(func(o *scaffold.Options) { o.Sample = true }),
	"folders": options(func(o *scaffold.Options) {
		o.Layout, o.Sample = scaffold.Folders, true
	}),
	"stack":              options(func(o *scaffold.Options) { o.Stack, o.Sample = true, true }),
	"stack in folders":   options(func(o *scaffold.Options) { o.Layout, o.Stack, o.Sample = scaffold.Folders, true, true }),
	"stack, over a path": options(func(o *scaffold.Options) { o.GitOps, o.Stack, o.Sample = "/srv/gitops.git", true, true }),
	"one environment, no schema": options(func(o *scaffold.Options) {
		o.Environments, o.Schema, o.Sample = []string{"prod"}, nil, true
	}),
	"places and names that YAML would take for something else": options(func(o *scaffold.Options) {
		o.ControlPlane, o.GitOps = `C:\fleet: it's "ours" #1`, "~/gitops repo"
		o.Environments = []string{"1", "true", "y", "0x1f", "1e3", "null", "a-b", strings.Repeat("e", 40)}
		o.Sample = true
	}),
}

// withReconciler gives the options of a sample with one reconciler.
func withReconciler(name string) scaffold.Options {
	return options(func(o *scaffold.Options) { o.Reconciler, o.Sample = name, true })
}

func eachVariant(t *testing.T, test func(*testing.T, scaffold.Options)) {
	for name, o := range variants {
		t.Run(name, func(t *testing.T) { test(t, o) })
	}
	for _, name := range scaffold.Reconcilers() {
		t.Run(name, func(t *testing.T) { test(t, withReconciler(name)) })
	}
}

// branches makes both repositories.
func branches(t *testing.T, o scaffold.Options) (control, output []scaffold.Branch) {
	t.Helper()
	control, err := scaffold.ControlPlaneBranches(o)
	if err != nil {
		t.Fatal(err)
	}
	output, err = scaffold.GitOpsBranches(o)
	if err != nil {
		t.Fatal(err)
	}
	return control, output
}

// render gives the output of the environment that a branch is, as source would
// have its layers read.
func render(base, env scaffold.Branch) (*model.Model, tree.Tree, problem.List) {
	m, problems := model.Parse(env.Name,
		model.Layer{Kind: model.BuiltIn, Files: templates.Files()},
		model.Layer{Kind: model.Base, Name: "main", Files: source.Filter(base.Files)},
		model.Layer{Kind: model.Env, Name: env.Name, Files: source.Filter(env.Files)},
	)
	files, more := output.Render(m, nil, output.Options{})
	return m, files, append(problems, more...).Sorted()
}

func TestRendersWithoutProblems(t *testing.T) {
	eachVariant(t, func(t *testing.T, o scaffold.Options) {
		control, _ := branches(t, o)
		for _, env := range control[1:] {
			m, files, problems := render(control[0], env)
			if len(problems) > 0 {
				t.Errorf("%s has problems:\n%s", env.Name, golden.Problems(problems))
			}
			if len(m.Ignored) > 0 {
				t.Errorf("%s has objects that nobody reads: %v", env.Name, m.Ignored)
			}
			if o.Sample == files.IsEmpty() {
				t.Errorf("%s: the output has %d files", env.Name, files.Count())
			}
		}
	})
}

// TestExamplesOfFolders follows the READMEs of a control plane without a sample:
// what they tell people to write is the sample.
func TestExamplesOfFolders(t *testing.T) {
	blank, _ := branches(t, options(nil))
	sample, _ := branches(t, options(func(o *scaffold.Options) { o.Sample = true }))
	for i := range blank {
		blank[i].Files = followed(t, blank[i].Files)
	}
	for i, env := range blank[1:] {
		_, got, problems := render(blank[0], env)
		if len(problems) > 0 {
			t.Errorf("%s has problems:\n%s", env.Name, golden.Problems(problems))
		}
		_, want, _ := render(sample[0], sample[i+1])
		if diff := cmp.Diff(golden.Files(want), golden.Files(got)); diff != "" {
			t.Errorf("%s: the examples do not make what the sample makes (-sample +examples):\n%s", env.Name, diff)
		}
	}
}

// followed adds the YAML that the READMEs of a tree show as files.
func followed(t *testing.T, files tree.Tree) tree.Tree {
	t.Helper()
	var b tree.Builder
	for path, data := range files.All() {
		if err := b.Add(path, data); err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(path, "README.md") {
			continue
		}
		for i, block := range strings.Split(string(data), "```yaml\n")[1:] {
			example, _, ended := strings.Cut(block, "```")
			if !ended {
				t.Fatalf("%s: example %d has no end", path, i)
			}
			if err := b.Add(fmt.Sprintf("%s-%d.yaml", path, i), []byte(example)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return b.Tree()
}

func TestEveryFileParses(t *testing.T) {
	eachVariant(t, func(t *testing.T, o scaffold.Options) {
		control, output := branches(t, o)
		for _, b := range append(control, output...) {
			for path, data := range b.Files.All() {
				checkFile(t, b.Name+":"+path, string(data))
			}
		}
		if o.Layout == scaffold.Folders {
			return
		}
		for _, b := range control { // editors know the schemas of all files
			settings, _ := b.Files.Lookup(".vscode/settings.json")
			for path := range b.Files.All() {
				folder, _, nested := strings.Cut(path, "/")
				if nested && strings.HasSuffix(path, ".yaml") && !strings.HasPrefix(folder, ".") && !strings.Contains(string(settings.Data), `"`+folder+`/**"`) {
					t.Errorf("%s: %s has no schema in editors", b.Name, path)
				}
			}
		}
	})
}

func checkFile(t *testing.T, path, text string) {
	t.Helper()
	if strings.HasSuffix(path, ".yaml") {
		var node yaml.Node
		if err := yaml.Unmarshal([]byte(text), &node); err != nil || node.IsZero() {
			t.Errorf("%s is not YAML: %v\n%s", path, err, text)
		}
	}
	if strings.HasSuffix(path, ".json") && !json.Valid([]byte(text)) {
		t.Errorf("%s is not JSON:\n%s", path, text)
	}
	for _, mark := range []string{"[[", "]]", "<no value>", "\n\n\n", "\r"} {
		if strings.Contains(text, mark) && !strings.HasSuffix(path, ".json") {
			t.Errorf("%s has %q in it:\n%s", path, mark, text)
		}
	}
	if !strings.HasSuffix(text, "\n") || strings.HasSuffix(text, "\n\n") || strings.HasPrefix(text, "\n") {
		t.Errorf("%s begins or ends with an empty line, or does not end its last:\n%s", path, text)
	}
}

// TestPlacesAreWrittenAsTheyAre reads back what environments, and the workflow that
// compares, have the repositories to be.
func TestPlacesAreWrittenAsTheyAre(t *testing.T) {
	eachVariant(t, func(t *testing.T, o scaffold.Options) {
		control, _ := branches(t, o)
		environments := model.NewParser().Scan("", model.Layer{Kind: model.Base, Files: control[0].Files.Sub(".environments")}).Environments
		if len(environments) != len(control)-1 {
			t.Errorf("there are %d environments, and %d branches for them", len(environments), len(control)-1)
		}
		for _, e := range environments {
			want := model.RepoRef{Repo: o.ControlPlane, Branch: e.Name, Path: "."}
			if diff := cmp.Diff(want, e.ControlPlane); diff != "" {
				t.Errorf("Environment/%s is elsewhere (-want +got):\n%s", e.Name, diff)
			}
		}
		for _, env := range control[1:] {
			m, _, _ := render(control[0], env)
			to := model.RepoRef{Repo: o.GitOps, Branch: env.Name, Path: "."}
			if o.Layout == scaffold.Folders {
				to.Branch, to.Path = "main", "clusters/"+env.Name
			}
			if diff := cmp.Diff(to, m.GitOpsRepos[0].RepoRef); diff != "" {
				t.Errorf("the output of %s goes elsewhere (-want +got):\n%s", env.Name, diff)
			}
			if diff := cmp.Diff(model.RepoRef{Repo: o.ControlPlane, Branch: "main", Path: "."}, m.BaseRepos[0].RepoRef); diff != "" {
				t.Errorf("the base of %s is elsewhere (-want +got):\n%s", env.Name, diff)
			}
		}
	})
}

// TestNothingGetsLost has what lies on output branches beside the output: it must
// not be in what Fairlead takes for its own.
func TestNothingGetsLost(t *testing.T) {
	eachVariant(t, func(t *testing.T, o scaffold.Options) {
		_, branches := branches(t, o)
		outputs := branches[1:]
		if o.Layout == scaffold.Folders {
			for _, e := range branches[0].Files.Sub("clusters").Entries() {
				outputs = append(outputs, scaffold.Branch{Name: e.Name, Files: e.Tree()})
			}
		}
		if len(outputs) == 0 {
			t.Fatal("there is nowhere for output to go")
		}
		for _, b := range outputs {
			if owned := output.OwnedTree(b.Files); !owned.IsEmpty() {
				t.Errorf("%s: output would replace\n%s", b.Name, golden.Files(owned))
			}
			if b.Files.IsEmpty() {
				t.Errorf("%s is empty, and Git has no empty branches or folders", b.Name)
			}
		}
	})
}

func TestWorkflows(t *testing.T) {
	local := options(func(o *scaffold.Options) { o.ControlPlane = "/srv/git/control-plane" })
	for _, c := range []struct {
		name string
		o    scaffold.Options
		want string // of the workflow of the GitOps repository
	}{
		{"branches", options(nil), `fairlead diff --control-plane "$CONTROL_PLANE" -e "$ENVIRONMENT" ./output "$ENVIRONMENT"`},
		{"folders", variants["folders"], `fairlead diff --control-plane "$CONTROL_PLANE" -e "$ENVIRONMENT" "./output/clusters/$ENVIRONMENT" "$ENVIRONMENT"`},
		{"a control plane that GitHub cannot read", local, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			control, output := branches(t, c.o)
			for _, b := range control {
				want := `fairlead check -e "$GITHUB_BASE_REF" --environment-revision HEAD --output github`
				if got := lastStep(t, b.Files, "check"); got != want {
					t.Errorf("%s is checked by %q, want %q", b.Name, got, want)
				}
			}
			if got := lastStep(t, output[0].Files, "compare"); got != c.want {
				t.Errorf("output is compared by %q, want %q", got, c.want)
			}
		})
	}
}

// lastStep gives the command of a workflow's last step; "" if there is no such
// workflow.
func lastStep(t *testing.T, files tree.Tree, name string) string {
	t.Helper()
	file, ok := files.Lookup(".github/workflows/" + name + ".yaml")
	if !ok {
		return ""
	}
	var workflow struct {
		Name        string
		On          string
		Permissions map[string]string
		Jobs        map[string]struct {
			RunsOn   string `yaml:"runs-on"`
			Env      map[string]string
			Strategy struct {
				FailFast bool `yaml:"fail-fast"`
				Matrix   map[string][]string
			}
			Steps []struct {
				Name, Uses, If, Run string
				With                map[string]string
			}
		}
	}
	d := yaml.NewDecoder(strings.NewReader(string(file.Data)))
	d.KnownFields(true)
	if err := d.Decode(&workflow); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, file.Data)
	}
	steps := workflow.Jobs["fairlead"].Steps
	return steps[len(steps)-1].Run
}

// TestFiles pins which files there are, what the sample renders to, and the
// settings.
func TestFiles(t *testing.T) {
	golden.Run(t, "testdata/*.txtar", func(t *testing.T, c *golden.Case) {
		var wanted struct {
			Environments []string
			Folders      bool
			Sample       bool
		}
		if err := yaml.Unmarshal([]byte(c.Text("options")), &wanted); err != nil {
			t.Fatal(err)
		}
		o := options(func(o *scaffold.Options) {
			o.Environments, o.Sample = wanted.Environments, wanted.Sample
			if wanted.Folders {
				o.Layout = scaffold.Folders
			}
		})
		control, output := branches(t, o)
		c.Want(t, "control-plane", listing(control))
		c.Want(t, "gitops", listing(output))
		_, files, _ := render(control[0], control[1])
		c.Want(t, "rendered", golden.Files(files))
		settings, err := scaffold.SettingsFile(o, daemons[wanted.Sample])
		if err != nil {
			t.Fatal(err)
		}
		c.Want(t, "settings", settings)
	})
}

func listing(branches []scaffold.Branch) string {
	var b strings.Builder
	for _, branch := range branches {
		fmt.Fprintf(&b, "%s: %s\n", branch.Name, branch.Message)
		for path := range branch.Files.All() {
			b.WriteString("  " + path + "\n")
		}
	}
	return b.String()
}
