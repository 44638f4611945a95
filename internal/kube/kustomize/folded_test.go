package kustomize_test

import (
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/kube/kustomize"
)

// What FoldedText says of a text is what a build delivers, as a value and as an item.
func TestFoldedTextIsWhatABuildDelivers(t *testing.T) {
	for _, folded := range []string{
		">\n    a\n      b\n", ">+\n    x\n\n", ">\n\n    a\n    b\n", ">-\n    a\n      b\n    c\n", ">\n    a\n    \tb\n    c\n",
		">2\n      a\n    b\n", ">2+\n      a\n\n\n    b\n\n", ">\n    a\n\n      b\n\n    c\n", ">-\n    \n", ">+\n\n\n", ">\n    x\n    y\n\n    z\n",
	} {
		object := "apiVersion: example.com/v1\nkind: Folded\nmetadata: {name: a}\nspec:\n  value: " + folded + "  items:\n  - " + folded
		files, err := tree.FromFiles(map[string][]byte{"kustomization.yaml": []byte("resources: [a.yaml]\n"), "a.yaml": []byte(object)})
		if err != nil {
			t.Fatal(err)
		}
		built, problems := kustomize.Build(files, "")
		if problems.Stops() {
			t.Fatalf("%q: %v", folded, problems)
		}
		var read, delivered struct {
			Spec struct {
				Value string
				Items []string
			}
		}
		if err := yaml.Unmarshal([]byte(object), &read); err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal(built[0].YAML, &delivered); err != nil {
			t.Fatal(err)
		}
		got, err := kustomize.FoldedText(read.Spec.Value)
		if err != nil || got != delivered.Spec.Value || got != delivered.Spec.Items[0] {
			t.Errorf("%q is delivered as %q and %q, and not %q (%v)", folded, delivered.Spec.Value, delivered.Spec.Items, got, err)
		}
	}
}
