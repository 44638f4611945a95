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
	"github.com/fairlead-io/fairlead/internal/render/output"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
)

// keepTexts renders files of an environment after a previous output, as the daemon does.
func keepTexts(t *testing.T, texts map[string]string, previous tree.Tree, destroyed ...string) (tree.Tree, []string, problem.List) {
	t.Helper()
	var history []tree.Tree
	if !previous.IsEmpty() {
		history = []tree.Tree{previous}
	}
	return followTexts(t, texts, history, destroyed...)
}

// outputCommit returns the id of the nth commit of the output.
func outputCommit(n int) string { return fmt.Sprintf("%040x", n) }

// followTexts renders files of an environment after all previous outputs, oldest first.
func followTexts(t *testing.T, texts map[string]string, history []tree.Tree, destroyed ...string) (tree.Tree, []string, problem.List) {
	t.Helper()
	files, err := tree.FromFiles(bytesOf(texts))
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := texts["settings.yaml"]; !ok {
		files = withFile(t, files, "settings.yaml", settingsText)
	}
	m, problems := model.Parse("dev", model.Layer{Kind: model.Env, Name: "dev", Files: files})
	rendered, more := output.Render(m, nil, output.Options{})
	if problems = append(problems, more...); problems.StopsEnvironment() {
		return tree.Tree{}, nil, problems.Sorted()
	}
	previous := stackfiles.Previous{
		IsDestroyed: func(d stackfiles.Deleted) bool { return slices.Contains(destroyed, d.Path()) },
		Since: func(commit, folder string) (versions []tree.Tree, found bool) {
			for n := len(history) - 1; n >= 0; n-- {
				versions = append(versions, history[n].Sub(folder))
				if outputCommit(n) == commit {
					return versions, true
				}
			}
			return nil, false
		},
	}
	if len(history) > 0 {
		previous.Tree = history[len(history)-1]
	}
	all, deleted, more, err := stackfiles.FollowPrevious(m, rendered, previous)
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, d := range deleted {
		paths = append(paths, d.Path())
	}
	return all, paths, append(problems, more...).Sorted()
}

func bytesOf(texts map[string]string) map[string][]byte {
	files := map[string][]byte{}
	for name, text := range texts {
		files[name] = []byte(text)
	}
	return files
}

// stackText writes a stack of a network and a cluster in it.
func stackText(team, fields, eks string) string {
	return fmt.Sprintf(`apiVersion: stable.cloudknit.io/v1
kind: Environment
metadata: {name: zmart-%[4]s-dev, namespace: zmart-config}
spec:
  teamName: %[1]s
  envName: dev
  description: the stack of %[1]s
%[2]s  components:
    - {name: a-network, type: terraform, module: {source: "https://github.com/x/y?ref=v1.0"}, outputs: [{name: id}]}
    - {name: eks, type: terraform, dependsOn: [a-network], module: {source: "https://github.com/x/y?ref=v1.0"}, variables: [{name: vpc, valueFrom: a-network.id}]%[3]s}
`, team, fields, eks, strings.ToLower(team))
}

