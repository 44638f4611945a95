package clusterfiles_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/render/clusterfiles"
)

// TestPrepare: what a cluster is prepared with is applied to it before the folder of its cluster type, by
// whatever the cluster is made, and stays when the cluster goes. Its Kustomization has a name of its own, also
// where names are shortened.
func TestPrepare(t *testing.T) {
	for _, executor := range []string{"claudie", "tofu", "capi"} {
		for _, name := range []string{"m", strings.Repeat("a", 50)} {
			files := map[string][]byte{
				"settings.yaml": []byte(randomSettings),
				"m.yaml": fmt.Appendf(nil, `apiVersion: claudie.io/v1beta1
kind: InputManifest
metadata: {name: %s, namespace: fleet, annotations: {fairlead.io/executor: %s, fairlead.io/existing-secrets: fleet/a}}
spec:
  providers: [{name: htz, providerType: hetzner, secretRef: {name: a, namespace: fleet}}]
  nodePools:
    dynamic: [{name: control, providerSpec: {name: htz, region: hel1}, count: 3, serverType: cpx22, image: a}]
  kubernetes:
    clusters: [{name: one, version: 1.35.0, network: 192.168.2.0/24, pools: {control: [control], compute: []}}]
---
apiVersion: fairlead.io/v1alpha1
kind: ClusterBinding
metadata: {name: m}
spec:
  inputManifest: {name: %s, namespace: fleet}
  clusters: [{name: one, clusterType: large, prepare: .flux/base, values: {A: b}}]
---
apiVersion: scheduler.kalypso.io/v1alpha1
kind: ClusterType
metadata: {name: large}
spec: {reconciler: t, namespaceService: t, configType: t}
---
apiVersion: scheduler.kalypso.io/v1alpha1
kind: Template
metadata: {name: t}
spec: {type: reconciler, manifests: ["{}"]}
`, name, executor, name),
			}
			env, err := tree.FromFiles(files)
			if err != nil {
				t.Fatal(err)
			}
			output := publishFirst(t, model.Layer{Kind: model.Env, Name: "dev", Files: env})
			checkObjects(t, output.Sub(clusterfiles.Folder))
			flux, _ := output.Lookup(clusterfiles.Folder + "/" + executor + "/fleet-" + name + "/flux.yaml")
			documents := strings.Split(string(flux.Data), "\n---\n")
			names := map[string]int{}
			for i, d := range documents {
				_, rest, _ := strings.Cut(d, "\n  name: ")
				object, _, _ := strings.Cut(rest, "\n")
				names[object] = i
			}
			if len(names) != len(documents) {
				t.Fatalf("%s: two Kustomizations have one name:\n%s", executor, flux.Data)
			}
			prepare, attach := documents[len(documents)-2], documents[len(documents)-1]
			first := ""
			for object, i := range names {
				if i == len(documents)-2 {
					first = object
				}
			}
			for _, want := range []string{"path: ./.flux/base\n", "wait: true", "deletionPolicy: Orphan", "kubeConfig:", "prune: true"} {
				if !strings.Contains(prepare, want) || strings.Contains(prepare, "postBuild") {
					t.Errorf("%s: it is prepared by\n%s", executor, prepare)
				}
			}
			if !strings.Contains(attach, "path: ./large\n") || !strings.Contains(attach, "dependsOn:\n    - name: "+first+"\n") {
				t.Errorf("%s: the cluster type does not come after %s:\n%s", executor, first, attach)
			}
		}
	}
}
