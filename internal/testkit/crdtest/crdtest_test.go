package crdtest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// good is an object of each way of checking, with nothing wrong.
const good = `apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata:
  name: gull-main
  namespace: flux-system
spec:
  interval: 10m
  prune: true
  sourceRef:
    kind: GitRepository
    name: gull-main
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata:
  name: gull-main
  namespace: dev-pier-gull-main
spec:
  interval: 10m
  chartRef:
    kind: OCIRepository
    name: gull-main
---
apiVersion: v1
kind: Namespace
metadata:
  name: dev-pier-gull-main
  labels:
    workload: gull
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: platform-config
  namespace: dev-pier-gull-main
data:
  REGION: North Sea
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: restricted
  namespace: dev-pier-gull-main
spec:
  podSelector: {}
`

// TestCheck breaks the good objects in one place at a time: each kind of mistake
// must be seen, or passing means nothing.
func TestCheck(t *testing.T) {
	schemas, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name     string
		old, new string // what is replaced in good
		want     []string
	}{
		{
			name: "nothing wrong",
		},
		{
			name: "misspelt field of a custom kind",
			old:  "  prune: true\n",
			new:  "  prune: true\n  retryIntervall: 1m\n",
			want: []string{"Kustomization/gull-main: spec.retryIntervall: unknown field"},
		},
		{
			name: "missing required field",
			old:  "  prune: true\n",
			want: []string{"Kustomization/gull-main: spec.prune: Required value"},
		},
		{
			name: "wrong type",
			old:  "  prune: true\n",
			new:  "  prune: \"true\"\n",
			want: []string{"Kustomization/gull-main: spec.prune: Invalid value: \"string\": spec.prune in body must be of type boolean: \"string\""},
		},
		{
			name: "outside of an enum",
			old:  "    kind: GitRepository\n",
			new:  "    kind: GitRepo\n",
			want: []string{"Kustomization/gull-main: spec.sourceRef.kind: Unsupported value: \"GitRepo\": supported values: \"OCIRepository\", \"GitRepository\", \"Bucket\", \"ExternalArtifact\""},
		},
		{
			name: "against a pattern",
			old:  "  interval: 10m\n  prune",
			new:  "  interval: ten minutes\n  prune",
			want: []string{"Kustomization/gull-main: spec.interval: Invalid value: \"ten minutes\": spec.interval in body should match '^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$'"},
		},
		{
			name: "against a CEL rule",
			old:  "  chartRef:\n    kind: OCIRepository\n    name: gull-main\n",
			want: []string{"HelmRelease/gull-main: spec: Invalid value: either chart or chartRef must be set"},
		},
		{
			name: "label that is not text",
			old:  "    workload: gull\n",
			new:  "    workload: true\n",
			want: []string{
				"Namespace/dev-pier-gull-main: json: cannot unmarshal bool into Go struct field ObjectMeta.metadata.labels of type string",
				"Namespace/dev-pier-gull-main: json: cannot unmarshal bool into Go struct field ObjectMeta.labels of type string",
			},
		},
		{
			name: "label value with a space",
			old:  "    workload: gull\n",
			new:  "    workload: a gull\n",
			want: []string{"Namespace/dev-pier-gull-main: metadata.labels: Invalid value: \"a gull\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"},
		},
		{
			name: "value of a ConfigMap that is not text",
			old:  "  REGION: North Sea\n",
			new:  "  REGION: 7\n",
			want: []string{"ConfigMap/platform-config: json: cannot unmarshal number into Go struct field ConfigMap.data of type string"},
		},
		{
			name: "misspelt field of a core kind",
			old:  "  podSelector: {}\n",
			new:  "  podSelektor: {}\n",
			want: []string{"NetworkPolicy/restricted: unknown field \"spec.podSelektor\""},
		},
		{
			name: "no namespace",
			old:  "  name: restricted\n  namespace: dev-pier-gull-main\n",
			new:  "  name: restricted\n",
			want: []string{"NetworkPolicy/restricted: metadata.namespace: Required value"},
		},
		{
			name: "unknown kind",
			old:  "apiVersion: kustomize.toolkit.fluxcd.io/v1\n",
			new:  "apiVersion: kustomize.toolkit.fluxcd.io/v1beta2\n",
			want: []string{"Kustomization/gull-main: there is no definition of kustomize.toolkit.fluxcd.io/v1beta2 Kustomization"},
		},
		{
			name: "no object",
			old:  good,
			new:  "# nothing\n",
			want: []string{"there is no object in the file"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if !strings.Contains(good, test.old) {
				t.Fatalf("%q is not in the good objects", test.old)
			}
			file := strings.Replace(good, test.old, test.new, 1)
			if diff := cmp.Diff(test.want, schemas.Check([]byte(file))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