// TestDeleted is golden case 11: the stack whose file is deleted is torn down as one with teardown:
// true, for as long as it is not destroyed, and then it is gone.
func TestDeleted(t *testing.T) {
	both := map[string]string{"checkout.yaml": stackText("checkout", "", ""), "payment.yaml": stackText("payment", "", "")}
	one := map[string]string{"payment.yaml": both["payment.yaml"]}
	first, deleted, problems := keepTexts(t, both, tree.Tree{})
	if problems.Stops() || deleted != nil {
		t.Fatal(problems, deleted)
	}
	want, _, _ := keepTexts(t, map[string]string{"checkout.yaml": stackText("checkout", "  teardown: true\n", ""), "payment.yaml": both["payment.yaml"]}, tree.Tree{})

	torn, deleted, problems := keepTexts(t, one, first, "checkout/dev") // ready on what was there before says nothing
	if diff := cmp.Diff(changesOf(want, torn), ""); diff != "" || !slices.Equal(deleted, []string{"checkout/dev"}) {
		t.Fatalf("%v %v: -teardown: true +deleted:\n%s", problems, deleted, diff)
	}
	if !strings.Contains(fmt.Sprint(problems), "the file of the stack checkout/dev was deleted: its components are destroyed") {
		t.Errorf("nothing is reported: %v", problems)
	}
	checkFiles(t, torn)
	if again, _, _ := keepTexts(t, one, torn); !tree.Equal(torn, again) {
		t.Errorf("rendered again, it differs:\n%s", changesOf(torn, again))
	}
	none, _, problems := keepTexts(t, nil, first)
	if problems.Stops() || none.Sub("environments/checkout").IsEmpty() || none.Sub("environments/payment").IsEmpty() {
		t.Errorf("without any file of a stack, they are not kept: %v", problems)
	}
	checkFiles(t, none)

	released, deleted, _ := keepTexts(t, one, torn, "checkout/dev")
	checkReleased(t, released, deleted)
	if waits, _, _ := keepTexts(t, one, released); !tree.Equal(released, waits) {
		t.Errorf("while its Terraform objects go, it differs:\n%s", changesOf(released, waits))
	}
	if restored, _, problems := keepTexts(t, both, released); !tree.Equal(restored, first) || len(problems) > 0 {
		t.Errorf("with its file restored after that, it is not as it was: %v\n%s", problems, changesOf(first, restored))
	}
	gone, deleted, problems := keepTexts(t, one, released, "checkout/dev")
	if alone, _, _ := keepTexts(t, one, tree.Tree{}); !tree.Equal(gone, alone) || deleted != nil || len(problems) > 0 {
		t.Errorf("destroyed, it is not gone: %v %v\n%s", deleted, problems, changesOf(alone, gone))
	}
	if after, deleted, problems := keepTexts(t, one, gone); !tree.Equal(gone, after) || deleted != nil || len(problems) > 0 {
		t.Errorf("it comes back: %v %v", deleted, problems)
	}
	if restored, _, problems := keepTexts(t, both, torn); !tree.Equal(restored, first) || len(problems) > 0 {
		t.Errorf("with its file restored, it is torn down: %v\n%s", problems, changesOf(first, restored))
	}
}

// checkReleased sees that a destroyed stack loses its Terraform objects first, while the namespace and the sources
// are there: tofu-controller needs them. Jobs wait until the objects are gone; Flux may remove the rest then.
func checkReleased(t *testing.T, files tree.Tree, deleted []string) {
	t.Helper()
	checkFiles(t, files)
	stack := files.Sub("environments/checkout/dev")
	kinds := map[string]int{}
	for file, data := range stack.All() {
		o := decodeObject(t, data)
		kinds[o.Kind]++
		if o.Metadata.Annotations["kustomize.toolkit.fluxcd.io/prune"] != "" {
			t.Errorf("Flux would keep %s", file)
		}
		if o.Kind == "Job" && !strings.Contains(string(data), "terraform.infra.contrib.fluxcd.io/"+o.Metadata.Name) {
			t.Errorf("%s waits for something else:\n%s", file, data)
		}
	}
	if !slices.Equal(deleted, []string{"checkout/dev"}) || kinds["Terraform"] != 0 || kinds["Job"] != 2 || kinds["GitRepository"] != 2 || kinds["Namespace"] != 1 {
		t.Errorf("%v: the released stack has %v", deleted, kinds)
	}
}

// hasNone reports whether an output has no stack any more, and the folder that Flux applies.
func hasNone(output tree.Tree) bool {
	return textOf(output, "environments/none.yaml") != "" && output.Sub("environments").Count() == 2
}

// changesOf lists the files that differ.
func changesOf(a, b tree.Tree) string {
	var all strings.Builder
	for c := range tree.Diff(a, b) {
		fmt.Fprintf(&all, "%s\n-%s\n+%s\n", c.Path, c.Old.Data, c.New.Data)
	}
	return all.String()
}

