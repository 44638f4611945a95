package stackfiles_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
)

// approvals is an environment with one stack that is edited, torn down, and whose plans people
// approve. It remembers what clusters have seen: the renderings without problems.
type approvals struct {
	*testing.T
	r     *rand.Rand
	graph *graph
	files map[string]string // the approvals
	// deleted is true while the stack has no file, and destroyed once clusters have torn it down.
	deleted, destroyed bool
	// history are the outputs, oldest first, and published the last one; plans is how many plans each
	// component has made in them, or may have, and approved when each approval was given, by that count.
	history   []tree.Tree
	published tree.Tree
	plans     map[string]int
	approved  map[string]int
	commits   []commit // what people have written, oldest first
	steps     []string
	// compared has plans compared with what was approved, by a tofu-controller that the test stands in for.
	compared *comparedPlans
}

// commit is what people have written at one time.
type commit struct {
	values, files     map[string]string
	teardown, deleted bool
}

func newApprovals(t *testing.T, seed uint64) *approvals {
	r := rand.New(rand.NewPCG(seed, 3))
	return &approvals{T: t, r: r, graph: newGraph(r), files: map[string]string{}, plans: map[string]int{}, approved: map[string]int{}}
}

// terraform returns what is published of the Terraform object of a component.
func (a *approvals) terraform(files tree.Tree, component string) decoded {
	e, _ := files.Lookup("environments/checkout/dev/" + component + "/objects/terraform.yaml")
	return decodeObject(a.T, e.Data)
}

func (a *approvals) pin(files tree.Tree, component string) string {
	e, _ := files.Lookup("environments/checkout/dev/" + component + "/objects/gitrepository.yaml")
	return decodeObject(a.T, e.Data).Spec.Ref.Commit
}

// render publishes what is written, if it has no problems, and checks what is approved by it.
func (a *approvals) render() {
	texts := maps.Clone(a.files)
	if a.compared != nil {
		texts["settings.yaml"] = comparedSettings
	}
	if !a.deleted {
		texts["stack.yaml"] = a.graph.text(a.r)
	}
	var destroyed []string
	if a.destroyed {
		destroyed = []string{"checkout/dev"}
	}
	files, _, problems := followTexts(a.T, texts, a.history, destroyed...)
	if problems.Stops() {
		return
	}
	for _, name := range a.graph.names() {
		before, now := a.terraform(a.published, name), a.terraform(files, name)
		plan, applied := now.Spec.ApprovePlan, before.Spec.ApprovePlan != "" && now.Spec.ApprovePlan == ""
		if a.pin(a.published, name) != a.pin(files, name) || before.Spec.Destroy != now.Spec.Destroy || applied {
			a.plans[name]++
		}
		if plan == "" {
			continue
		}
		// One that stays in the output approves nothing again, whatever file it has.
		stays := a.terraform(a.published, name)
		if given, ok := a.approved[a.files[name+".yaml"]]; (!ok || given != a.plans[name]) && !reflect.DeepEqual(stays, now) {
			a.Fatalf("%s: %s is approved, which nobody has seen\n%s", name, plan, strings.Join(a.steps, "\n"))
		}
		if want := "plan-fairlead-modules-dev-" + a.pin(files, name)[:10]; plan != want {
			a.Fatalf("%s: the plan %s is approved at %s", name, plan, want)
		}
	}
	a.published, a.history = files, append(a.history, files)
	if a.compared != nil {
		a.runPlans()
	}
}

// commit notes what is written.
func (a *approvals) commit() {
	a.commits = append(a.commits, commit{maps.Clone(a.graph.values), maps.Clone(a.files), a.graph.teardown, a.deleted})
}

// revertCommit takes back what one of the last commits has changed, as git revert does.
func (a *approvals) revertCommit() string {
	n := len(a.commits) - 1 - a.r.IntN(min(8, len(a.commits)-1))
	before, after := a.commits[n-1], a.commits[n]
	revertMap(a.graph.values, before.values, after.values)
	revertMap(a.files, before.files, after.files)
	if before.teardown != after.teardown {
		a.graph.teardown = before.teardown
	}
	if before.deleted != after.deleted {
		a.deleted = before.deleted
	}
	return fmt.Sprintf("revert commit %d", n)
}

