package loop_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/scaffold"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
	"github.com/fairlead-io/fairlead/internal/testkit/kubeapi"
)

const importedList = `apiVersion: fairlead.io/v1alpha1
kind: ClusterList
metadata:
  name: dev
  annotations:
    fairlead.io/import: "{types: [{type: edge, clusters: {matchLabels: {size: edge}}}]}"
spec:
  clusters:
    - {name: kept, type: edge} # ask Alice
    - {name: gone, type: cloud}
`

func putCluster(t *testing.T, api *kubeapi.Server, name, size string) {
	api.Put(t, fmt.Sprintf(`{"apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster", "metadata": {"name": %q, "labels": {"size": %q}}}`, name, size))
}

func writeKubeconfig(t *testing.T, api *kubeapi.Server) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, fmt.Appendf(nil, "{apiVersion: v1, kind: Config, current-context: hub, clusters: [{name: hub, cluster: {server: %q}}], contexts: [{name: hub, context: {cluster: hub}}]}", api.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestInventoryIsProposed: clusters of an inventory are proposed for the ClusterList, and those that it has lost by a
// pull request of their own; nothing is written without one, and an inventory that cannot be read changes nothing.
func TestInventoryIsProposed(t *testing.T) {
	api := kubeapi.Start(t, "uid-1")
	putCluster(t, api, "kept", "edge")
	putCluster(t, api, "new", "edge")
	putCluster(t, api, "strange", "huge")
	kubeconfig := writeKubeconfig(t, api)
	w := newWorld(t, scaffold.Branches, "dev")
	w.more += fmt.Sprintf("inventories: [{environment: dev, kind: ManagedCluster, kubeconfig: %q, every: 90m}]\n", kubeconfig)
	w.commitNow("dev", "clusters", map[string]string{"clusters.yaml": importedList})
	before := w.head(w.cp(), "dev")
	d := w.begin(w.data)
	d.cycle()
	if w.head(w.cp(), "dev") != before {
		t.Error("the branch was written")
	}
	proposed := func(branch string) string {
		t.Helper()
		if _, ok := w.branches("cp")[branch]; !ok {
			return ""
		}
		return gittest.Files(w, w.server.Dir("cp"), w.head("cp", branch))["clusters.yaml"]
	}
	const follow, remove = "fairlead/inventory/dev", "fairlead/inventory-removals/dev"
	if got, want := proposed(follow), importedList+"    - {name: new, type: edge}\n"; got != want {
		t.Errorf("proposed is\n%s", got)
	}
	if got, want := proposed(remove), strings.Replace(importedList, "    - {name: gone, type: cloud}\n", "", 1); got != want {
		t.Errorf("the removal is\n%s", got)
	}
	warns := func(summary string) bool {
		return slices.ContainsFunc(d.state("dev").Problems, func(p problem.Problem) bool { return p.Warning && strings.Contains(p.Summary, summary) })
	}
	if !warns("the inventory has 1 cluster that no rule gives a type: strange") {
		t.Errorf("the problems are %v", d.state("dev").Problems)
	}
	asked := len(api.Requests())
	d.cycle()
	if len(api.Requests()) != asked {
		t.Error("the inventory was read again too early")
	}

	// What was merged is proposed no more, and the other one goes on.
	gittest.Git(w, w.server.Dir("cp"), "update-ref", "refs/heads/dev", "refs/heads/"+follow)
	d.cycle()
	d.cycle()
	if got := proposed(follow); got != "" {
		t.Errorf("it is still proposed:\n%s", got)
	}
	if got := proposed(remove); !strings.Contains(got, "new") || strings.Contains(got, "gone") {
		t.Errorf("the removal is\n%s", got)
	}

	// An inventory that cannot be read, or is empty, changes nothing.
	at := w.head("cp", remove)
	api.Refuse("ManagedCluster", http.StatusForbidden)
	d.now = d.now.Add(2 * time.Hour)
	d.cycle()
	if !warns("cannot list resource") || w.head("cp", remove) != at {
		t.Errorf("the problems are %v", d.state("dev").Problems)
	}
	api.Refuse("ManagedCluster", 0)
	for _, name := range []string{"kept", "new", "strange"} {
		api.Delete("ManagedCluster", "", name)
	}
	d.now = d.now.Add(2 * time.Hour)
	d.cycle()
	if !warns("has no clusters") || w.head("cp", remove) != at {
		t.Errorf("the problems are %v", d.state("dev").Problems)
	}
}

// TestInventoryInGit: the inventory may be files next to the environment.
func TestInventoryInGit(t *testing.T) {
	w := newWorld(t, scaffold.Branches, "dev")
	w.more += "inventories: [{environment: dev, folder: .fairlead/inventory}]\n"
	w.commitNow("dev", "clusters", map[string]string{"clusters.yaml": importedList, ".fairlead/inventory/a.yaml": "apiVersion: multicluster.x-k8s.io/v1alpha1\nkind: ClusterProfile\nmetadata: {name: profile, namespace: fleet, labels: {size: edge}}\n"})
	d := w.begin(w.data)
	d.cycle()
	if got := gittest.Files(w, w.server.Dir("cp"), w.head("cp", "fairlead/inventory/dev"))["clusters.yaml"]; !strings.Contains(got, "{name: profile, type: edge}") {
		t.Errorf("proposed is\n%s\n%s", got, d.logs.String())
	}
}

// TestPlacementsAreProposed: what a hub has decided for a Placement that a policy follows is proposed, and counts once it is
// merged; a hub that cannot be read, or has not decided, changes nothing.
func TestPlacementsAreProposed(t *testing.T) {
	api := kubeapi.Start(t, "uid-1")
	decide := func(placement string, clusters ...string) {
		var decisions []string
		for _, name := range clusters {
			decisions = append(decisions, fmt.Sprintf(`{"clusterName": %q, "reason": ""}`, name))
		}
		api.Put(t, fmt.Sprintf(`{"apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "PlacementDecision", "metadata": {"name": "%[1]s-decision-1", "namespace": "shop", "labels": {"cluster.open-cluster-management.io/placement": %[1]q, "else": "x"}}, "status": {"decisions": [%s]}}`, placement, strings.Join(decisions, ", ")))
	}
	api.Put(t, `{"apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster", "metadata": {"name": "east", "labels": {"fairlead.io/cluster-type": "edge", "vendor": "Kind"}}}`)
	decide("other", "east")
	kubeconfig := writeKubeconfig(t, api)
	w := newWorld(t, scaffold.Branches, "dev")
	w.more += fmt.Sprintf("inventories: [{environment: dev, kind: PlacementDecision, kubeconfig: %q, namespace: shop, every: 90m}]\n", kubeconfig)
	const decided = "fairlead/placements/dev"
	w.commitNow("dev", "follow a Placement", map[string]string{"scheduling-policies/hello.yaml": `apiVersion: scheduler.kalypso.io/v1alpha1
kind: SchedulingPolicy
metadata: {name: hello, annotations: {fairlead.io/choose: "{by: ocm, placement: shop/checkout}"}}
spec: {deploymentTargetSelector: {labelSelector: {}}, clusterTypeSelector: {labelSelector: {}}}
`})
	d := w.begin(w.data)
	warns := func(summary string) bool {
		return slices.ContainsFunc(d.state("dev").Problems, func(p problem.Problem) bool { return strings.Contains(p.Summary, summary) })
	}
	d.cycle()
	if _, ok := w.branches("cp")[decided]; ok || !warns("has no PlacementDecision of the Placement shop/checkout") {
		t.Errorf("%v: the problems are %v", ok, d.state("dev").Problems)
	}
	decide("checkout", "east")
	d.now = d.now.Add(2 * time.Hour)
	d.cycle()
	file := gittest.Files(w, w.server.Dir("cp"), w.head("cp", decided))[".fairlead/decisions/imported-placements.yaml"]
	if want := `# Imported by Fairlead from the hub of the settings' inventories.
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: PlacementDecision
metadata:
  name: checkout-decision-1
  namespace: shop
  labels:
    cluster.open-cluster-management.io/placement: checkout
status:
  decisions:
    - clusterName: east
---
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata:
  name: east
  labels:
    fairlead.io/cluster-type: edge
`; file != want {
		t.Errorf("proposed is\n%s", file)
	}
	gittest.Git(w, w.server.Dir("cp"), "update-ref", "refs/heads/dev", "refs/heads/"+decided)
	d.cycle()
	d.cycle()
	if written := gittest.Files(w, w.server.Dir("cp"), w.head("cp", "dev"))[".fairlead/decisions/hello.yaml"]; !strings.Contains(written, "[edge]") {
		t.Errorf("chosen is\n%s\n%v", written, d.state("dev").Problems)
	}
	if _, ok := w.branches("cp")[decided]; ok {
		t.Error("what is merged is proposed")
	}
	at := w.head("cp", "dev")
	api.Refuse("PlacementDecision", http.StatusForbidden)
	d.now = d.now.Add(2 * time.Hour)
	d.cycle()
	if !warns("cannot list resource") || w.head("cp", "dev") != at {
		t.Errorf("the problems are %v", d.state("dev").Problems)
	}
}
