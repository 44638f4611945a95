package clusters_test

import (
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/clusters"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/testkit/golden"
)

// TestPartsAreSound: each part of a sound manifest that is split is sound alone, as Claudie sees it: it has
// all that its cluster names, and no pool that nothing uses. Together the parts have every cluster and load
// balancer once.
func TestPartsAreSound(t *testing.T) {
	parts := 0
	golden.Run(t, "testdata/manifests/*.txtar", func(t *testing.T, c *golden.Case) {
		if strings.Contains(c.Text("problems"), "InputManifest") {
			return
		}
		layers := c.Layers(t)
		for i := range layers {
			layers[i].Files = splitAll(t, layers[i].Files)
		}
		m, _ := model.Parse(c.Environment(), layers...)
		for _, whole := range m.Clusters.Split {
			names, balancers := 0, 0
			for _, part := range m.Clusters.Manifests {
				if part.Whole != whole {
					continue
				}
				parts++
				names, balancers = names+len(part.Spec.Kubernetes.Clusters), balancers+len(part.Spec.LoadBalancers.Clusters)
				var written model.InputManifest // as one that is written
				written.Composed, written.Spec = part.Composed, part.Spec
				alone := *m
				alone.Clusters.Manifests, alone.Clusters.Split, alone.Clusters.Bindings = []*model.InputManifest{&written}, nil, nil
				_, problems := clusters.Resolve(&alone)
				for _, p := range problems {
					if !p.Warning && !strings.Contains(p.Summary, "nothing in the control plane provides the Secret") {
						t.Errorf("%s: %s", part.Path(), p)
					}
				}
			}
			if names != len(whole.Spec.Kubernetes.Clusters) || balancers != len(whole.Spec.LoadBalancers.Clusters) {
				t.Errorf("%s: the parts have %d clusters and %d load balancers", whole.Path(), names, balancers)
			}
		}
	})
	if parts < 7 {
		t.Errorf("there are %d parts", parts)
	}
}

// splitAll returns files in which each manifest is split.
func splitAll(t *testing.T, files tree.Tree) tree.Tree {
	t.Helper()
	var b tree.Builder
	for file, data := range files.All() {
		decoder := yaml.NewDecoder(strings.NewReader(string(data)))
		var all strings.Builder
		for {
			var object map[string]any
			if decoder.Decode(&object) != nil {
				break
			}
			if metadata, ok := object["metadata"].(map[string]any); ok && object["kind"] == "InputManifest" {
				annotations, _ := metadata["annotations"].(map[string]any)
				if annotations == nil {
					annotations = map[string]any{}
				}
				annotations[model.SplitAnnotation] = "true"
				metadata["annotations"] = annotations
			}
			text, err := yaml.Marshal(object)
			if err != nil {
				t.Fatal(err)
			}
			all.WriteString("---\n" + string(text))
		}
		if err := b.Add(file, []byte(all.String())); err != nil {
			t.Fatal(err)
		}
	}
	return b.Tree()
}