// revertMap takes back in now what differs from before to after.
func revertMap(now, before, after map[string]string) {
	for name, text := range before {
		if after[name] != text {
			now[name] = text
		}
	}
	for name := range after {
		if _, was := before[name]; !was {
			delete(now, name)
		}
	}
}

// step does one thing that people do, and returns its name.
func (a *approvals) step() string {
	names := a.graph.names()
	name := names[a.r.IntN(len(names))]
	file := name + ".yaml"
	if a.compared != nil && a.r.IntN(3) == 0 {
		a.compared.world[name] = a.r.IntN(3)
		return "the world of " + name + " changes"
	}
	switch a.r.IntN(11) {
	case 0, 1: // there and back again, often
		a.graph.values[name] = []string{"a", "b"}[a.r.IntN(2)]
		return "set " + name + " to " + a.graph.values[name]
	case 2:
		a.graph.teardown = !a.graph.teardown
		return "flip teardown"
	case 3:
		delete(a.files, file)
		return "remove the approval of " + name
	case 4:
		a.deleted = !a.deleted
		return "delete the file of the stack, or restore it"
	case 5:
		a.destroyed = a.r.IntN(3) == 0
		return "clusters report"
	case 10:
		return a.flipRequest(name)
	case 6, 7:
		if len(a.commits) > 1 {
			return a.revertCommit()
		}
	}
	if a.pin(a.published, name) == "" {
		return "nothing"
	}
	o := a.terraform(a.published, name)
	text := fmt.Sprintf("apiVersion: fairlead.io/v1alpha1\nkind: PlanApproval\nmetadata: {name: %s}\nspec: {stack: checkout/dev, component: %s, plan: %q, inputs: %q, output: %q%s}\n",
		name, name, "plan-fairlead-modules-dev-"+a.pin(a.published, name)[:10], o.Metadata.Annotations[stackfiles.InputsAnnotation], outputCommit(len(a.history)-1), a.compared.digestField(name))
	if _, again := a.approved[text]; !again { // or else nothing was published between
		a.approved[text] = a.plans[name]
	}
	a.files[file] = text
	return "approve the plan of " + name
}

// flipRequest asks for another plan of a component, or takes that back.
func (a *approvals) flipRequest(name string) string {
	file := "request-" + name + ".yaml"
	if a.files[file] != "" {
		delete(a.files, file)
		return "remove the request for a plan of " + name
	}
	a.files[file] = fmt.Sprintf("apiVersion: fairlead.io/v1alpha1\nkind: PlanRequest\nmetadata: {name: %s}\nspec: {stack: checkout/dev, component: %s, after: %q}\n",
		name, name, []string{"aa", "bb"}[a.r.IntN(2)])
	return "ask for another plan of " + name
}

// TestApprovals: no sequence of edits, teardowns, deletions, requests, approvals and renderings publishes the
// approval of a plan other than the one that was approved. Several edits may come into one rendering,
// and what is edited may come back, by an edit or by a revert, with the approval that it had.
// Rendering remembers nothing: each is one after a restart.
func TestApprovals(t *testing.T) {
	used := 0
	for seed := range uint64(20) {
		a := newApprovals(t, seed)
		a.render()
		a.commit()
		for range 60 {
			a.steps = append(a.steps, a.step())
			a.commit()
			if a.r.IntN(4) > 0 {
				a.render()
			}
			for _, name := range a.graph.names() {
				if a.terraform(a.published, name).Spec.ApprovePlan != "" {
					used++
				}
			}
		}
	}
	if used < 150 {
		t.Errorf("an approval was in the output %d times only", used)
	}
}

