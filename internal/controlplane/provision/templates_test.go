package provision_test

import (
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/claudie"
	"github.com/fairlead-io/fairlead/internal/controlplane/provision"
)

// TestTemplateHashes: nodes are replaced if the hash of their templates changes, whatever names it. Where a hash
// is not known, another name counts as another hash.
func TestTemplateHashes(t *testing.T) {
	one, two := strings.Repeat("1", 40), strings.Repeat("2", 40)
	for name, test := range map[string]struct {
		old, new string
		replaced bool
	}{
		"a tag is pinned to its commit":   {"g/t@v1 (" + one + ")", "g/t@" + one, false},
		"a commit gets its tag":           {"g/t@" + one, "g/t@v1 (" + one + ")", false},
		"a tag is pinned to another one":  {"g/t@v1 (" + one + ")", "g/t@" + two, true},
		"a branch moves":                  {"g/t@main (" + one + ")", "g/t@main (" + two + ")", true},
		"another tag of the same commit":  {"g/t@v1 (" + one + ")", "g/t@v1.0 (" + one + ")", false},
		"another folder":                  {"g/t@v1 (" + one + ")", "g/u@v1 (" + one + ")", true},
		"the hash gets known":             {"g/t@v1", "g/t@v1 (" + one + ")", false},
		"the hash is known no more":       {"g/t@v1 (" + one + ")", "g/t@v1", false},
		"the hash of another is unknown":  {"g/t@v1 (" + one + ")", "g/t@v2", true},
		"a reference of another place":    {"ns/a", "ns/b", true},
		"it is written as it was":         {"ns/a", "ns/a", false},
		"the hash of neither is known":    {"g/t@v1", "g/t@v2", true},
		"a repository with @ in its name": {"g@h/t@v1 (" + one + ")", "g@h/t@" + one, false},
	} {
		stateWith := func(templates string) *provision.State {
			return &provision.State{Namespace: "fleet", Name: "m", Executor: "claudie", Templates: map[string]string{"aws-1": templates}, Spec: claudie.Spec{
				Providers:  []claudie.Provider{{Name: "aws-1", Type: "aws"}},
				NodePools:  claudie.NodePools{Dynamic: []claudie.DynamicPool{{Name: "control", ProviderSpec: claudie.ProviderSpec{Name: "aws-1"}, Count: 3}}},
				Kubernetes: claudie.Kubernetes{Clusters: []claudie.Cluster{{Name: "one", Version: "1.36.0", Pools: claudie.Pools{Control: []string{"control"}}}}},
			}}
		}
		old, new := stateWith(test.old), stateWith(test.new)
		if plan := planOf(t, old, new); (len(plan.Steps) > 0) != test.replaced {
			t.Errorf("%s: the plan is\n%s", name, plan.Text())
		}
		warned := provision.CheckEdit(provision.Edit{Current: old, Desired: new, PositionOf: func(...any) problem.Pos { return problem.Pos{} }})
		if (len(warned) > 0) != test.replaced {
			t.Errorf("%s: the warnings are %v", name, warned)
		}
	}
}