// TestDeletedCases: what a deletion comes with.
func TestDeletedCases(t *testing.T) {
	settings := func(more string) string { return settingsText + more }
	chartOnly := strings.Split(stackText("checkout", "", ""), "    - {name: a-network")[0] + "    - {name: web, type: helm, source: {repo: \"https://example.com/charts\", chart: web}}\n"
	chart := stackText("checkout", "", "") + "    - {name: web, type: helm, source: {repo: \"https://example.com/charts\", chart: web}}\n"
	for _, c := range []struct {
		name          string
		before, after map[string]string
		kept          []string
		destroyed     bool
		want          string // the first problem or warning; "" for none
		stops         bool
	}{
		{"protected", map[string]string{"a.yaml": stackText("checkout", "", ", destroyProtection: true")}, nil, []string{"checkout/dev"}, true,
			"its components are destroyed, except those that are protected: a-network, eks", false},
		{"chart", map[string]string{"a.yaml": chart}, nil, []string{"checkout/dev"}, false, "its components are destroyed, and its objects are removed after that", false},
		{"chart, destroyed", map[string]string{"a.yaml": chart}, nil, []string{"checkout/dev"}, true, "the stack checkout/dev is destroyed: its Terraform objects are removed, and the rest after that", false},
		{"charts only, destroyed", map[string]string{"a.yaml": chartOnly}, nil, nil, true, "", false},
		{"chart, protected", map[string]string{"a.yaml": strings.Replace(chart, "type: helm", "type: helm, destroyProtection: true", 1)}, nil, []string{"checkout/dev"}, true,
			"its components are destroyed, except those that are protected: web", false},
		{"abandoned", map[string]string{"a.yaml": stackText("checkout", "", "")}, map[string]string{"settings.yaml": settings("  abandoned: [checkout/dev]\n")}, nil, false,
			"the objects of the stack checkout/dev are removed, except the namespace zmart-checkout-dev and the sources of root modules in it", false},
		{"abandoned with its file", nil, map[string]string{"a.yaml": stackText("checkout", "", ""), "settings.yaml": settings("  abandoned: [checkout/dev]\n")}, nil, false,
			"the stack checkout/dev is not deleted", true},
		{"another team", map[string]string{"a.yaml": stackText("checkout", "", "")}, map[string]string{"a.yaml": strings.Replace(stackText("checkout", "", ""), "teamName: checkout", "teamName: till", 1)}, nil, false,
			"spec.teamName and spec.envName of a stack cannot change: it was checkout/dev", true},
		{"another case", map[string]string{"a.yaml": stackText("checkout", "", "")}, map[string]string{"a.yaml": stackText("Checkout", "", "")}, nil, false,
			"spec.teamName and spec.envName of a stack cannot change: it was checkout/dev", true},
		{"another file", map[string]string{"a.yaml": stackText("checkout", "", "")}, map[string]string{"b.yaml": stackText("checkout", "", "")}, nil, false, "", false},
		{"new, and to be destroyed", map[string]string{"a.yaml": stackText("till", "", "")}, map[string]string{"a.yaml": stackText("till", "", ""), "b.yaml": stackText("checkout", "", ", destroy: true")}, nil, false,
			"component eks is to be destroyed, and the stack is new", true},
		{"component removed", map[string]string{"a.yaml": stackText("checkout", "", "")}, map[string]string{"a.yaml": withoutLast(stackText("checkout", "", ""))}, nil, false,
			"the component eks is removed and was not destroyed", false},
		{"component destroyed and removed", map[string]string{"a.yaml": stackText("checkout", "", ", destroy: true")}, map[string]string{"a.yaml": withoutLast(stackText("checkout", "", ""))}, nil, false, "", false},
		{"approval of a stack that never was", nil, map[string]string{"p.yaml": approvalText("till/dev", "eks", "plan-a", "b")}, nil, false, "the plan is of the component eks of the stack till/dev, which is not in this environment", true},
		{"approval of another component", map[string]string{"a.yaml": stackText("checkout", "", "")}, map[string]string{"p.yaml": approvalText("checkout/dev", "db", "plan-a", "b")}, nil, false,
			"the plan is of the component db of the stack checkout/dev, which is not in this environment", true},
		{"approval of another plan", map[string]string{"a.yaml": stackText("checkout", "", "")}, map[string]string{"p.yaml": approvalText("checkout/dev", "eks", "plan-a", "b")}, []string{"checkout/dev"}, false,
			"the approval is not for the plan of the component eks", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			before, _, problems := keepTexts(t, c.before, tree.Tree{})
			if problems.Stops() {
				t.Fatal(problems)
			}
			var destroyed []string
			if c.destroyed {
				destroyed = []string{"checkout/dev"}
			}
			after, kept, problems := keepTexts(t, c.after, before, destroyed...)
			if c.destroyed {
				after, kept, problems = keepTexts(t, c.after, after, destroyed...)
			}
			if !slices.Equal(kept, c.kept) || problems.Stops() != c.stops {
				t.Errorf("kept are %v, want %v; %v", kept, c.kept, problems)
			}
			if !strings.Contains(fmt.Sprint(problems), c.want) || c.want == "" && strings.Contains(fmt.Sprint(problems), "checkout") {
				t.Errorf("the problems are %v, want %q", problems, c.want)
			}
			if !c.stops {
				checkFiles(t, after)
			}
		})
	}
}

