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

// managementText names the cluster whose reports count.
const managementText = "apiVersion: fairlead.io/v1alpha1\nkind: StackSettings\nmetadata: {name: clusters}\nspec: {managementCluster: management}\n"

// TestManagementCluster: only the cluster that the control plane names says how far the making of clusters is.
// As long as none is named nothing goes on, whoever reports what; and no other cluster brings anything about
// or holds it up.
func TestManagementCluster(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev")
	w.reportsFile = filepath.Join(t.TempDir(), "reports")
	files := map[string]string{"clusters/edge.yaml": inputManifestText}
	w.commitNow("dev", "clusters", files)
	w.life(w.data)
	w.merge("dev")
	w.life(w.data)
	lines := strings.SplitAfter(inputManifestText, "\n")
	files["clusters/edge.yaml"] = strings.Replace(strings.Join(lines[:len(lines)-2], ""), "annotations: {", "annotations: {fairlead.io/decommission: \"true\", ", 1)
	w.commitNow("dev", "two goes", files)
	w.life(w.data)
	w.merge("dev")
	const object = "Kustomization/flux-system/im-fleet-edge-20-inputmanifest"
	for _, step := range []struct {
		cluster  string
		phase    rollout.Phase
		settings string
		warning  string
		reason   string
		proposed bool
	}{
		{"stranger", rollout.Ready, "", "InputManifest/edge: it waits for reports of the management cluster, and none is named, so that no report counts", "the manifest fleet/edge waits for reports of the management cluster, and spec.managementCluster names none", false},
		{"two", rollout.Ready, managementText, object + " is reported by stranger and two, which does not count: the management cluster is management", "the manifest fleet/edge waits for reports of the management cluster management", false},
		{"management", rollout.Progressing, "", "until the management cluster reports " + object + " as ready", "", false},
		{"stranger", rollout.Failed, "", "until the management cluster reports " + object + " as ready", "", false},
		{"management", rollout.Ready, "", "", "", true},
	} {
		inbox := w.openReports(w.reportsFile)
		w.now = w.now.Add(time.Minute)
		w.add(inbox, observe.Event{
			Cluster: step.cluster, Environment: "dev", Object: object,
			Branch: "dev", Commit: w.head("out", "dev"), Phase: step.phase, When: w.now,
		})
		w.closeReports(inbox)
		if step.settings != "" {
			w.commitNow("dev", "settings", map[string]string{"settings.yaml": step.settings})
		}
		d := w.begin(t.TempDir())
		d.cycle()
		problems := fmt.Sprint(d.state("dev").Problems)
		if !strings.Contains(problems, step.warning) || step.warning == "" && strings.Contains(problems, "im-fleet-edge") {
			t.Errorf("after %s reported %v, the problems are %s", step.cluster, step.phase, problems)
		}
		e := d.state("dev")
		if !step.proposed && (!strings.Contains(e.Reason, step.reason) || !strings.Contains(e.Teardowns, step.reason)) {
			t.Errorf("after %s reported %v, the state is explained by %q and %q, want %q in it", step.cluster, step.phase, e.Reason, e.Teardowns, step.reason)
		}
		if proposed := len(w.openOf("dev")) > 0; proposed != step.proposed {
			t.Errorf("after %s reported %v, something is proposed: %v", step.cluster, step.phase, proposed)
		}
	}
}
