package stackfiles_test

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/tree"
)

var sealFile = regexp.MustCompile(`/seal-[0-9a-f]{10}/kustomization\.yaml$`)

// withoutSeals returns files without seals, and without their names in Kustomizations.
func withoutSeals(t *testing.T, files tree.Tree) tree.Tree {
	t.Helper()
	var b tree.Builder
	named := regexp.MustCompile(`(?m)^  components:\n    - \.\./seal-[0-9a-f]{10}\n`)
	for file, e := range files.Walk() {
		if sealFile.MatchString(file) {
			continue
		}
		if path.Base(file) == "flux-kustomization.yaml" {
			e = tree.File(e.Name, named.ReplaceAll(e.Data, nil))
		}
		if err := b.AddEntry(file, e); err != nil {
			t.Fatal(err)
		}
	}
	return b.Tree()
}

// sealsOf returns the seal that the Kustomization of each component names, which must be there, and no other one.
func sealsOf(t *testing.T, files tree.Tree) map[string]string {
	t.Helper()
	seals, count := map[string]string{}, 0
	for file, data := range files.All() {
		if sealFile.MatchString(file) {
			count++
		}
		if path.Base(file) != "flux-kustomization.yaml" {
			continue
		}
		folder := path.Dir(file)
		found := regexp.MustCompile(`    - \.\./(seal-[0-9a-f]{10})\n`).FindSubmatch(data)
		if found == nil || textOf(files, path.Join(folder, string(found[1]), "kustomization.yaml")) == "" {
			t.Fatalf("%s names no seal that is there:\n%s", file, data)
		}
		seals[folder] = string(found[1])
	}
	if count != len(seals) {
		t.Errorf("there are %d seals of %d components", count, len(seals))
	}
	return seals
}

// TestSeals: the Kustomization that a cluster has applies nothing at a revision where its objects, or it itself,
// are other ones: so nothing happens in the order of before.
func TestSeals(t *testing.T) {
	text := stackText("checkout", "", "") + "    - {name: web, type: helm, dependsOn: [eks], source: {repo: \"https://example.com/charts\", chart: web}}\n"
	file := func(text string) map[string]string { return map[string]string{"a.yaml": text} }
	first, _, problems := keepTexts(t, file(text), tree.Tree{})
	if problems.Stops() {
		t.Fatal(problems)
	}
	before := sealsOf(t, first)
	if again, _, _ := keepTexts(t, file(text), first); !maps.Equal(before, sealsOf(t, again)) {
		t.Error("rendered again, the seals differ")
	}
	torn, _, _ := keepTexts(t, file(strings.Replace(text, "  components:", "  teardown: true\n  components:", 1)), first)
	deleted, _, _ := keepTexts(t, nil, first)
	released, _, _ := keepTexts(t, nil, deleted, "checkout/dev")
	edges, _, _ := keepTexts(t, file(strings.Replace(text, "dependsOn: [eks]", "dependsOn: [eks, a-network]", 1)), first)
	for name, c := range map[string]struct {
		files   tree.Tree
		changed []string
	}{
		"torn down": {torn, []string{"a-network", "eks", "web"}}, "deleted": {deleted, []string{"a-network", "eks", "web"}},
		"released": {released, []string{"a-network", "eks", "web"}}, "another order": {edges, []string{"web"}},
	} {
		after := sealsOf(t, c.files)
		var changed []string
		for _, component := range []string{"a-network", "eks", "web"} {
			if folder := "environments/checkout/dev/" + component; before[folder] != after[folder] {
				changed = append(changed, component)
			}
		}
		if fmt.Sprint(changed) != fmt.Sprint(c.changed) {
			t.Errorf("%s: the seals of %v change, want %v", name, changed, c.changed)
		}
	}
}
