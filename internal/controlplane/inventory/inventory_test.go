package inventory_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/inventory"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
)

const list = `# Clusters of prod.
apiVersion: fairlead.io/v1alpha1
kind: ClusterList
metadata:
  name: prod
spec:
  clusters:
    # The oldest one.
    - {name: east-1, type: small, group: canary, labels: {owner: alice}}
    - {name: gone-1, type: large}
    - {name: by-hand, type: odd}
`

const rules = `{types: [{type: large, clusters: {matchLabels: {size: large}}}, {type: small, clusters: {matchExpressions: [{key: size, operator: Exists}]}}], labels: [region]}`

const objects = `apiVersion: multicluster.x-k8s.io/v1alpha1
kind: ClusterProfile
metadata: {name: east-1, namespace: fleet, labels: {size: large, region: eu, secret: x}}
spec: {displayName: East 1, clusterManager: {name: ocm}}
---
apiVersion: v1
kind: List
items:
  - apiVersion: cluster.open-cluster-management.io/v1
    kind: ManagedCluster
    metadata: {name: west-1, labels: {size: tiny}}
  - apiVersion: cluster.open-cluster-management.io/v1
    kind: ManagedCluster
    metadata: {name: labelled, labels: {fairlead.io/cluster-type: edge}}
  - apiVersion: cluster.open-cluster-management.io/v1
    kind: ManagedCluster
    metadata: {name: by-hand}
  - apiVersion: v1
    kind: Secret
    metadata: {name: cluster-abc, labels: {argocd.argoproj.io/secret-type: cluster, size: large}}
    data: {name: YXJnby0x, server: aHR0cHM6Ly94, config: eyJiZWFyZXJUb2tlbiI6Imh1bnRlcjIifQ==}
  - apiVersion: v1
    kind: Secret
    metadata: {name: repository, labels: {argocd.argoproj.io/secret-type: repository}}
  - apiVersion: cluster.open-cluster-management.io/v1
    kind: ManagedCluster
    metadata: {name: strange}
  - apiVersion: cluster.open-cluster-management.io/v1
    kind: ManagedCluster
    metadata: {name: "No Name"}
`

func merge(t *testing.T, text string, clusters []inventory.Cluster, remove bool) (string, inventory.Changes) {
	t.Helper()
	documents, err := yamldoc.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	read, problems := model.ReadImportRules(rules, problem.Pos{}, "ClusterList/prod")
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	changes := inventory.Merge(yamldoc.RootOf(documents[0]), read, clusters, remove)
	out, err := yamldoc.Encode[*yaml.Node](documents[0])
	if err != nil {
		t.Fatal(err)
	}
	return string(out), changes
}

// TestMerge: clusters get their types by rules; what is unknown, and what has vanished, is named; and all that people
// have written stays.
func TestMerge(t *testing.T) {
	clusters, problems := inventory.Read("objects.yaml", []byte(objects))
	if len(problems) != 1 || !problems[0].Warning || problems[0].Pos.Line == 0 {
		t.Errorf("the problems are %v", problems)
	}
	for _, remove := range []bool{false, true} {
		got, changes := merge(t, list, clusters, remove)
		want := `# Clusters of prod.
apiVersion: fairlead.io/v1alpha1
kind: ClusterList
metadata:
  name: prod
spec:
  clusters:
    # The oldest one.
    - {name: east-1, type: large, group: canary, labels: {owner: alice, region: eu}}
    - {name: gone-1, type: large}
    - {name: by-hand, type: odd}
    - {name: argo-1, type: large}
    - {name: labelled, type: edge}
    - {name: west-1, type: small}
`
		if remove {
			want = strings.Replace(want, "    - {name: gone-1, type: large}\n", "", 1)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(inventory.Changes{
			Added:    []inventory.Change{{Cluster: "argo-1", To: "large"}, {Cluster: "labelled", To: "edge"}, {Cluster: "west-1", To: "small"}},
			Moved:    []inventory.Change{{Cluster: "east-1", From: "small", To: "large"}},
			Vanished: []inventory.Change{{Cluster: "gone-1", From: "large"}},
			Unknown:  []inventory.Change{{Cluster: "strange"}},
		}, changes); diff != "" {
			t.Error(diff)
		}
		if again, changes := merge(t, got, clusters, remove); again != got || !changes.IsEmpty(remove) {
			t.Errorf("the second import changes something: %+v", changes)
		}
	}
}

// TestReadOthers: a file without a cluster, of other objects, is said to have none.
func TestReadOthers(t *testing.T) {
	clusters, problems := inventory.Read("pods.yaml", []byte("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"))
	if len(clusters) != 0 || len(problems) != 1 || !problems[0].Warning {
		t.Errorf("%v, with the problems %v", clusters, problems)
	}
}

// TestManyProfiles: 2,000 ClusterProfiles, as an API server answers a list request.
func TestManyProfiles(t *testing.T) {
	var items []any
	for i := range 2_000 {
		items = append(items, map[string]any{
			"apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "ClusterProfile",
			"metadata": map[string]any{"name": fmt.Sprintf("c-%04d", i), "namespace": "fleet", "resourceVersion": fmt.Sprint(i), "labels": map[string]string{"size": []string{"large", "small"}[i%2], "region": "eu"}},
			"spec":     map[string]any{"displayName": fmt.Sprint("cluster ", i), "clusterManager": map[string]string{"name": "manager"}},
			"status":   map[string]any{"conditions": []any{map[string]string{"type": "ControlPlaneHealthy", "status": "True"}}, "version": map[string]string{"kubernetes": "v1.34.1"}},
		})
	}
	text, err := json.Marshal(map[string]any{"apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "ClusterProfileList", "metadata": map[string]string{"resourceVersion": "1"}, "items": items})
	if err != nil {
		t.Fatal(err)
	}
	clusters, problems := inventory.Read("profiles.json", text)
	if len(clusters) != 2_000 || len(problems) > 0 {
		t.Fatalf("there are %d clusters: %v", len(clusters), problems)
	}
	got, changes := merge(t, "kind: ClusterList\nspec:\n  clusters: []\n", clusters, false)
	if len(changes.Added) != 2_000 || strings.Count(got, "type: large, labels: {region: eu}") != 1_000 {
		t.Errorf("%d clusters were added, as in\n%.300s", len(changes.Added), got)
	}
}
