package loop_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/promotion/rollout"
	"github.com/fairlead-io/fairlead/internal/reconcile/observe"
)

// TestSplitFleet: three clusters of one manifest that is split, of which one is decommissioned in two
// changes: its own manifest stays without a cluster until that is reported as done, and then goes, while the
// others stay byte for byte. A new process goes on where the last one was.
func TestSplitFleet(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev")
	w.reportsFile = filepath.Join(t.TempDir(), "reports")
	split := strings.Replace(fleetManifestText, "annotations: {", "annotations: {fairlead.io/split: \"true\", ", 1)
	lines := strings.SplitAfter(split, "\n")
	removed := strings.Replace(strings.Join(lines[:len(lines)-2], ""), "annotations: {", "annotations: {fairlead.io/decommission: \"true\", ", 1)
	publish := func(wanted bool, body string) {
		t.Helper()
		w.now = w.now.Add(time.Hour)
		w.life(t.TempDir())
		if proposed := len(w.openOf("dev")) > 0; proposed != wanted {
			t.Fatalf("something is proposed: %v; the log:\n%s", proposed, w.logs.String())
		}
		if !wanted {
			return
		}
		if text := w.open("dev").Body; !strings.Contains(text, body) {
			t.Errorf("the pull request does not say %q:\n%s", body, text)
		}
		w.merge("dev")
		w.life(w.data)
		w.wantVerified("dev")
	}
	report := func(part string, phase rollout.Phase) {
		t.Helper()
		inbox := w.openReports(w.reportsFile)
		defer w.closeReports(inbox)
		w.now = w.now.Add(time.Minute)
		w.add(inbox, observe.Event{
			Cluster: "management", Environment: "dev", Object: "Kustomization/flux-system/im-fleet-edge-three-" + part,
			Branch: "dev", Commit: w.head("out", "dev"), Phase: phase, When: w.now,
		})
	}
	w.commitNow("dev", "clusters", map[string]string{"clusters/edge.yaml": split, "clusters/binding.yaml": fleetBindingText, "clusters/settings.yaml": managementText})
	publish(true, "Clusters of `fleet/edge-three`")
	others := func() string {
		return fmt.Sprint(w.below("dev", "clusters/claudie/fleet-edge-one"), w.below("dev", "clusters/claudie/fleet-edge-two"))
	}
	before := others()

	w.commitNow("dev", "three goes", map[string]string{"clusters/edge.yaml": removed, "clusters/binding.yaml": strings.Join(strings.SplitAfter(fleetBindingText, "\n")[:8], "")})
	publish(true, "detach the cluster type")
	report("40-three", rollout.Ready)
	publish(true, "destroy the cluster")
	left := w.below("dev", "clusters/claudie/fleet-edge-three")
	if manifest := left["20-inputmanifest/input-manifest.yaml"]; !strings.Contains(manifest, "providers:") || strings.Contains(manifest, "three, version") || strings.Contains(manifest, "prune") || left["30-kubeconfigs/three.yaml"] == "" {
		t.Errorf("of the cluster that goes there is %v", left)
	}
	report("20-inputmanifest", rollout.Progressing)
	publish(false, "")
	report("20-inputmanifest", rollout.Ready)
	publish(true, "This is the last change")
	if left := w.below("dev", "clusters/claudie/fleet-edge-three"); len(left) > 0 {
		t.Errorf("after it is gone there is %v", left)
	}
	if now := others(); now != before {
		t.Errorf("the other clusters are\n%s\nand were\n%s", now, before)
	}
	publish(false, "")
}
