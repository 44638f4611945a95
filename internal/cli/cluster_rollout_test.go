package cli

import (
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/provision"
	"github.com/fairlead-io/fairlead/internal/render/clusterfiles"
)

// TestRolloutOfEditedLock: clusters whose lock somebody deleted are there, and how far they have got is not
// known.
func TestRolloutOfEditedLock(t *testing.T) {
	var b tree.Builder
	if err := b.Add("clusters/claudie/fleet-edge/flux.yaml", []byte("kind: Kustomization\n")); err != nil {
		t.Fatal(err)
	}
	rendered, err := clusterfiles.ReadRendered(b.Tree())
	if err != nil {
		t.Fatal(err)
	}
	r := newManifestRollout("dev", provision.State{Namespace: "fleet", Name: "edge", Executor: "claudie"}, rendered)
	if waits := strings.Join(r.Waits, " "); r.State != notKnown || !strings.Contains(waits, "clusters/claudie/fleet-edge/lock.yaml of the output: it was deleted") {
		t.Errorf("it is %s, and waits for %s", r.State, waits)
	}
}
