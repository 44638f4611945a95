package source

import (
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// TestEphemeralClusters: an ephemeral environment provisions none of the clusters of the environment that
// it is made of: they would be changed from two places.
func TestEphemeralClusters(t *testing.T) {
	const text = "apiVersion: claudie.io/v1beta1\nkind: InputManifest\nmetadata: {name: edge}\nspec: {}\n"
	m, _ := model.Parse("dev", model.Layer{Kind: model.Env, Name: "dev", Files: tree.FromEntries([]tree.Entry{tree.File("edge.yaml", []byte(text))})})
	if len(m.Clusters.Manifests) != 1 {
		t.Fatalf("there are %d manifests", len(m.Clusters.Manifests))
	}
	e := &Ephemeral{Name: "pr-7", Spec: &model.Ephemeral{}}
	own := e.selectParts(m, false)
	if n := len(own.Clusters.Manifests); n != 0 {
		t.Errorf("the ephemeral environment has %d manifests", n)
	}
	if len(m.Clusters.Manifests) != 1 {
		t.Error("the environment that it is made of has lost its manifest")
	}
}
