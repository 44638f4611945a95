package stackfiles_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestPlanRequests: a request gives its component another root module, and so another plan, and no other
// component one; what it names must be there.
func TestPlanRequests(t *testing.T) {
	const (
		stack = "apiVersion: stable.cloudknit.io/v1\nkind: Environment\nmetadata: {name: checkout-dev}\nspec:\n  teamName: checkout\n  envName: dev\n  components:\n" +
			"    - {name: eks, type: terraform, module: {source: \"https://github.com/x/y?ref=v1.0\"}}\n    - {name: net, type: terraform, module: {source: \"https://github.com/x/y?ref=v1.0\"}}\n" +
			"    - {name: app, type: helm, source: {repo: \"https://example.com/charts\", chart: app}}\n"
		applied = "67a2b4fa38c1d0e9f867a2b4fa38c1d0e9f86123"
	)
	request := func(name, component, after string) string {
		return fmt.Sprintf("apiVersion: fairlead.io/v1alpha1\nkind: PlanRequest\nmetadata: {name: %s}\nspec: {stack: checkout/dev, component: %s, after: %q}\n---\n", name, component, after)
	}
	a := &approvals{T: t}
	before, problems := renderTexts(t, map[string]string{"stack.yaml": stack})
	if problems.Stops() {
		t.Fatal(problems)
	}
	for _, c := range []struct {
		name, text string
		moves      string // the component that gets another plan; "" for none
		stops      bool
		says       string // a part of the problems; "" for none
	}{
		{"a component", request("a", "eks", applied), "eks", false, ""},
		{"what is no commit", request("a", "eks", "x\"\n}\nresource \"a\" \"b\" {}"), "eks", false, ""},
		{"a chart", request("a", "app", applied), "", false, "the component app has no plans"},
		{"no component", request("a", "ek", applied), "", false, `there is no component checkout/dev/ek to plan again`},
		{"twice", request("a", "eks", applied) + request("b", "eks", applied), "", true, "there is another PlanRequest of the component eks, a,"},
	} {
		t.Run(c.name, func(t *testing.T) {
			files, problems := renderTexts(t, map[string]string{"stack.yaml": stack, "request.yaml": c.text})
			if problems.Stops() != c.stops || !strings.Contains(fmt.Sprint(problems), c.says) {
				t.Fatalf("the problems are %v", problems)
			}
			for _, name := range []string{"eks", "net"} {
				if c.stops {
					continue
				}
				if moved := a.pin(files, name) != a.pin(before, name); moved != (name == c.moves) {
					t.Errorf("%s has another root module: %v", name, moved)
				}
			}
			module, _ := files.Lookup("team/checkout-team-environment/dev-environment-component/eks/terraform/fairlead_request.tf")
			if text := string(module.Data); c.moves != "" && (!strings.HasPrefix(text, "# ") || strings.Count(text, "\n") != 1) {
				t.Errorf("the file is\n%s", text)
			}
		})
	}
}