func withoutLast(text string) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	return strings.Join(lines[:len(lines)-1], "\n") + "\n"
}

func approvalText(stack, component, plan, inputs string) string {
	return fmt.Sprintf("apiVersion: fairlead.io/v1alpha1\nkind: PlanApproval\nmetadata: {name: %s-%s}\nspec: {stack: %s, component: %s, plan: %s, inputs: %q, output: %q}\n",
		strings.ReplaceAll(stack, "/", "-"), component, stack, component, plan, inputs, outputCommit(0))
}

// TestDeletedApproval: the destruction of a deleted stack is approved as any other plan, and its
// objects stay until the approval is removed.
func TestDeletedApproval(t *testing.T) {
	a := &approvals{T: t}
	first, _, _ := keepTexts(t, map[string]string{"a.yaml": stackText("checkout", "", "")}, tree.Tree{})
	torn, _, _ := keepTexts(t, nil, first)
	o := a.terraform(torn, "eks")
	plan := "plan-fairlead-modules-dev-" + a.pin(torn, "eks")[:10]
	approval := map[string]string{"p.yaml": approvalText("checkout/dev", "eks", plan, o.Metadata.Annotations[stackfiles.InputsAnnotation])}
	approved, _, problems := keepTexts(t, approval, torn)
	if got := a.terraform(approved, "eks").Spec.ApprovePlan; got != plan || !o.Spec.Destroy || o.Spec.ApprovePlan != "" {
		t.Fatalf("approvePlan is %q, want %q: %v", got, plan, problems)
	}
	if kept, _, problems := keepTexts(t, approval, approved, "checkout/dev"); !tree.Equal(kept, approved) || !strings.Contains(fmt.Sprint(problems), "removed when no PlanApproval names it") {
		t.Errorf("destroyed, with an approval: %v", problems)
	}
	released, _, _ := keepTexts(t, nil, approved, "checkout/dev")
	if gone, _, problems := keepTexts(t, nil, released, "checkout/dev"); !hasNone(gone) {
		t.Errorf("destroyed, it is not gone: %v", problems)
	}
	if unapproved, _, _ := keepTexts(t, nil, approved); a.terraform(unapproved, "eks").Spec.ApprovePlan != "" {
		t.Error("the approval was removed, and the plan is approved")
	}
	restored, _, problems := keepTexts(t, map[string]string{"a.yaml": stackText("checkout", "", ""), "p.yaml": approval["p.yaml"]}, approved)
	if problems.Stops() || !tree.Equal(restored, first) {
		t.Errorf("with the file restored, it is not as it was: %v\n%s", problems, changesOf(first, restored))
	}
	mistake := approvalText("checkout/dev", "db", "plan-a", "b")
	restored, _, problems = keepTexts(t, map[string]string{"a.yaml": stackText("checkout", "", ""), "p.yaml": mistake}, approved)
	if !problems.Stops() || !strings.Contains(fmt.Sprint(problems), "no longer destroys a-network, eks") {
		t.Errorf("with the file restored and a mistake, the destruction is not suspended: %v", problems)
	}
	for _, name := range []string{"a-network", "eks"} {
		if o := a.terraform(restored, name); !o.Spec.Suspend {
			t.Errorf("with the file restored, %s is destroyed", name)
		}
	}
	checkFiles(t, restored)
	if again, _, _ := keepTexts(t, map[string]string{"a.yaml": stackText("checkout", "", ""), "p.yaml": mistake}, restored); !tree.Equal(again, restored) {
		t.Errorf("rendered again, it differs:\n%s", changesOf(restored, again))
	}
	if torn, _, _ := keepTexts(t, map[string]string{"a.yaml": stackText("checkout", "  teardown: true\n", ""), "p.yaml": mistake}, approved); a.terraform(torn, "eks").Spec.Suspend {
		t.Error("a teardown that a problem stops is suspended")
	}
	if alive, _, problems := keepTexts(t, map[string]string{"a.yaml": stackText("checkout", "", "")}, restored); !tree.Equal(alive, first) {
		t.Errorf("without the approval, it is not as it was: %v\n%s", problems, changesOf(first, alive))
	}
}

