package fleetview_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/reconcile/fleetview"
	"github.com/fairlead-io/fairlead/internal/testkit/ledgerworld"
)

// assignedText returns how the clusters of a type of prod stand to a deployment target, as text.
func assignedText(t *testing.T, w *ledgerworld.World, clusterType, target string) string {
	t.Helper()
	runs, err := w.View.FindAssigned(t.Context(), "prod")
	check(t, err)
	counts, versions := runs.Find(clusterType, target)
	var b strings.Builder
	names := []string{"ready", "progressing", "behind", "not verified", "no report", "failed"}
	for class, n := range counts {
		if n == 0 {
			continue
		}
		fmt.Fprintf(&b, "%s %d", names[class], n)
		why := runs.FindReason(clusterType, target, class)
		if why != (fleetview.AssignedReason{}) {
			fmt.Fprintf(&b, ": %s: %s", why.Cluster, why.Message)
		}
		b.WriteString("\n")
	}
	for _, v := range versions {
		fmt.Fprintf(&b, "%q on %d\n", v.Name, v.Clusters)
	}
	return b.String()
}

// TestFailedAssignment: an assignment has failed if the failure of its cluster names it, or one of its objects
// has. The others of the cluster are not verified; if the failure names none, all have failed whose objects
// do not say that they are ready. What runs is what the clusters' outputs ask for, where no object names it.
func TestFailedAssignment(t *testing.T) {
	onBothEngines(t, func(t *testing.T, w *ledgerworld.World) {
		want := func(when, clusterType, target string, lines ...string) {
			t.Helper()
			text := assignedText(t, w, clusterType, target)
			for _, line := range lines {
				if !strings.Contains("\n"+text, "\n"+line+"\n") {
					t.Errorf("%s: %s/%s has no %s\n%s", when, clusterType, target, line, text)
				}
			}
		}
		const failed = "Kustomization/flux-system/platform failed: "
		want("a failure that names nothing", "large", "checkout", "ready 2", "behind 1: east-3: Kustomization/flux-system/platform is suspended", "not verified 1: east-2: "+failed+"timeout waiting for Deployment/x")
		want("a failure that names nothing", "large", "search", "ready 1", "failed 1: east-2: "+failed+"timeout waiting for Deployment/x", `"main" on 1`, `"" on 6`)
		want("an object that failed", "small", "checkout", "failed 1: west-1: Kustomization/flux-system/checkout-api failed: image not found", `"1.4.1" on 2`)
		const source = "health check failed after 30s: failed early due to stalled resources: [GitRepository/flux-system/search status: 'Failed': couldn't find remote ref \"refs/heads/mian\"]"
		w.FailPlatform("large", "east-1", source)
		const cause = `search failed: branch "mian" does not exist`
		want("a failure that names a source", "large", "search", "failed 2: east-1: "+cause)
		want("a failure that names a source", "large", "checkout", "not verified 2: east-1: "+cause)
		w.FailPlatform("large", "south-1", source) // which reports nothing but that
		want("a failure of a cluster without other objects", "large", "search", "failed 3: east-1: "+cause)
		const object = "dry-run failed: Kustomization/flux-system/checkout-api is invalid, and Kustomization/flux-system/other too"
		w.FailPlatform("large", "east-4", object)
		want("a failure that names an object", "large", "checkout", "failed 1: east-4: "+failed+object)
	})
}
