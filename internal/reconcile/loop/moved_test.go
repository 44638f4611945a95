package loop_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
)

const movedText = `apiVersion: claudie.io/v1beta1
kind: InputManifest
metadata:
  name: edge
  namespace: fleet
  annotations: {fairlead.io/existing-secrets: fleet/hetzner}
spec:
  providers:
    - {name: hetzner-1, providerType: hetzner, secretRef: {name: hetzner, namespace: fleet}}
  nodePools:
    dynamic:
      - {name: control, providerSpec: {name: hetzner-1, region: hel1}, count: 3, serverType: cpx22, image: ubuntu-24.04}
  kubernetes:
    clusters:
      - {name: one, version: 1.36.0, network: 192.168.2.0/24, pools: {control: [control], compute: []}}
`

// TestMovedManifest: a manifest that moves between environments is refused in both: where it goes, as its
// clusters would be destroyed, and where it comes, as they would be made anew; whichever comes first, in one
// cycle or in several, and after a restart.
func TestMovedManifest(t *testing.T) {
	const file, moved, removed = "clusters/edge.yaml", "cluster one was moved here from environment dev, whose output has it", "the manifest is removed, and cluster one would be destroyed"
	add := func(w *world) { w.commitNow("stage", "the manifest comes", map[string]string{file: movedText}) }
	remove := func(w *world) { w.commitNow("dev", "the manifest goes", map[string]string{file: ""}) }
	for name, steps := range map[string][]func(*world, *daemon){
		"in one cycle":   {func(w *world, _ *daemon) { add(w); remove(w) }},
		"removed before": {func(w *world, _ *daemon) { remove(w) }, func(w *world, _ *daemon) { add(w) }},
		"added before":   {func(w *world, _ *daemon) { add(w) }, func(w *world, _ *daemon) { remove(w) }},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, scaffold.Branches, "dev", "stage")
			d := w.begin(w.data)
			w.commitNow("dev", "a manifest", map[string]string{file: movedText})
			d.cycle()
			w.merge("dev")
			d.cycle()
			for _, step := range steps {
				step(w, d)
				d.cycle()
			}
			for range 2 {
				d.wantProblem("stage", moved)
				d.wantProblem("dev", removed)
				d = w.begin(t.TempDir()) // it remembers nothing
				d.cycle()
			}
			stage := func() string { return fmt.Sprint(d.state("stage").Problems) }
			w.edit("stage", file, "annotations: {", "annotations: {fairlead.io/accept: move/one, ")
			d.cycle()
			if strings.Contains(stage(), "was moved here") || len(w.openOf("stage")) == 0 {
				t.Errorf("it is accepted, and stage has the problems %s", stage())
			}
			w.edit("stage", file, "fairlead.io/accept: move/one, ", "")
			d.cycle()
			d.wantProblem("stage", moved)
			w.commitNow("dev", "it stays", map[string]string{file: movedText})
			d.cycle()
			if strings.Contains(stage(), "was moved here") || strings.Contains(fmt.Sprint(d.state("dev").Problems), removed) {
				t.Errorf("it stays in dev, and stage has the problems %s", stage())
			}
		})
	}
}
