package clusterfiles_test

import (
	"path"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/controlplane/provision"
	"github.com/fairlead-io/fairlead/internal/testkit/golden"
)

// TestTofuOrder: a step of the plan of new clusters waits for another one exactly if the Kustomization of what
// it makes does.
func TestTofuOrder(t *testing.T) {
	golden.Run(t, "testdata/tofu/manifest.txtar", func(t *testing.T, c *golden.Case) {
		files, _ := renderTofu(t, c)
		folder := files.Sub("tofu/fleet-edge")
		lock, _ := folder.Lookup(provision.LockFile)
		state, err := provision.ParseLock(lock.Data)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := provision.NewPlan(&provision.State{}, &state)
		if err != nil {
			t.Fatal(err)
		}
		flux, _ := folder.Lookup("flux.yaml")
		before := map[string][]string{} // of Kustomizations
		for decoder := yaml.NewDecoder(strings.NewReader(string(flux.Data))); ; {
			var o applied
			if decoder.Decode(&o) != nil {
				break
			}
			before[o.Metadata.Name] = nil
			for _, d := range o.Spec.DependsOn {
				before[o.Metadata.Name] = append(before[o.Metadata.Name], d.Name)
			}
		}
		after := map[string][]string{} // of steps
		for _, s := range plan.Steps {
			after[s.ID] = s.After
		}
		var names []string
		for _, s := range plan.Steps {
			names = append(names, findKustomization(t, s, before))
		}
		for i, s := range plan.Steps {
			for k, other := range plan.Steps[:i] {
				if names[i] == names[k] { // the kubeconfig is made with Kubernetes
					continue
				}
				planned, rendered := isReached(after, s.ID, other.ID), isReached(before, names[i], names[k])
				if planned != rendered {
					t.Errorf("%s waits for %s: %t in the plan, and %t in what is rendered", s.ID, other.ID, planned, rendered)
				}
			}
		}
		if len(plan.Steps) < 10 {
			t.Errorf("only %d steps", len(plan.Steps))
		}
	})
}

// findKustomization returns the Kustomization of what a step of a new cluster makes.
func findKustomization(t *testing.T, s provision.Step, all map[string][]string) string {
	t.Helper()
	role := strings.ReplaceAll(s.Subject.PoolRole, " ", "")
	part := map[provision.Kind]string{
		provision.CreateNetwork: "net-" + s.Subject.Provider + "-" + s.Subject.Region, provision.CreatePool: "np-" + role + "-" + s.Subject.Pool,
		provision.CreateDNS: "dns", provision.Bootstrap: "k8s", provision.PublishKubeconfig: "k8s", provision.CreateLB: "cfg", provision.AttachClusterType: "40-" + s.Cluster,
	}[s.Kind]
	owner := s.Cluster
	if s.Subject.LoadBalancer != "" {
		owner = s.Subject.LoadBalancer
	}
	var found []string
	for name := range all {
		if fits, _ := path.Match("im-fleet-edge-"+owner+"-???????-"+part, name); fits || name == "im-fleet-edge-"+part {
			found = append(found, name)
		}
	}
	if len(found) != 1 || part == "" {
		t.Fatalf("step %s is carried out by %q", s.ID, found)
	}
	return found[0]
}

// isReached reports whether arrows lead from one name to another one.
func isReached(arrows map[string][]string, from, to string) bool {
	return slices.ContainsFunc(arrows[from], func(next string) bool { return next == to || isReached(arrows, next, to) })
}
