package stackfiles_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
)

// TestMistakesStopNoOthers: what is wrong with a stack, with an approval, or with a Team, stops the stacks that
// it is of. These stay as they are, and the others go on.
func TestMistakesStopNoOthers(t *testing.T) {
	a := &approvals{T: t}
	checkout, payment := stackText("checkout", "", ""), stackText("payment", "", "")
	changed := strings.ReplaceAll(payment, "ref=v1", "ref=v2")
	first, _, problems := keepTexts(t, map[string]string{"a.yaml": checkout, "payment.yaml": payment}, tree.Tree{})
	if problems.Stops() {
		t.Fatal(problems)
	}
	plan := approvalText("checkout/dev", "eks", "plan-fairlead-modules-dev-"+a.pin(first, "eks")[:10], a.terraform(first, "eks").Metadata.Annotations[stackfiles.InputsAnnotation])
	if approved, _, problems := keepTexts(t, map[string]string{"a.yaml": checkout, "payment.yaml": payment, "p.yaml": plan}, first); problems.Stops() || a.terraform(approved, "eks").Spec.ApprovePlan == "" {
		t.Fatalf("the plan is not approved: %v", problems)
	}
	noOutput := strings.Split(plan, ", output:")[0] + "}\n"
	for name, c := range map[string]struct {
		files map[string]string // beside the stack of payment, which changes
		want  string            // a problem
		stops string            // what it stops
		kept  bool              // checkout/dev is in the output as it was
	}{
		"approval without output":                {map[string]string{"a.yaml": checkout, "p.yaml": noOutput}, "spec.output is required", "checkout/dev", true},
		"approval of a bad digest":               {map[string]string{"a.yaml": checkout, "p.yaml": strings.Replace(plan, "{stack", "{digest: x, stack", 1)}, `spec.digest is "x"`, "checkout/dev", true},
		"approval without output, and no file":   {map[string]string{"p.yaml": noOutput}, "spec.output is required", "checkout/dev", true},
		"approval of no stack":                   {map[string]string{"a.yaml": checkout, "p.yaml": strings.Replace(plan, "{stack: checkout/dev, ", "{", 1)}, "spec.stack is required", "unknown (dev/p.yaml)", true},
		"approvals of one name":                  {map[string]string{"a.yaml": checkout, "p.yaml": plan, "q.yaml": strings.Replace(plan, "component: eks", "component: a-network", 1)}, "there is another PlanApproval of this name at dev/p.yaml:1", "checkout/dev", true},
		"request without component":              {map[string]string{"a.yaml": checkout, "p.yaml": "apiVersion: fairlead.io/v1alpha1\nkind: PlanRequest\nmetadata: {name: a}\nspec: {stack: checkout/dev, after: a}\n"}, "spec.component is required", "checkout/dev", true},
		"abandoned, with a file":                 {map[string]string{"a.yaml": checkout, "settings.yaml": settingsText + "  abandoned: [checkout/dev]\n"}, "the stack checkout/dev is not deleted", "checkout/dev", true},
		"no environment":                         {map[string]string{"a.yaml": strings.Replace(checkout, "  envName: dev\n", "", 1)}, "spec.envName is required", "checkout/dev", true},
		"no team":                                {map[string]string{"a.yaml": strings.Replace(checkout, "  teamName: checkout\n", "", 1)}, "spec.teamName is required", "unknown (dev/a.yaml)", true},
		"an environment that cannot be":          {map[string]string{"a.yaml": strings.Replace(checkout, "envName: dev", "envName: d.ev", 1)}, `spec.envName cannot be "d.ev"`, "checkout/d.ev", true},
		"a team that leads elsewhere":            {map[string]string{"a.yaml": checkout, "b.yaml": strings.NewReplacer("envName: dev", "envName: team", "teamName: checkout", "teamName: ..").Replace(checkout)}, `spec.teamName cannot be ".."`, "../team", true},
		"no name":                                {map[string]string{"a.yaml": strings.Replace(checkout, "name: zmart-checkout-dev, ", "", 1)}, "metadata.name is required", "checkout/dev", true},
		"two stacks of one name":                 {map[string]string{"a.yaml": checkout, "b.yaml": strings.Replace(checkout, "envName: dev", "envName: next", 1)}, "there is another Environment of this name at dev/a.yaml:1", "checkout/next", true},
		"Teams of one name, one with its stack":  {map[string]string{"a.yaml": checkout, "t.yaml": protectingTeam("checkout", true) + "---\n" + protectingTeam("payment", false) + "---\n" + protectingTeam("checkout", false)}, "there is another Team of this name at dev/t.yaml:1", "checkout/dev", true},
		"Teams of one name, one without a stack": {map[string]string{"t.yaml": protectingTeam("checkout", false) + "---\n" + protectingTeam("payment", false) + "---\n" + protectingTeam("checkout", false)}, "there is another Team of this name at dev/t.yaml:1", "checkout/dev", true},
	} {
		t.Run(name, func(t *testing.T) {
			c.files["payment.yaml"] = changed
			got, deleted, problems := keepTexts(t, c.files, first)
			if !strings.Contains(fmt.Sprint(problems), c.want) || problems.StopsEnvironment() || !problems.StopsStack(c.stops) || problems.StopsStack("payment/dev") {
				t.Errorf("the problems are %v, want %q, which stops %s", problems, c.want, c.stops)
			}
			const folder, modules = "environments/checkout/dev", "team/checkout-team-environment"
			if kept := tree.Equal(first.Sub(folder), got.Sub(folder)) && tree.Equal(first.Sub(modules), got.Sub(modules)) && deleted == nil; kept != c.kept {
				t.Errorf("%v: checkout/dev stays as it is: %t\n%s", deleted, kept, changesOf(first, got))
			}
			if tree.Equal(first.Sub("environments/payment"), got.Sub("environments/payment")) || got.Sub("team/payment-team-environment").IsEmpty() {
				t.Error("the other stack does not go on")
			}
		})
	}
}

