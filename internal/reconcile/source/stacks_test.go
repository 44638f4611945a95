package source_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/render/output"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

// stackWorld is a control plane with the environment dev, and beside it the repositories of a module,
// of files of variables, and of a team.
type stackWorld struct {
	*testing.T
	*gittest.Server
	source *source.Source
	cache  output.Cache
}

// newStackWorld has what follows StackSettings in the folder env, with the URLs of repositories in the
// place of their names in braces.
func newStackWorld(t *testing.T, follow, stacks string) *stackWorld {
	t.Helper()
	w := &stackWorld{T: t, Server: gittest.Serve(t)}
	for _, name := range []string{"cp", "vpc", "vars", "team"} {
		w.Create(name)
	}
	w.push("vpc", "main", map[string]string{"main.tf": "variable \"cidr\" {}\n", "README.yaml": "not: read\n"})
	w.push("vars", "main", map[string]string{"dev/a.tfvars": "cidr = \"10.0.0.0/16\"\n", "dev/object.yaml": "not: an object\n"})
	w.push("team", "main", map[string]string{
		"stacks/dev.yaml": w.expand(stackText("checkout", "prod", "{module: {source: '{vpc}'}, variablesFile: {path: vars/a.tfvars}}")),
		"vars/a.tfvars":   "cidr = \"10.1.0.0/16\"\n", "vars/other.yaml": "not: an object\n",
	})
	w.push("cp", "main", map[string]string{".environments/dev.yaml": strings.ReplaceAll(environment("dev", "dev"), cpURL, w.URL("cp"))})
	w.push("cp", "dev", map[string]string{
		"gitops.yaml": object("GitOpsRepo", "dev", "{repo: https://git.example.com/gitops, branch: dev, path: .}"),
		"settings.yaml": "apiVersion: fairlead.io/v1alpha1\nkind: StackSettings\nmetadata: {name: stacks}\n" +
			"spec: {state: {bucket: zmart-state, region: us-east-1}, follow: {" + follow + "}}\n",
		"stacks.yaml": w.expand(stacks),
	})
	var err error
	w.source, err = source.Open(t.Context(), source.Options{ControlPlane: w.URL("cp"), CacheDir: t.TempDir(), Parser: model.NewParser()})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// stackText is a stack with one component.
func stackText(team, env, component string) string {
	return "apiVersion: stable.cloudknit.io/v1\nkind: Environment\nmetadata: {name: " + team + "-" + env + ", namespace: zmart-config}\n" +
		"spec:\n  teamName: " + team + "\n  envName: " + env + "\n  components:\n    - " + strings.Replace(component, "{", "{name: net, type: terraform, ", 1) + "\n"
}

const teamText = "apiVersion: stable.cloudknit.io/v1\nkind: Team\nmetadata: {name: checkout}\nspec: {teamName: checkout, configRepo: {source: '{team}', path: stacks}}\n"

func (w *stackWorld) expand(text string) string {
	for _, name := range []string{"cp", "vpc", "vars", "team", "nowhere"} {
		text = strings.ReplaceAll(text, "{"+name+"}", w.URL(name))
	}
	return text
}

// push writes files to a branch of a repository, and returns the commit.
func (w *stackWorld) push(name, branch string, files map[string]string) string {
	w.Helper()
	work := w.Work(w.T, name)
	work.Switch(branch)
	for _, file := range slices.Sorted(maps.Keys(files)) {
		work.Write(file, files[file])
	}
	commit := work.Commit("change")
	work.Push(branch)
	return commit
}

func (w *stackWorld) render(at source.Revisions) source.Rendered {
	w.Helper()
	r, err := w.source.Render(w.Context(), "dev", at, &w.cache)
	var unreachable *source.UnreachableError
	if err != nil && !errors.As(err, &unreachable) {
		w.Fatal(err)
	}
	return r
}

// findModule returns the call of the module of a rendered stack.
func findModule(files tree.Tree, team, env string) string {
	e, _ := files.Lookup("team/" + team + "-team-environment/" + env + "-environment-component/net/terraform/module.tf")
	return string(e.Data)
}

// recordedOf returns the revisions that something was rendered from, as verifying it names them.
func recordedOf(r source.Rendered) source.Revisions {
	return source.RecordedRevisions("dev", r.Commits)
}

// TestRefBecomesTag: what was rendered with a module of a branch is rendered again as it was when the branch
// is gone and a tag has its name, and what was rendered with the tag when that is a branch.
func TestRefBecomesTag(t *testing.T) {
	w := newStackWorld(t, "", stackText("checkout", "dev", "{module: {source: '{vpc}?ref=v1.0'}}"))
	w.push("vpc", "v1.0", map[string]string{"more.tf": "variable \"size\" { default = 1 }\n"})
	turn := func(from, to string) source.Rendered {
		t.Helper()
		if from != "" {
			gittest.Git(t, w.Dir("vpc"), "update-ref", to, from)
			gittest.Git(t, w.Dir("vpc"), "update-ref", "-d", from)
		}
		if err := w.source.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		return w.render(source.Revisions{})
	}
	branch := turn("", "")
	tag := turn("refs/heads/v1.0", "refs/tags/v1.0")
	if text := findModule(branch.Tree, "checkout", "dev"); !strings.Contains(text, "?ref=") || strings.Contains(text, "?ref=v1.0") {
		t.Errorf("the module of a branch is not pinned:\n%s", text)
	}
	if text := findModule(tag.Tree, "checkout", "dev"); !strings.Contains(text, "?ref=v1.0") {
		t.Errorf("the module of a tag is pinned:\n%s", text)
	}
	if again := w.render(recordedOf(branch)); again.Tree.ID() != branch.Tree.ID() {
		t.Errorf("the branch is a tag, and the output another one:\n%s", findModule(again.Tree, "checkout", "dev"))
	}
	turn("refs/tags/v1.0", "refs/heads/v1.0")
	if again := w.render(recordedOf(tag)); again.Tree.ID() != tag.Tree.ID() {
		t.Errorf("the tag is a branch, and the output another one:\n%s", findModule(again.Tree, "checkout", "dev"))
	}
}

// TestOddRefs: a module is pinned to the commit that was read, however its branch is named: an approved plan
// is of that commit.
func TestOddRefs(t *testing.T) {
	for ref, values := range map[string]string{"refs/heads/next": "", "v5": "", "heads/next": "", "next~0": "", "HEAD": ", variables: [{name: cidr, value: 10.0.0.0/16}]"} {
		w := newStackWorld(t, "", stackText("checkout", "dev", "{module: {source: '{vpc}?ref="+ref+"'}"+values+"}"))
		at := w.push("vpc", "next", map[string]string{"more.tf": "variable \"size\" { default = 1 }\n"})
		gittest.Git(t, w.Dir("vpc"), "update-ref", "refs/tags/v5", at)
		if ref == "HEAD" {
			at = gittest.Commit(t, w.Dir("vpc"), "HEAD")
		}
		rendered := w.render(source.Revisions{})
		if text := findModule(rendered.Tree, "checkout", "dev"); !strings.Contains(text, "?ref="+at) {
			t.Errorf("the module at %s is not pinned to %s, with the problems %v:\n%s", ref, at, rendered.Problems, text)
		}
	}
}

// TestModuleMoves: a module that is read at the head of a branch is pinned to its commit, which is
// recorded; when it moves the output changes, and what was recorded is rendered again as it was.
func TestModuleMoves(t *testing.T) {
	w := newStackWorld(t, "", stackText("checkout", "dev", "{module: {source: '{vpc}'}, variablesFile: {source: '{vars}', path: dev/a.tfvars}}"))
	first := w.render(source.Revisions{})
	if first.Problems.Stops() {
		t.Fatal(first.Problems)
	}
	recorded := recordedOf(first)
	if len(recorded.Workloads) != 2 {
		t.Fatalf("the recorded commits are %v", recorded.Workloads)
	}
	moved := w.push("vpc", "main", map[string]string{"more.tf": "variable \"size\" { default = 1 }\n"})
	if err := w.source.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	second := w.render(source.Revisions{})
	before, after := findModule(first.Tree, "checkout", "dev"), findModule(second.Tree, "checkout", "dev")
	if !strings.Contains(after, "?ref="+moved) || strings.Contains(before, moved) || !strings.Contains(before, "?ref=") || !strings.Contains(after, "10.0.0.0/16") {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
	if again := w.render(recorded); again.Tree.ID() != first.Tree.ID() {
		t.Errorf("at the recorded commits it is another output: %v", again.Problems)
	}
	delete(recorded.Workloads, strings.TrimPrefix(strings.TrimSuffix(w.URL("vpc"), ".git"), "http://"))
	if again := w.render(recorded); strings.Contains(findModule(again.Tree, "checkout", "dev"), "ref=") {
		t.Errorf("a module that was not recorded is pinned:\n%s", findModule(again.Tree, "checkout", "dev"))
	}
}

// TestStackRepositories: what is read of other repositories, and what is wrong with them. A module that
// cannot be read stops nothing.
func TestStackRepositories(t *testing.T) {
	for name, test := range map[string]struct {
		follow, component string
		want              string // the first problem; "" for none
		warning           string // a part of a warning; "" if it does not matter
		module            string // a part of the call of the module
	}{
		"module":                {"", "{module: {source: '{vpc}'}, variables: [{name: cidr, value: a}]}", "", "", "?ref="},
		"unknown variable":      {"", "{module: {source: '{vpc}'}, variables: [{name: cird, value: a}, {name: cidr, value: a}]}", "dev/stacks.yaml:8: Environment/checkout-dev: component net: its module has no variable cird", "", ""},
		"missing variable":      {"", "{module: {source: '{vpc}'}}", "dev/stacks.yaml:8: Environment/checkout-dev: component net: its module needs the variable cidr, which has no default", "", ""},
		"no module repository":  {"", "{module: {source: '{nowhere}'}, variables: [{name: b, value: a}]}", "", "there is no repository at", `source = "git::`},
		"no module read":        {"modules: false", "{module: {source: '{vpc}'}, variables: [{name: b, value: a}]}", "", "", `vpc.git"`},
		"module elsewhere":      {"", "{module: {source: 'https://git.example.com/vpc'}, variables: [{name: b, value: a}]}", "", "", `com/vpc"`},
		"module out of reach":   {"modules: true", "{module: {source: 'http://127.0.0.1:1/vpc'}, variables: [{name: b, value: a}]}", "", "cannot be reached", `1/vpc"`},
		"module of no folder":   {"", "{module: {source: '{vpc}', path: sub}}", "%s has no module in the folder \"/sub\" at commit", "", ""},
		"module of no ref":      {"", "{module: {source: '{vpc}?ref=v9'}}", "%s has no branch or commit \"v9\"", "", ""},
		"variables":             {"", "{module: {source: '{vpc}'}, variablesFile: {source: '{vars}', path: dev/a.tfvars, ref: main}}", "", "CloudKnit reads the default branch", "10.0.0.0/16"},
		"no variables":          {"", "{module: {source: '{vpc}'}, variablesFile: {source: '{vars}', path: dev/b.tfvars}}", "there is no file dev/b.tfvars in", "", ""},
		"no variables at a ref": {"", "{module: {source: '{vpc}'}, variablesFile: {source: '{vars}', path: dev/a.tfvars, ref: v9}}", "has no branch or commit \"v9\"", "", ""},
		"no repository":         {"", "{module: {source: '{vpc}'}, variablesFile: {source: '{nowhere}', path: dev/a.tfvars}}", "there is no repository at", "", ""},
		"overlay":               {"", "{module: {source: '{vpc}'}, variables: [{name: cidr, value: a}], overlayFiles: [{source: '{vars}', paths: [dev]}]}", "", "", "?ref="},
		"local path":            {"", "{module: {source: '{vpc}'}, variablesFile: {source: /etc, path: passwd}}", "/etc is not a URL", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newStackWorld(t, test.follow, stackText("checkout", "dev", test.component))
			r := w.render(source.Revisions{})
			first, stops := r.Problems.FirstStopping()
			if got := first.String(); stops != (test.want != "") || !strings.Contains(got, strings.TrimPrefix(test.want, "%s ")) {
				t.Errorf("the problem is %q, want %q", got, test.want)
			}
			if count, _ := r.Problems.Count(); stops && count != 1 {
				t.Errorf("one mistake is %d problems: %v", count, r.Problems)
			}
			if !stops && !strings.Contains(fmt.Sprint(r.Problems), test.warning) {
				t.Errorf("the warnings are %v, want %q", r.Problems, test.warning)
			}
			if call := findModule(r.Tree, "checkout", "dev"); !strings.Contains(call, test.module) {
				t.Errorf("want %s in:\n%s", test.module, call)
			}
			if asked := len(w.Requests("vpc")) > 0; strings.HasPrefix(test.follow, "modules: false") && asked {
				t.Error("a module was read that is not to be read")
			}
		})
	}
}

// TestTeamRepository: stacks are read from the repository that a Team names, with their files, if the
// settings say so, and nothing of it is left out when it cannot be read.
func TestTeamRepository(t *testing.T) {
	w := newStackWorld(t, "teams: true", teamText)
	r := w.render(source.Revisions{})
	if call := findModule(r.Tree, "checkout", "prod"); r.Problems.Stops() || !strings.Contains(call, "10.1.0.0/16") || !strings.Contains(call, "?ref=") {
		t.Errorf("problems: %v, module:\n%s", r.Problems, call)
	}
	recorded := recordedOf(r)
	w.push("team", "main", map[string]string{"vars/a.tfvars": "cidr = \"10.2.0.0/16\"\n"})
	if err := w.source.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if call := findModule(w.render(source.Revisions{}).Tree, "checkout", "prod"); !strings.Contains(call, "10.2.0.0/16") {
		t.Errorf("after a change:\n%s", call)
	}
	if again := w.render(recorded); again.Tree.ID() != r.Tree.ID() {
		t.Errorf("at the recorded commits it is another output: %v", again.Problems)
	}
	for name, test := range map[string]struct{ follow, team, want string }{
		"not followed":  {"", teamText, ""},
		"no repository": {"teams: true", strings.ReplaceAll(teamText, "{team}", "{nowhere}"), "there is no repository at"},
		"no folder":     {"teams: true", strings.ReplaceAll(teamText, "path: stacks", "path: nothing"), "has no folder \"nothing\" at commit"},
		"not an object": {"teams: true", strings.ReplaceAll(teamText, "path: stacks", "path: vars"), ""},
		"its own":       {"teams: true", strings.ReplaceAll(teamText, "{team}", "{cp}"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newStackWorld(t, test.follow, test.team)
			r := w.render(source.Revisions{})
			first, stops := r.Problems.FirstStopping()
			if stops != (test.want != "") || !strings.Contains(first.String(), test.want) || r.Problems.StopsEnvironment() {
				t.Errorf("the problem is %q, want %q, which stops the team", first, test.want)
			}
			if findModule(r.Tree, "checkout", "prod") != "" {
				t.Error("the stack of the team is there")
			}
		})
	}
}

// TestUnreadRepositoryStaysAndIsRecorded: a repository that cannot be read stops the stacks that name files of it, which stay as
// they are, and no others. What was rendered without it is rendered without it again.
func TestUnreadRepositoryStaysAndIsRecorded(t *testing.T) {
	other := strings.ReplaceAll(stackText("checkout", "prod", "{module: {source: '{vpc}'}, variables: [{name: cidr, value: a}]}"), "  envName: prod\n", "  envName: prod\n  description: new\n")
	reads := func(repo string) string {
		return stackText("checkout", "dev", "{module: {source: '{vpc}'}, variablesFile: {source: '"+repo+"', path: dev/a.tfvars}}")
	}
	for name, test := range map[string]struct{ repo, want string }{
		"not there":    {"{nowhere}", "there is no repository at"},
		"out of reach": {"http://127.0.0.1:1/vars", "cannot be reached"},
		"not a URL":    {"/etc", "/etc is not a URL"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newStackWorld(t, "", reads("{vars}"))
			first := w.render(source.Revisions{})
			w.push("cp", "dev", map[string]string{"stacks.yaml": w.expand(reads(test.repo) + "---\n" + other)})
			if err := w.source.Refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
			second := w.render(source.Revisions{})
			if !strings.Contains(fmt.Sprint(second.Problems), test.want) || second.Problems.StopsEnvironment() || !second.Problems.StopsStack("checkout/dev") || second.Problems.StopsStack("checkout/prod") {
				t.Fatal(second.Problems)
			}
			followed, err := second.FollowOutput(first.Tree)
			if err != nil || followed.Tree.Sub("environments/checkout/dev").ID() != first.Tree.Sub("environments/checkout/dev").ID() {
				t.Errorf("the stack does not stay as it is: %v", err)
			}
			if !strings.Contains(findModule(followed.Tree, "checkout", "prod"), "?ref=") {
				t.Error("the other stack is not there")
			}
			if again := w.render(recordedOf(second)); again.Tree.ID() != second.Tree.ID() {
				t.Errorf("at the recorded commits it is another output: %v", again.Problems)
			}
		})
	}
}

