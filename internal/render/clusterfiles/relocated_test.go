package clusterfiles_test

import (
	"bytes"
	"path"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/render/clusterfiles"
	"github.com/fairlead-io/fairlead/internal/testkit/golden"
)

const keptByFlux = "kustomize.toolkit.fluxcd.io/prune: disabled"

// checkPruning checks that Flux leaves each part of a manifest on the management cluster when it is not
// rendered any more, unless it was destroyed on purpose; it returns how many parts are kept, and how many go.
func checkPruning(t *testing.T, output tree.Tree) (kept, leaving int) {
	t.Helper()
	manifest := output.Sub("clusters/tofu/fleet-m")
	flux, _ := manifest.Lookup("flux.yaml")
	decoder := yaml.NewDecoder(bytes.NewReader(flux.Data))
	for {
		var k applied
		if decoder.Decode(&k) != nil {
			return kept, leaving
		}
		objects := manifest.Sub("objects/" + path.Base(k.Spec.Path))
		terraform, isPart := objects.Lookup("terraform.yaml")
		if !isPart {
			continue
		}
		source, _ := objects.Lookup("gitrepository.yaml")
		text, err := yaml.Marshal(k.Metadata.Annotations)
		if err != nil {
			t.Fatal(err)
		}
		destroyed := bytes.Contains(terraform.Data, []byte("destroy: true"))
		for what, text := range map[string]string{"Kustomization": string(text), "Terraform": string(terraform.Data), "GitRepository": string(source.Data)} {
			if strings.Contains(text, keptByFlux) == destroyed {
				t.Errorf("%s of %s: Flux keeps it: %v, and it is destroyed on purpose: %v", what, k.Metadata.Name, !destroyed, destroyed)
			}
		}
		if destroyed {
			leaving++
		} else {
			kept++
		}
	}
}

// TestPartsSurvivePruning: what makes a cluster is left alone by Flux when its Kustomization goes, until the
// cluster is decommissioned; then it is not, so that its objects can be removed.
func TestPartsSurvivePruning(t *testing.T) {
	golden.Run(t, "testdata/phases/last-cluster.txtar", func(t *testing.T, c *golden.Case) {
		_, current := renderAll(t, model.Layer{Kind: model.Env, Name: "dev", Files: c.Tree(t, "before")})
		if kept, leaving := checkPruning(t, current); kept < 4 || leaving > 0 {
			t.Errorf("%d parts are kept and %d go", kept, leaving)
		}
		m, rendered := renderAll(t, c.Layers(t)...)
		for range 2 { // detached, and to be destroyed
			current, _, _ = clusterfiles.FollowPrevious(m, rendered, clusterfiles.Previous{Tree: current, IsCarriedOut: func(clusterfiles.Carrier) bool { return true }})
		}
		if kept, leaving := checkPruning(t, current); kept > 0 || leaving < 4 {
			t.Errorf("%d parts are kept and %d go", kept, leaving)
		}
	})
}

// TestSourceMoves: with the namespace of the source, all Kustomizations of the parts move, and Flux prunes
// those that go. That is refused, and can be accepted once the output has what makes Flux keep the clusters.
func TestSourceMoves(t *testing.T) {
	golden.Run(t, "testdata/phases/last-cluster.txtar", func(t *testing.T, c *golden.Case) {
		render := func(annotation string) (*model.Model, tree.Tree) {
			const settings = "{apiVersion: fairlead.io/v1alpha1, kind: StackSettings, metadata: {name: s}, spec: {state: {bucket: x, region: eu-west-1}, source: {name: fleet, namespace: gitops-system}}}\n"
			entries := []tree.Entry{tree.File("z.yaml", []byte(settings))}
			for _, e := range c.Tree(t, "before").Entries() {
				entries = append(entries, tree.File(e.Name, bytes.ReplaceAll(e.Data, []byte("annotations: {"), []byte("annotations: {"+annotation))))
			}
			return renderAll(t, model.Layer{Kind: model.Env, Name: "dev", Files: tree.FromEntries(entries)})
		}
		_, before := renderAll(t, model.Layer{Kind: model.Env, Name: "dev", Files: c.Tree(t, "before")})
		var old tree.Builder // as versions before this one wrote it
		for file, e := range before.Walk() {
			if err := old.Add(file, bytes.ReplaceAll(e.Data, []byte("    "+keptByFlux+"\n"), nil)); err != nil {
				t.Fatal(err)
			}
		}
		const accept = "fairlead.io/accept: relocate/gitops-system, "
		for _, test := range []struct {
			name, annotation string
			previous         tree.Tree
			want             string
		}{
			{"moved", "", before, "would be in gitops-system: for Flux these are others"},
			{"accepted", accept, before, ""},
			{"accepted, and not kept by Flux yet", accept, old.Tree(), "merge the output as it is first"},
		} {
			m, rendered := render(test.annotation)
			_, _, problems := clusterfiles.FollowPrevious(m, rendered, clusterfiles.Previous{Tree: test.previous, IsCarriedOut: func(clusterfiles.Carrier) bool { return false }})
			if problems.Stops() != (test.want != "") || !strings.Contains(golden.Problems(problems), test.want) {
				t.Errorf("%s: %s", test.name, golden.Problems(problems))
			}
		}
	})
}
