package stackfiles_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/tree"
)

// leavesOut is a selection that leaves out the chart of chartText.
const leavesOut = "  selectiveReconcile: {tagName: tier, tagValues: [infra]}\n"

// chartText writes a stack of a network, a cluster and a chart on it, with fields of the chart.
func chartText(fields, chart string) string {
	return fmt.Sprintf(`apiVersion: stable.cloudknit.io/v1
kind: Environment
metadata: {name: zmart-checkout-dev, namespace: zmart-config}
spec:
  teamName: checkout
  envName: dev
%s  components:
    - {name: a-network, type: terraform, module: {source: "https://github.com/x/y?ref=v1"}, tags: [{name: tier, value: infra}]}
    - {name: eks, type: terraform, dependsOn: [a-network], module: {source: "https://github.com/x/y?ref=v1"}, tags: [{name: tier, value: infra}]}
    - {name: web, type: helm, dependsOn: [eks], source: {repo: "https://example.com/charts", chart: web}%s}
`, fields, chart)
}

// releaseOf returns the HelmRelease of the chart; "" if there is none.
func releaseOf(output tree.Tree) string {
	e, _ := output.Lookup("environments/checkout/dev/web/objects/helmrelease.yaml")
	return string(e.Data)
}

// TestResumed: a chart that is suspended, or that Flux must not remove, is resumed before it is
// uninstalled, and the stack stays as it was until clusters have reported that: when its file is deleted,
// and when the stack is torn down in the same change.
func TestResumed(t *testing.T) {
	file := func(fields, chart string) map[string]string {
		return map[string]string{"a.yaml": chartText(fields, chart)}
	}
	torn, _, problems := keepTexts(t, file("  teardown: true\n", ""), tree.Tree{})
	if problems.Stops() {
		t.Fatal(problems)
	}
	for _, c := range []struct {
		name          string
		before, after map[string]string
		want          tree.Tree // once it is reported; empty for what is written alone
	}{
		{"left out, deleted", file(leavesOut, ""), nil, torn},
		{"left out, torn down", file(leavesOut, ""), file("  teardown: true\n", ""), torn},
		{"left out of a teardown, deleted", file("  teardown: true\n"+leavesOut, ""), nil, torn},
		{"left out of a teardown, torn down", file("  teardown: true\n"+leavesOut, ""), file("  teardown: true\n", ""), torn},
		{"left out, destroyed", file(leavesOut, ""), file("", ", destroy: true"), tree.Tree{}},
		{"protected, torn down", file("", ", destroyProtection: true"), file("  teardown: true\n", ""), torn},
	} {
		t.Run(c.name, func(t *testing.T) {
			before, _, problems := keepTexts(t, c.before, tree.Tree{})
			if problems.Stops() || !strings.Contains(releaseOf(before), "kustomize.toolkit.fluxcd.io/prune: disabled") {
				t.Fatalf("%v\n%s", problems, releaseOf(before))
			}
			resumed, deleted, problems := keepTexts(t, c.after, before)
			if problems.Stops() || !strings.Contains(fmt.Sprint(problems), "until clusters have reported that what it uninstalls is resumed: web") || !slices.Equal(deleted, []string{"checkout/dev"}) {
				t.Fatalf("%v %v", problems, deleted)
			}
			var changed []string
			for c := range tree.Diff(withoutSeals(t, before), withoutSeals(t, resumed)) {
				changed = append(changed, strings.TrimPrefix(c.Path, "environments/checkout/dev/"))
			}
			want := []string{"web/flux-kustomization.yaml", "web/objects/helmrelease.yaml"}
			if c.after == nil { // the namespace says why
				want = append([]string{"namespace.yaml"}, want...)
			}
			if !slices.Equal(changed, want) {
				t.Errorf("changed are %v, want %v", changed, want)
			}
			if got := releaseOf(resumed); got == "" || strings.Contains(got, "suspend") || strings.Contains(got, "annotations") {
				t.Errorf("it is not resumed:\n%s", got)
			}
			checkFiles(t, resumed)
			if again, _, _ := keepTexts(t, c.after, resumed); !tree.Equal(again, resumed) {
				t.Errorf("rendered again, it differs:\n%s", changesOf(resumed, again))
			}
			if back, _, problems := keepTexts(t, c.before, resumed); !tree.Equal(back, before) {
				t.Errorf("taken back, it differs: %v\n%s", problems, changesOf(before, back))
			}
			done, _, problems := keepTexts(t, c.after, resumed, "checkout/dev")
			wanted := c.want
			if wanted.IsEmpty() {
				wanted, _, _ = keepTexts(t, c.after, tree.Tree{})
			}
			if diff := changesOf(wanted, done); diff != "" || problems.Stops() {
				t.Errorf("%v: -want +got:\n%s", problems, diff)
			}
			checkFiles(t, done)
		})
	}
}

// TestLeftOutOfTeardown: what selectiveReconcile leaves out of a teardown stays suspended, with what it needs, and
// Flux removes neither it nor its namespace.
func TestLeftOutOfTeardown(t *testing.T) {
	before, _, _ := keepTexts(t, map[string]string{"a.yaml": chartText(leavesOut, "")}, tree.Tree{})
	after, deleted, problems := keepTexts(t, map[string]string{"a.yaml": chartText("  teardown: true\n"+leavesOut, "")}, before)
	if problems.Stops() || deleted != nil || releaseOf(after) != releaseOf(before) || !strings.Contains(releaseOf(after), "suspend: true") {
		t.Errorf("%v %v\n%s", problems, deleted, changesOf(before, after))
	}
	a := &approvals{T: t}
	for _, name := range []string{"a-network", "eks"} {
		if a.terraform(after, name).Spec.Destroy {
			t.Errorf("%s is destroyed, and the chart needs it", name)
		}
	}
	if e, _ := after.Lookup("environments/checkout/dev/namespace.yaml"); !strings.Contains(string(e.Data), "kustomize.toolkit.fluxcd.io/prune: disabled") {
		t.Errorf("Flux would remove the namespace:\n%s", e.Data)
	}
}