// TestBrokenSourceStopsOneEnvironment: a repository that a stack of one environment names, and that is
// not there, stops no other environment.
func TestBrokenSourceStopsOneEnvironment(t *testing.T) {
	w := newStackWorld(t, "", stackText("checkout", "dev", "{module: {source: '{vpc}'}, variablesFile: {source: '{nowhere}', path: dev/a.tfvars}}"))
	w.push("cp", "main", map[string]string{".environments/stage.yaml": strings.ReplaceAll(environment("stage", "stage"), cpURL, w.URL("cp"))})
	w.push("cp", "stage", map[string]string{
		"gitops.yaml":   object("GitOpsRepo", "stage", "{repo: https://git.example.com/gitops, branch: stage, path: .}"),
		"settings.yaml": "apiVersion: fairlead.io/v1alpha1\nkind: StackSettings\nmetadata: {name: stacks}\nspec: {state: {bucket: zmart-state, region: us-east-1}}\n",
		"stacks.yaml":   w.expand(stackText("checkout", "stage", "{module: {source: '{vpc}'}, variablesFile: {source: '{vars}', path: dev/a.tfvars}}")),
	})
	if err := w.source.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if dev := w.render(source.Revisions{}); !dev.Problems.Stops() {
		t.Errorf("dev renders: %v", dev.Problems)
	}
	stage, err := w.source.Render(t.Context(), "stage", source.Revisions{}, nil)
	if err != nil || stage.Problems.Stops() || !strings.Contains(findModule(stage.Tree, "checkout", "stage"), "?ref=") {
		t.Errorf("stage: %v %v", err, stage.Problems)
	}
}