// TestUnreadableOutput: a file of the output that somebody has made unreadable stops the stack that it is of, which
// stays as it is, whether it has a file or not, and whatever is approved. The others go on.
func TestUnreadableOutput(t *testing.T) {
	a := &approvals{T: t}
	checkout, payment := stackText("checkout", "", ""), stackText("payment", "", "")
	first, _, problems := keepTexts(t, map[string]string{"a.yaml": checkout, "payment.yaml": payment}, tree.Tree{})
	if problems.Stops() {
		t.Fatal(problems)
	}
	plan := approvalText("checkout/dev", "eks", "plan-fairlead-modules-dev-"+a.pin(first, "eks")[:10], a.terraform(first, "eks").Metadata.Annotations[stackfiles.InputsAnnotation])
	const object = "environments/checkout/dev/eks/objects/terraform.yaml"
	files := maps.Collect(first.All())
	files[object] = []byte("a: [\n")
	broken, err := tree.FromFiles(files)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.ReplaceAll(payment, "ref=v1", "ref=v2")
	for name, files := range map[string]map[string]string{
		"as it was": {"a.yaml": checkout, "payment.yaml": changed},
		"changed":   {"a.yaml": strings.ReplaceAll(checkout, "ref=v1", "ref=v2"), "payment.yaml": changed},
		"deleted":   {"payment.yaml": changed},
		"approved":  {"a.yaml": checkout, "payment.yaml": changed, "p.yaml": plan},
	} {
		got, deleted, problems := keepTexts(t, files, broken)
		if !strings.Contains(fmt.Sprint(problems), "what the output has of the stack checkout/dev cannot be read: ") || problems.StopsEnvironment() || !problems.StopsStack("checkout/dev") || problems.StopsStack("payment/dev") {
			t.Errorf("%s: the problems are %v", name, problems)
		}
		if deleted != nil || !tree.Equal(got.Sub("environments/checkout"), broken.Sub("environments/checkout")) || !tree.Equal(got.Sub("team/checkout-team-environment"), first.Sub("team/checkout-team-environment")) {
			t.Errorf("%s: %v: the stack does not stay as it is:\n%s", name, deleted, changesOf(broken, got))
		}
		if tree.Equal(first.Sub("environments/payment"), got.Sub("environments/payment")) {
			t.Errorf("%s: the other stack does not go on", name)
		}
	}
	if _, _, problems := followTexts(t, map[string]string{"a.yaml": checkout, "payment.yaml": payment, "p.yaml": plan}, []tree.Tree{first, broken, first}); problems.Stops() || !strings.Contains(fmt.Sprint(problems), "does not count") {
		t.Errorf("an approval from before it was edited: %v", problems)
	}
}