// TestApprovalMistakes: an approval that is not for the plan of its component does not count, and one of what has no
// plans to approve stops the stack.
func TestApprovalMistakes(t *testing.T) {
	const stack = "apiVersion: stable.cloudknit.io/v1\nkind: Environment\nmetadata: {name: checkout-dev}\nspec:\n  teamName: checkout\n  envName: dev\n  components:\n" +
		"    - {name: eks, type: terraform, autoApprove: %v, module: {source: \"https://github.com/x/y?ref=v1.0\"}}\n    - {name: app, type: helm, source: {repo: \"https://example.com/charts\", chart: app}}\n"
	files, problems := renderTexts(t, map[string]string{"stack.yaml": fmt.Sprintf(stack, false)})
	if problems.Stops() {
		t.Fatal(problems)
	}
	a := &approvals{T: t}
	inputs := a.terraform(files, "eks").Metadata.Annotations[stackfiles.InputsAnnotation]
	plan := "plan-fairlead-modules-dev-" + a.pin(files, "eks")[:10]
	approval := func(name, stack, component, plan, inputs string) string {
		return fmt.Sprintf("apiVersion: fairlead.io/v1alpha1\nkind: PlanApproval\nmetadata: {name: %s}\nspec: {stack: %q, component: %q, plan: %q, inputs: %q, output: %q}\n---\n", name, stack, component, plan, inputs, outputCommit(0))
	}
	for _, c := range []struct {
		name, text string
		auto       bool
		want       string // "" for none
	}{
		{"right", approval("a", "checkout/dev", "eks", plan, inputs), false, ""},
		{"other plan", approval("a", "checkout/dev", "eks", "plan-other-0123456789", inputs), false, "the approval is not for the plan of the component eks"},
		{"other inputs", approval("a", "checkout/dev", "eks", plan, "0123456789abcdef"), false, "the approval is not for the plan of the component eks"},
		{"auto", approval("a", "checkout/dev", "eks", "auto", inputs), false, "the approval is not for the plan of the component eks"},
		{"twice", approval("a", "checkout/dev", "eks", plan, inputs) + approval("b", "checkout/dev", "eks", plan, inputs), false, "there is another PlanApproval of the component eks, a, at dev/approval.yaml:1"},
		{"without a person", approval("a", "checkout/dev", "eks", plan, inputs), true, "the plans of the component eks are approved without a person"},
		{"chart", approval("a", "checkout/dev", "app", plan, inputs), false, "the component app has no plans: it is of type helm"},
		{"no component", approval("a", "checkout/dev", "ek", plan, inputs), false, "the plan is of the component ek of the stack checkout/dev, which is not in this environment"},
	} {
		t.Run(c.name, func(t *testing.T) {
			files, problems := renderTexts(t, map[string]string{"stack.yaml": fmt.Sprintf(stack, c.auto), "approval.yaml": c.text})
			if c.want == "" {
				if got := a.terraform(files, "eks").Spec.ApprovePlan; got != plan {
					t.Errorf("approvePlan is %q, want %q; %v", got, plan, problems)
				}
				return
			}
			i := slices.IndexFunc(problems, func(p problem.Problem) bool { return strings.HasPrefix(p.Summary, c.want) })
			if i < 0 || problems.Stops() == problems[i].Warning || files.IsEmpty() == problems[i].Warning || a.terraform(files, "eks").Spec.ApprovePlan != "" {
				t.Errorf("the problems are %v, want %q", problems, c.want)
			}
		})
	}
	floating := strings.Replace(fmt.Sprintf(stack, false), "?ref=v1.0", "", 1)
	_, problems = renderTexts(t, map[string]string{"stack.yaml": floating, "approval.yaml": approval("a", "checkout/dev", "eks", plan, inputs)})
	if first, _ := problems.FirstStopping(); !strings.HasPrefix(first.Summary, "a module of the component eks has no version") {
		t.Errorf("the plan of a module without a version is approved: %v", problems)
	}
	_, problems = renderTexts(t, map[string]string{"approval.yaml": approval("a", "checkout/gone", "eks", plan, inputs)})
	if len(problems) != 1 || problems.Stops() || problems[0].Hint != "remove it, unless it was written for the plan of the teardown" {
		t.Errorf("of an approval without the file of its stack, the problems are %+v", problems)
	}
}