// TestUnreadRepositoryStopsItsStacks: a repository or a ref that cannot be read stops each stack that names
// it, at the line where that does so, and no other one. It is asked again.
func TestUnreadRepositoryStopsItsStacks(t *testing.T) {
	for name, test := range map[string]struct{ component, want string }{
		"no repository": {"{module: {source: '{vpc}'}, variablesFile: {source: '{nowhere}', path: dev/a.tfvars}}", "there is no repository at "},
		"out of reach":  {"{module: {source: '{vpc}'}, variablesFile: {source: 'http://127.0.0.1:1/vars', path: dev/a.tfvars}}", "cannot be reached"},
		"no ref":        {"{module: {source: '{vpc}?ref=v9'}, variables: [{name: cidr, value: a}]}", `has no branch or commit "v9"`},
		"no module":     {"{module: {source: '{vpc}', path: sub}}", `has no module in the folder "/sub"`},
	} {
		t.Run(name, func(t *testing.T) {
			sound := stackText("till", "dev", "{module: {source: '{vpc}'}, variables: [{name: cidr, value: a}]}")
			w := newStackWorld(t, "modules: true", strings.Join([]string{stackText("checkout", "dev", test.component), sound, stackText("shop", "dev", test.component)}, "---\n"))
			r := w.render(source.Revisions{})
			var lines []string
			for _, p := range r.Problems {
				if !p.Warning && strings.Contains(p.Summary, test.want) {
					lines = append(lines, fmt.Sprint(p.Stack, " ", p.Pos.Line))
				}
			}
			if want := []string{"checkout/dev 8", "shop/dev 26"}; !slices.Equal(lines, want) {
				t.Errorf("what stops is %q, want %q: %v", lines, want, r.Problems)
			}
			if findModule(r.Tree, "till", "dev") == "" || findModule(r.Tree, "checkout", "dev") != "" || findModule(r.Tree, "shop", "dev") != "" {
				t.Errorf("rendered are %v", r.Tree.Entries())
			}
			w.Create("nowhere")
			w.push("nowhere", "main", map[string]string{"dev/a.tfvars": "cidr = \"10.0.0.0/16\"\n"})
			w.push("vpc", "v9", map[string]string{"main.tf": "variable \"cidr\" {}\n"})
			w.push("vpc", "main", map[string]string{"sub/main.tf": "variable \"cidr\" { default = \"a\" }\n"})
			if again := w.render(recordedOf(r)); name != "no ref" && again.Tree.ID() != r.Tree.ID() {
				t.Errorf("from its record it is rendered otherwise: %v", again.Problems)
			}
			if err := w.source.Refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
			if r := w.render(source.Revisions{}); name != "out of reach" && r.Problems.Stops() {
				t.Errorf("mended: %v", r.Problems)
			}
		})
	}
}
