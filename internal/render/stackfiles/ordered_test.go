package stackfiles_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/kube/healthcheck"
	"github.com/fairlead-io/fairlead/internal/kube/kubeobject"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
	"github.com/fairlead-io/fairlead/internal/testkit/recordings"
)

// TestOrderedHealth evaluates the expressions of deployment targets, whose sources name a commit, a tag or a branch,
// at every state of a component that was applied and destroyed: it is not ready while a plan waits.
func TestOrderedHealth(t *testing.T) {
	const text = `apiVersion: infra.contrib.fluxcd.io/v1alpha2
kind: Terraform
metadata: {name: net, namespace: net}
spec: {sourceRef: {kind: GitRepository, name: net}}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: net, namespace: net}
spec: {ref: {%s}}
`
	for ref, want := range map[string]string{ // of the two commits, one is that of the teardown
		"commit: 426679e92433e6e60ebcf1eaf89383c7704695f2": "- F - C - F -",
		"commit: 958d909fd97579768187e98dec4e519e6784b976": "- F - F - C - C -",
		"tag: fairlead-modules-dev":                        "- F - C - F - C - C -",
		"tag: \"it's\"":                                    "- F - F -",
		"branch: fairlead-modules-dev":                     "- F - C - F - C - C -",
	} {
		k, _, err := stackfiles.RenderOrdered(&model.Model{Environment: "dev"}, stackfiles.Ordered{Name: "net-main", Folder: "cloud/net"}, tree.File("objects.yaml", fmt.Appendf(nil, text, ref)))
		if err != nil {
			t.Fatal(err)
		}
		var rendered struct {
			Spec struct {
				Timeout string
				Health  []kubeobject.HealthExpr `yaml:"healthCheckExprs"`
			}
		}
		if err := yaml.Unmarshal(k, &rendered); err != nil || len(rendered.Spec.Health) != 1 || rendered.Spec.Timeout != "1m" {
			t.Fatalf("%v: %s", err, k)
		}
		check, err := healthcheck.Compile(rendered.Spec.Health[0])
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range recordings.Load(t, "10a-destroy-manual").Steps {
			raw := s.Find(s.Object)
			if !strings.HasPrefix(s.Object, "Terraform/") || raw == nil {
				continue
			}
			var object map[string]any
			if err := json.Unmarshal(raw, &object); err != nil {
				t.Fatal(err)
			}
			status, err := check.Evaluate(object)
			if err != nil {
				t.Fatal(err)
			}
			letter := map[healthcheck.Status]string{healthcheck.InProgress: "-", healthcheck.Failed: "F", healthcheck.Current: "C"}[status]
			if len(got) == 0 || got[len(got)-1] != letter {
				got = append(got, letter)
			}
		}
		if got := strings.Join(got, " "); got != want {
			t.Errorf("%s: %s, want %s", ref, got, want)
		}
	}
}
