package stackfiles_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
)

// argoText writes a stack of a database and of Applications that need it.
func argoText(fields, component string) string {
	return fmt.Sprintf(`apiVersion: stable.cloudknit.io/v1
kind: Environment
metadata: {name: zmart-checkout-dev, namespace: zmart-config}
spec:
  teamName: checkout
  envName: dev
%s  components:
    - {name: db, type: terraform, module: {source: "https://github.com/x/y?ref=v1.0"}}
    - {name: cd, type: argocd, dependsOn: [db], module: {source: ./apps}%s}
`, fields, component)
}

// applicationText writes an Application with a chart, and with manifests.
func applicationText(name, version string) string {
	return fmt.Sprintf(`apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: %s, finalizers: [resources-finalizer.argocd.argoproj.io]}
spec:
  sources:
    - {repoURL: "https://charts.example.com", chart: shop, targetRevision: %s}
    - {repoURL: "https://example.com/web", path: %[1]s, targetRevision: v1.0.0, kustomize: {namespace: web}}
  destination: {namespace: %[1]s}
  syncPolicy: {automated: {prune: true, selfHeal: true}}
`, name, version)
}

// TestDeletedApplications: Applications in a stack whose file is deleted are taken down as with teardown:
// true, also when the files that they were in are deleted, and a protected one stays.
func TestDeletedApplications(t *testing.T) {
	texts := map[string]string{
		"stack.yaml": argoText("", ""), "apps/b.yaml": applicationText("web", "1.0.0"), "apps/c.yaml": applicationText("shop", "1.0.0"),
		"other.yaml": stackText("payment", "", ""),
	}
	first, _, problems := keepTexts(t, texts, tree.Tree{})
	if problems.Stops() {
		t.Fatal(problems)
	}
	texts["stack.yaml"] = argoText("  teardown: true\n", "")
	want, _, _ := keepTexts(t, texts, tree.Tree{})
	other := map[string]string{"other.yaml": texts["other.yaml"]}
	torn, deleted, problems := keepTexts(t, other, first)
	if diff := cmp.Diff(changesOf(want, torn), ""); diff != "" || !slices.Equal(deleted, []string{"checkout/dev"}) {
		t.Fatalf("%v %v: -teardown: true +deleted:\n%s", problems, deleted, diff)
	}
	checkFiles(t, torn)
	if again, _, _ := keepTexts(t, other, torn); !tree.Equal(torn, again) {
		t.Errorf("rendered again, it differs:\n%s", changesOf(torn, again))
	}
	released, _, _ := keepTexts(t, other, torn, "checkout/dev")
	gone, deleted, _ := keepTexts(t, other, released, "checkout/dev")
	if deleted != nil || !gone.Sub("environments/checkout").IsEmpty() {
		t.Errorf("destroyed, it is still there: %v", deleted)
	}

	texts["stack.yaml"] = argoText("", ", destroyProtection: true")
	first, _, _ = keepTexts(t, texts, tree.Tree{})
	kept, _, problems := keepTexts(t, other, first)
	if !strings.Contains(fmt.Sprint(problems), "except those that are protected: cd, db") {
		t.Errorf("the protected components are not named: %v", problems)
	}
	if diff := changesOf(stackfiles.FindObjects(first, "checkout/dev", "cd"), stackfiles.FindObjects(kept, "checkout/dev", "cd")); diff != "" {
		t.Errorf("the objects of a protected component change:\n%s", diff)
	}
}

// TestCachedApplications: a new commit of an Application changes its component, and renders no other one.
func TestCachedApplications(t *testing.T) {
	texts := map[string]string{"stack.yaml": argoText("", ""), "apps/b.yaml": applicationText("web", "1.0.0"), "settings.yaml": settingsText}
	var cache stackfiles.Cache
	first := renderCached(t, texts, &cache)
	rendered := cache.Rendered()
	texts["apps/b.yaml"] = applicationText("web", "1.1.0")
	second := renderCached(t, texts, &cache)
	if n := cache.Rendered() - rendered; n != 1 || tree.Equal(first, second) {
		t.Errorf("%d components were rendered, and the output is the same: %v", n, tree.Equal(first, second))
	}
	s, ok, err := stackfiles.SummarizeStack(second, "checkout", "dev")
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	cd, _ := s.FindComponent("cd")
	if cd.Type != "argocd" || cd.Action != stackfiles.Apply || !slices.Equal(cd.After, []string{"db"}) {
		t.Errorf("the summary is %+v", cd)
	}
}

// renderCached renders the stacks of files with what a cache has, and holds them to what is rendered
// without it.
func renderCached(t *testing.T, texts map[string]string, cache *stackfiles.Cache) tree.Tree {
	t.Helper()
	files, err := tree.FromFiles(bytesOf(texts))
	if err != nil {
		t.Fatal(err)
	}
	m, problems := model.Parse("dev", model.Layer{Kind: model.Env, Name: "dev", Files: files})
	got, more := stackfiles.RenderCached(m, cache, nil)
	want, _ := stackfiles.Render(m)
	if problems = append(problems, more...); problems.Stops() || !tree.Equal(want, got) {
		t.Fatalf("%v: -rendered +cached:\n%s", problems, changesOf(want, got))
	}
	return got
}