// TestDeletedMistakes: a mistake in an approval of a deleted stack stops that stack, which stays as it is, alive
// or torn down. Others go on.
func TestDeletedMistakes(t *testing.T) {
	a := &approvals{T: t}
	payment := stackText("payment", "", "")
	first, _, problems := keepTexts(t, map[string]string{"a.yaml": stackText("checkout", "", ""), "payment.yaml": payment}, tree.Tree{})
	if problems.Stops() {
		t.Fatal(problems)
	}
	planOf := func(files tree.Tree) string {
		return approvalText("checkout/dev", "eks", "plan-fairlead-modules-dev-"+a.pin(files, "eks")[:10], a.terraform(files, "eks").Metadata.Annotations[stackfiles.InputsAnnotation])
	}
	torn, _, _ := keepTexts(t, map[string]string{"payment.yaml": payment}, first)
	destruction := planOf(torn)
	approved, _, _ := keepTexts(t, map[string]string{"payment.yaml": payment, "p.yaml": destruction}, torn)
	for _, c := range []struct {
		approval string
		history  []tree.Tree
		want     string
	}{
		{planOf(first), []tree.Tree{first}, "the approval is not for the plan of the component eks"},
		{destruction, []tree.Tree{torn, approved, torn}, "an approval of the plan of the component eks has counted before"},
		{planOf(first), []tree.Tree{torn, approved}, "the approval is not for the plan of the component eks"},
	} {
		texts := map[string]string{"payment.yaml": payment, "p.yaml": c.approval}
		after, deleted, problems := followTexts(t, texts, c.history)
		if !strings.Contains(fmt.Sprint(problems), c.want) || problems.Stops() || len(deleted) != 1 || a.terraform(after, "eks").Spec.ApprovePlan != "" {
			t.Errorf("the problems are %v, want %q, and no approval", problems, c.want)
		}
		if again, _, _ := keepTexts(t, texts, after); !tree.Equal(again, after) {
			t.Errorf("without the history of the output, it differs:\n%s", changesOf(after, again))
		}
	}
	for _, c := range []struct {
		name, approval string
		history        []tree.Tree // the last one is the previous output
		want           string
	}{
		{"of another component", approvalText("checkout/dev", "db", "plan-a", "b"), []tree.Tree{first}, "the plan is of the component db of the stack checkout/dev, which is not in this environment"},
		{"twice", destruction + "---\n" + strings.Replace(destruction, "checkout-dev-eks", "again", 1), []tree.Tree{torn}, "there is another PlanApproval of the component eks, again"},
		{"of no stack", approvalText("till/dev", "eks", "plan-a", "b"), []tree.Tree{first}, "the plan is of the component eks of the stack till/dev, which is not in this environment"},
		{"of all stacks", approvalText("checkout/*", "eks", "plan-a", "b"), []tree.Tree{first}, `"checkout-*-eks" cannot be a name`},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := c.history[len(c.history)-1]
			after, deleted, problems := followTexts(t, map[string]string{"payment.yaml": strings.ReplaceAll(payment, "ref=v1.0", "ref=v2.0"), "p.yaml": c.approval}, c.history)
			if !strings.Contains(fmt.Sprint(problems), c.want) || !problems.Stops() || problems.StopsEnvironment() {
				t.Errorf("the problems are %v, want %q, which stops a stack", problems, c.want)
			}
			isOther := strings.HasPrefix(c.name, "of no stack") || c.name == "of all stacks"
			if kept := tree.Equal(before.Sub("environments/checkout"), after.Sub("environments/checkout")) && deleted == nil; kept == isOther {
				t.Errorf("%v: the deleted stack has changed:\n%s", deleted, changesOf(before, after))
			}
			if tree.Equal(before.Sub("environments/payment"), after.Sub("environments/payment")) {
				t.Error("the other stack is stopped, too")
			}
			checkFiles(t, after)
		})
	}
}

// TestDeletedSelection: a deleted stack is destroyed whole, and what was left out of it is waited for.
func TestDeletedSelection(t *testing.T) {
	const selection = "  teardown: true\n  selectiveReconcile: {tagName: a, tagValues: [b]}\n"
	left, _, _ := keepTexts(t, map[string]string{"a.yaml": stackText("checkout", selection, "")}, tree.Tree{})
	whole, _, _ := keepTexts(t, map[string]string{"a.yaml": stackText("checkout", "  teardown: true\n", "")}, tree.Tree{})
	torn, deleted, problems := keepTexts(t, nil, left, "checkout/dev")
	if diff := changesOf(whole, torn); diff != "" || deleted == nil {
		t.Errorf("%v %v: -teardown: true +deleted:\n%s", deleted, problems, diff)
	}
}

