package cli_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/testkit/kubeapi"
)

// TestImportFromServer: 2,000 ClusterProfiles come from an API server page by page, as do ManagedClusters and the
// Secrets of Argo CD; and a server that cannot be read completely changes nothing.
func TestImportFromServer(t *testing.T) {
	api := kubeapi.Start(t, "uid-1")
	var profiles strings.Builder
	for i := range 2_000 {
		fmt.Fprintf(&profiles, "\n---\n"+`{"apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "ClusterProfile", "metadata": {"namespace": "fleet", "name": "c-%04d", "labels": {"size": %q}}, "status": {"version": {"kubernetes": "v1.34.1"}}}`,
			i, []string{"large", "small"}[i%2])
	}
	api.Put(t, strings.TrimPrefix(profiles.String(), "\n---\n"))
	api.Put(t, `{"apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster", "metadata": {"name": "managed", "labels": {"size": "large"}}}
---
{"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": "argocd", "name": "cluster-1", "labels": {"argocd.argoproj.io/secret-type": "cluster", "size": "large"}}, "data": {"name": "YXJnby0x", "config": "aHVudGVyMg=="}}
---
{"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": "argocd", "name": "repository", "labels": {"size": "large"}}, "data": {}}`)
	dir := t.TempDir()
	t.Chdir(dir)
	config := filepath.Join(dir, "kubeconfig")
	files := map[string]string{
		config: fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: none, clusters: [{name: hub, cluster: {server: %q}}], contexts: [{name: hub, context: {cluster: hub, user: me}}], users: [{name: me, user: {token: abc}}]}`, api.URL),
		"clusters.yaml": `kind: ClusterList
metadata: {name: prod, annotations: {fairlead.io/import: "{types: [{type: large, clusters: {matchLabels: {size: large}}}]}"}}
spec: {clusters: [{name: gone, type: large}]}
`}
	for name, text := range files {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	read := func(code int, args ...string) (counts map[string]int, stderr string) {
		t.Helper()
		got, stdout, stderr := run(t.Context(), append([]string{"cluster", "import", "clusters.yaml", "--kubeconfig", config, "--context", "hub", "--output", "json"}, args...)...)
		var value map[string][]struct{ Name string }
		if code == 0 || code == 4 {
			if err := json.Unmarshal([]byte(stdout), &value); err != nil {
				t.Fatalf("%v: %s%s", err, stdout, stderr)
			}
		}
		if got != code {
			t.Fatalf("the code is %d: %.300s%s", got, stdout, stderr)
		}
		counts = map[string]int{}
		for key, all := range value {
			counts[key] = len(all)
		}
		return counts, stderr
	}
	api.ExpireContinue()
	if got, _ := read(4); got["added"] != 1_000 || got["unknown"] != 1_000 || got["vanished"] != 1 {
		t.Errorf("there are %v", got)
	}
	if got := api.Requests(); !slices.ContainsFunc(got, func(r string) bool { return strings.Contains(r, "v1alpha1/clusterprofiles?limit=500") }) {
		t.Errorf("the requests are %v", got)
	}
	if got, _ := read(4, "--kind", "ManagedCluster", "--kind", "Secret"); got["added"] != 2 {
		t.Errorf("there are %v", got)
	}
	if got, _ := read(0, "--kind", "Secret", "--namespace", "default"); got["added"] != 0 {
		t.Errorf("there are %v", got)
	}
	read(2, "--kind", "Secrets")
	read(2, "--kind", "Secret", "--namespace", "default", "--remove")
	api.Refuse("ManagedCluster", http.StatusForbidden)
	if _, stderr := read(1, "--kind", "ManagedCluster", "--write"); !strings.Contains(stderr, "cannot list resource") {
		t.Errorf("it says %s", stderr)
	}
	text, err := os.ReadFile("clusters.yaml")
	if err != nil || string(text) != files["clusters.yaml"] {
		t.Errorf("the file is %s (%v)", text, err)
	}
	read(0, "--write", "--kind", "Secret")
	text, err = os.ReadFile("clusters.yaml")
	if err != nil || !strings.Contains(string(text), "argo-1") || strings.Contains(string(text), "hunter2") {
		t.Errorf("the file is %s (%v)", text, err)
	}
	other := kubeapi.Start(t, "uid-2")
	if err := os.WriteFile(config, []byte(strings.ReplaceAll(files[config], api.URL, other.URL)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, stderr := read(1); !strings.Contains(stderr, "has no clusterprofiles") {
		t.Errorf("it says %s", stderr)
	}
}
