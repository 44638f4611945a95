package stackfiles_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
)

// TestChangedStack: changes of a stack that Flux would carry out by removing what is there stop it, and it stays
// as it is.
func TestChangedStack(t *testing.T) {
	file := func(text string) map[string]string { return map[string]string{"a.yaml": text} }
	first := chartText("", "")
	const database = "type: terraform, module: {source: \"https://github.com/x/y?ref=v1.0\"}"
	const release = "type: helm, dependsOn: [eks], source: {repo: \"https://example.com/charts\", chart: web}"
	for _, c := range []struct {
		name          string
		before, after string
		want          string // "" for no problem
	}{
		{"the namespace", first, strings.Replace(first, "zmart-config", "acme-config", 1), "the namespace of the stack's objects cannot change: it was zmart-checkout-dev, and would be acme-checkout-dev"},
		{"a chart becomes Terraform", first, strings.Replace(first, release, database, 1), "the type of the component web cannot change: it was helm"},
		{"Terraform becomes a chart", strings.Replace(first, release, database, 1), first, "the type of the component web cannot change: it was terraform"},
		{"once it is destroyed", chartText("", ", destroy: true"), strings.Replace(first, release, database, 1), ""},
		{"what others need is removed", first, strings.Replace(first, "    - {name: eks", "    - {name: other", 1), "component web depends on eks, which is no component of this stack"},
		{"another name", first, strings.ReplaceAll(strings.ReplaceAll(first, "name: eks", "name: cluster"), "[eks]", "[cluster]"), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			before, _, problems := keepTexts(t, file(c.before), tree.Tree{})
			if problems.Stops() {
				t.Fatal(problems)
			}
			after, _, problems := keepTexts(t, file(c.after), before)
			if got := problems.StopsStack("checkout/dev"); got != (c.want != "") || !strings.Contains(fmt.Sprint(problems), c.want) || problems.StopsEnvironment() {
				t.Errorf("the problems are %v, want %q", problems, c.want)
			}
			if tree.Equal(before, after) != (c.want != "") {
				t.Errorf("the stack:\n%s", changesOf(before, after))
			}
		})
	}
}

// TestReturnedOrphan: a component that was removed while Flux must not remove its objects keeps the namespace, and
// is uninstalled only after it was deployed again.
func TestReturnedOrphan(t *testing.T) {
	file := func(text string) map[string]string { return map[string]string{"a.yaml": text} }
	first, _, _ := keepTexts(t, file(chartText("", ", destroyProtection: true")), tree.Tree{})
	removed, _, problems := keepTexts(t, file(withoutLast(chartText("", ""))), first)
	if problems.Stops() || !strings.Contains(namespaceOf(removed), pruneNote+": disabled") || !strings.Contains(namespaceOf(removed), "fairlead.io/orphans: web") {
		t.Fatalf("%v\n%s", problems, namespaceOf(removed))
	}
	if again, _, _ := keepTexts(t, file(withoutLast(chartText("", ""))), removed); !tree.Equal(again, removed) {
		t.Errorf("rendered again, it differs:\n%s", changesOf(removed, again))
	}
	if torn, _, _ := keepTexts(t, nil, removed); !strings.Contains(namespaceOf(torn), pruneNote+": disabled") {
		t.Errorf("deleted, its namespace is removed:\n%s", namespaceOf(torn))
	}
	if stays, _, problems := keepTexts(t, file(chartText("", ", destroy: true")), removed); !tree.Equal(stays, removed) ||
		!strings.Contains(fmt.Sprint(problems), "the component web cannot be uninstalled yet") {
		t.Errorf("%v\n%s", problems, changesOf(removed, stays))
	}
	back, _, problems := keepTexts(t, file(chartText("", "")), removed)
	if want, _, _ := keepTexts(t, file(chartText("", "")), tree.Tree{}); !tree.Equal(back, want) {
		t.Errorf("%v\n%s", problems, changesOf(want, back))
	}
}

// TestProtectionInputs: protection is no input of a plan, neither of the component nor of those around it.
func TestProtectionInputs(t *testing.T) {
	a := &approvals{T: t}
	render := func(eks string) tree.Tree {
		files, _, problems := keepTexts(t, map[string]string{"a.yaml": stackText("checkout", "", eks)}, tree.Tree{})
		if problems.Stops() {
			t.Fatal(problems)
		}
		return files
	}
	free, protected := render(""), render(", destroyProtection: true")
	for _, name := range []string{"a-network", "eks"} {
		was, is := a.terraform(free, name).Metadata.Annotations, a.terraform(protected, name).Metadata.Annotations
		if was[stackfiles.InputsAnnotation] != is[stackfiles.InputsAnnotation] || is[pruneNote] == "" {
			t.Errorf("%s has the annotations %v, and protected %v", name, was, is)
		}
	}
}

// TestDeletedUnversioned: the destruction of a deleted stack whose module has no version cannot be approved, and
// what to write is said; where plans are compared with their digests, it can.
func TestDeletedUnversioned(t *testing.T) {
	a := &approvals{T: t}
	for _, compared := range []bool{false, true} {
		files := map[string]string{"settings.yaml": settingsText}
		if compared {
			files["settings.yaml"] = comparedSettings
		}
		stack := strings.ReplaceAll(stackText("checkout", "", ""), "?ref=v1.0", "")
		files["a.yaml"] = stack
		first, _, _ := keepTexts(t, files, tree.Tree{})
		delete(files, "a.yaml")
		torn, _, problems := keepTexts(t, files, first)
		const warned = "the component eks cannot be destroyed: a module of it has no version"
		if problems.Stops() || strings.Contains(fmt.Sprint(problems), warned) == compared {
			t.Errorf("compared %v: %v", compared, problems)
		}
		text := approvalText("checkout/dev", "eks", "plan-fairlead-modules-dev-"+a.pin(torn, "eks")[:10], a.terraform(torn, "eks").Metadata.Annotations[stackfiles.InputsAnnotation])
		if compared {
			text = strings.Replace(text, "inputs:", "digest: sha256:"+strings.Repeat("a", 64)+", inputs:", 1)
		}
		files["p.yaml"] = text
		approved, _, problems := keepTexts(t, files, torn)
		if got := a.terraform(approved, "eks").Spec.ApprovePlan; (got != "") != compared || problems.Stops() == compared {
			t.Errorf("compared %v: approved is %q: %v", compared, got, problems)
		}
		for _, p := range problems {
			if strings.Contains(p.Summary, "a module of the component eks has no version") && !strings.HasPrefix(p.Hint, "restore the file of the stack with teardown: true, and write ?ref=") {
				t.Errorf("the hint is %q", p.Hint)
			}
		}
	}
}