// TestDeletedCharts: a deleted stack with charts is torn down as one with teardown: true, and waits with the image
// of the settings.
func TestDeletedCharts(t *testing.T) {
	const image = "  runner: {waitImage: example.com/kubectl}\n"
	for _, fields := range []string{"", ", destroyProtection: true", ", destroy: true"} {
		chart := func(more string) map[string]string {
			text := stackText("checkout", more, "") + "    - {name: web, type: helm, dependsOn: [eks], source: {repo: \"https://example.com/charts\", chart: web}, variables: [{name: a, value: b}]" + fields + "}\n" +
				"    - {name: last, type: helm, dependsOn: [web], source: {repo: \"https://example.com/charts\", chart: web}, variables: []}\n"
			return map[string]string{"a.yaml": text, "settings.yaml": settingsText + image}
		}
		alive, _, problems := keepTexts(t, chart(""), tree.Tree{})
		if problems.Stops() {
			t.Fatal(problems)
		}
		want, _, _ := keepTexts(t, chart("  teardown: true\n"), tree.Tree{})
		torn, _, problems := keepTexts(t, map[string]string{"settings.yaml": settingsText + image}, alive)
		if diff := changesOf(want, torn); diff != "" || problems.Stops() {
			t.Errorf("%v: -teardown: true +deleted:\n%s", problems, diff)
		}
		checkFiles(t, torn)
		if again, _, _ := keepTexts(t, map[string]string{"settings.yaml": settingsText + image}, torn); !tree.Equal(again, torn) {
			t.Errorf("rendered again, it differs:\n%s", changesOf(torn, again))
		}
		other, _, _ := keepTexts(t, map[string]string{"settings.yaml": settingsText + strings.Replace(image, "kubectl", "other", 1)}, torn)
		if diff := changesOf(torn, other); fields == "" && strings.Count(diff, "\n+apiVersion: batch/v1") != 2 || strings.Contains(diff, "terraform.yaml") {
			t.Errorf("with another image:\n%s", diff)
		}
		for file, data := range other.All() {
			if strings.HasSuffix(file, "/uninstall.yaml") && (!strings.Contains(string(data), "example.com/other") || !strings.Contains(string(data), "kustomize.toolkit.fluxcd.io/force: enabled")) {
				t.Errorf("%s cannot wait with another image:\n%s", file, data)
			}
		}
		order, first := renderedOrder(t, torn), []string{"last", "web", "eks", "a-network"}
		if strings.Contains(fields, "Protection") { // what is kept keeps its order
			slices.Reverse(first)
		}
		for i, name := range first[1:] {
			if !slices.Equal(order[name], first[i:i+1]) {
				t.Errorf("with %q, the order is %v", fields, order)
			}
		}
	}
}

// TestDeletedOrder: whatever the graph, a deleted stack is torn down in the order of a teardown.
func TestDeletedOrder(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 5))
		g := newGraph(r)
		before := g.render(t, r)
		g.teardown = true
		want := g.render(t, r)
		torn, _, problems := keepTexts(t, nil, before)
		if diff := changesOf(want.Sub(stackfiles.ObjectsFolder), torn.Sub(stackfiles.ObjectsFolder)); diff != "" || problems.Stops() {
			t.Fatalf("seed %d: %v: -teardown: true +deleted:\n%s", seed, problems, diff)
		}
	}
}

