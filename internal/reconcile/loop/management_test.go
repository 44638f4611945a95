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

// TestManagementCluster: a cluster that an environment makes has no say in how far the making of clusters is.
// Any other one that reports it has to agree, and is named, unless the management cluster is: then it alone
// counts.
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
	const settings = "apiVersion: fairlead.io/v1alpha1\nkind: StackSettings\nmetadata: {name: clusters}\nspec: {managementCluster: management}\n"
	for _, step := range []struct {
		cluster  string
		phase    rollout.Phase
		settings string
		warning  string
		proposed bool
	}{
		{"two", rollout.Ready, "", "Kustomization/flux-system/im-fleet-edge-20-inputmanifest is reported by two, which does not count", false},
		{"stranger", rollout.Failed, "", "until the management cluster reports Kustomization/flux-system/im-fleet-edge-20-inputmanifest as ready", false},
		{"management", rollout.Ready, "", "management and stranger report Kustomization/flux-system/im-fleet-edge-20-inputmanifest, and each of them", false},
		{"stranger", rollout.Failed, settings, "", true},
	} {
		inbox, err := observe.NewInbox(w.reportsFile)
		if err != nil {
			t.Fatal(err)
		}
		w.now = w.now.Add(time.Minute)
		w.add(inbox, observe.Event{
			Cluster: step.cluster, Environment: "dev", Object: "Kustomization/flux-system/im-fleet-edge-20-inputmanifest",
			Branch: "dev", Commit: w.head("out", "dev"), Phase: step.phase, When: w.now,
		})
		if step.settings != "" {
			w.commitNow("dev", "settings", map[string]string{"settings.yaml": step.settings})
		}
		d := w.begin(t.TempDir())
		d.cycle()
		problems := fmt.Sprint(d.state("dev").Problems)
		if !strings.Contains(problems, step.warning) || step.warning == "" && strings.Contains(problems, "im-fleet-edge") {
			t.Errorf("after %s reported %v, the problems are %s", step.cluster, step.phase, problems)
		}
		if proposed := len(w.openOf("dev")) > 0; proposed != step.proposed {
			t.Errorf("after %s reported %v, something is proposed: %v", step.cluster, step.phase, proposed)
		}
	}
}