// TestSeenApproval: an approval counts for the plan that was read, and once.
func TestSeenApproval(t *testing.T) {
	a := &approvals{T: t}
	texts := func(value, approval string) map[string]string {
		all := map[string]string{"a.yaml": stackText("checkout", "", ", tags: [{name: a, value: "+value+"}]")}
		if approval != "" {
			all["p.yaml"] = approval
		}
		return all
	}
	render := func(history []tree.Tree, value, approval string) tree.Tree {
		files, _, problems := followTexts(t, texts(value, approval), history)
		if problems.Stops() {
			t.Fatal(problems)
		}
		return files
	}
	one := render(nil, "one", "")
	two := render([]tree.Tree{one}, "two", "")
	approval := func(output int) string {
		plan := "plan-fairlead-modules-dev-" + a.pin(one, "eks")[:10]
		text := approvalText("checkout/dev", "eks", plan, a.terraform(one, "eks").Metadata.Annotations[stackfiles.InputsAnnotation])
		return strings.Replace(text, outputCommit(0), outputCommit(output), 1)
	}
	approved := render([]tree.Tree{one}, "one", approval(0))
	for _, c := range []struct {
		name    string
		history []tree.Tree
		output  int
		want    string // "" for approved
	}{
		{"at once", []tree.Tree{one}, 0, ""},
		{"later", []tree.Tree{one, one, one}, 0, ""},
		{"still there", []tree.Tree{one, approved}, 0, ""},
		{"another commit of the same time", []tree.Tree{one, approved}, 7, ""},
		{"not in the history", []tree.Tree{one}, 7, "a plan that the component eks made before"},
		{"the inputs are new", []tree.Tree{two}, 0, "a plan that the component eks made before"},
		{"nothing was there", nil, 0, "a plan that the component eks made before"},
		{"the inputs came back", []tree.Tree{one, two, one}, 0, "a plan that the component eks made before"},
		{"the inputs came back, and the plan was read again", []tree.Tree{one, two, one}, 2, ""},
		{"removed", []tree.Tree{one, approved, one}, 0, "has counted before: each counts once"},
		{"removed, and the plan was read again", []tree.Tree{one, approved, one}, 2, ""},
		{"removed with its change", []tree.Tree{one, approved, two}, 0, "a plan that the component eks made before"},
		{"reverted in two steps", []tree.Tree{one, approved, two, one}, 0, "a plan that the component eks made before"},
	} {
		t.Run(c.name, func(t *testing.T) {
			files, _, problems := followTexts(t, texts("one", approval(c.output)), c.history)
			if got := fmt.Sprint(problems); problems.Stops() || !strings.Contains(got, c.want) {
				t.Errorf("the problems are %v, want %q", problems, c.want)
			}
			if plan := a.terraform(files, "eks").Spec.ApprovePlan; (plan == "") != (c.want != "") {
				t.Errorf("the plan %q is approved", plan)
			}
		})
	}
}

// TestMovedOutput: when the output moves to another place, a stack that is torn down moves with it,
// and one whose file is deleted at the same time is torn down there.
func TestMovedOutput(t *testing.T) {
	both := map[string]string{"checkout.yaml": stackText("checkout", "", ""), "payment.yaml": stackText("payment", "", "")}
	first, _, _ := keepTexts(t, both, tree.Tree{})
	want, _, _ := keepTexts(t, map[string]string{"payment.yaml": both["payment.yaml"]}, first)
	moved := strings.Replace(settingsText, "branch: dev, path: .}", "branch: other, path: new}", 1)
	m, _ := model.Parse("dev", model.Layer{Kind: model.Env, Name: "dev", Files: withFile(t, withFile(t, tree.Tree{}, "settings.yaml", moved), "payment.yaml", both["payment.yaml"])})
	rendered, problems := output.Render(m, nil, output.Options{})
	never := func(stackfiles.Deleted) bool { return false }
	for _, former := range []tree.Tree{first, want} {
		got, deleted, more, err := stackfiles.FollowPrevious(m, rendered, stackfiles.Previous{Former: []tree.Tree{former}, IsDestroyed: never})
		if err != nil || problems.Stops() || more.Stops() || len(deleted) != 1 {
			t.Fatal(err, problems, more, deleted)
		}
		sealsOf(t, got)
		for c := range tree.Diff(withoutSeals(t, want), withoutSeals(t, got)) {
			if diff := strings.ReplaceAll(string(c.New.Data), "path: ./new/environments/", "path: ./environments/"); diff != string(c.Old.Data) {
				t.Errorf("%s:\n-%s\n+%s", c.Path, c.Old.Data, c.New.Data)
			}
		}
		checkFiles(t, got)
		again, _, more, err := stackfiles.FollowPrevious(m, rendered, stackfiles.Previous{Tree: got, Former: []tree.Tree{former}, IsDestroyed: never})
		if err != nil || !tree.Equal(again, got) {
			t.Errorf("once it is there, it differs: %v %v", err, more)
		}
	}
}
