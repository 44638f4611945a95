package provision_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/claudie"
	"github.com/fairlead-io/fairlead/internal/controlplane/provision"
)

// TestRandomPlans plans 10,000 random changes, a hundred of each of a hundred manifests, for each executor in
// turn, and carries the steps out on a model of its own: at each step the clusters are sound, and after the last one they are as
// wanted.
func TestRandomPlans(t *testing.T) {
	const manifests, changes = 100, 100
	sound, kinds := 0, map[string]int{}
	for seed := range uint64(manifests) {
		w := newWorld(rand.New(rand.NewPCG(seed, 19)))
		w.executor = []string{"claudie", "claudie", "tofu", "capi"}[seed%4]
		current := provision.State{Namespace: "e2e", Name: "m"}
		for change := range changes {
			desired := w.newState()
			plan, err := provision.NewPlan(&current, &desired)
			if err != nil {
				t.Fatalf("seed %d, change %d: %v", seed, change, err)
			}
			desired.Endpoints = plan.Endpoints
			wrong, risk := checkPlan(plan, &current, &desired)
			if wrong != "" {
				t.Fatalf("seed %d, change %d, %s: %s\n%s", seed, change, w.executor, wrong, plan.Text())
			}
			if risk == "" {
				sound++
			} else if !provision.CheckEdit(provision.Edit{Current: &current, Desired: &desired, PositionOf: func(...any) problem.Pos { return problem.Pos{} }}).Stops() {
				t.Fatalf("seed %d, change %d: %s, and no guard rail says so\n%s", seed, change, risk, plan.Text())
			}
			for _, s := range plan.Steps {
				kinds[w.executor+" "+string(s.Kind)]++
			}
			current = desired
		}
	}
	t.Logf("%d changes, of which %d need no guard rail for control planes, with the steps %v", manifests*changes, sound, kinds)
	for _, kind := range []string{"claudie remove-nodes", "tofu remove-nodes", "tofu destroy-nodes", "tofu destroy-network", "tofu move-api-endpoint", "capi replace-nodes", "capi remove-nodes"} {
		if kinds[kind] < 20 {
			t.Errorf("only %d steps %s", kinds[kind], kind)
		}
	}
}

// checkPlan returns what is wrong with a plan, and what a guard rail must keep it from; "" if it leads to
// what is wanted, and if control planes are safe on the way.
func checkPlan(plan provision.Plan, current, desired *provision.State) (wrong, risk string) {
	if wrong := cmp.Or(checkIDs(plan), checkKinds(plan, desired.Executor)); wrong != "" {
		return wrong, ""
	}
	have, want := map[string]*replica{}, map[string]*replica{}
	start := map[string]int{}
	for _, c := range worldClusters {
		have[c], want[c] = newReplica(current, c), newReplica(desired, c)
		if want[c] != nil && desired.Executor == provision.DefaultExecutor {
			want[c].keepHostnames(have[c])
		}
		if have[c] != nil {
			start[c] = have[c].countControl()
		}
	}
	for i, s := range plan.Steps {
		r := have[s.Cluster]
		switch {
		case s.Cluster == "":
		case r == nil && s.Kind == provision.PublishKubeconfig:
			have[s.Cluster] = newReplica(desired, s.Cluster)
		case s.Kind == provision.DestroyCluster:
			have[s.Cluster] = nil
		case r != nil && want[s.Cluster] != nil && (s.Kind != provision.AttachClusterType || r.clusterType == ""):
			before := r.countControl()
			if wrong := r.apply(s, want[s.Cluster]); wrong != "" {
				return fmt.Sprintf("step %d: %s", i+1, wrong), ""
			}
			if damage := r.findDamage(want[s.Cluster], desired.Executor); damage != "" {
				return fmt.Sprintf("step %d: %s", i+1, damage), ""
			}
			if lost := before - r.countControl(); 2*lost >= before && slices.ContainsFunc(plan.Steps[i:], func(later provision.Step) bool { return addsControl(later, s.Cluster) }) {
				return fmt.Sprintf("step %d removes %d of %d control nodes before others are added", i+1, lost, before), ""
			}
		}
		for _, c := range s.Reason {
			if slices.Contains([]string{"serverType", "image", "network", "zone", "region"}, c.Field) && s.Kind != provision.CreateNetwork && s.Kind != provision.DestroyNetwork {
				return fmt.Sprintf("step %d changes what cannot change: %s", i+1, c), ""
			}
		}
	}
	for _, c := range worldClusters {
		if !reflect.DeepEqual(have[c], want[c]) {
			return fmt.Sprintf("%s ends as\n%+v, want\n%+v", c, have[c], want[c]), ""
		}
		if before := start[c]; have[c] != nil && before > 0 && 2*(before-have[c].countControl()) >= before {
			risk = fmt.Sprintf("cluster %s has %d control nodes instead of %d", c, have[c].countControl(), before)
		}
	}
	return "", risk
}

// addsControl reports whether a step adds control nodes to a cluster that do not replace others one by one.
func addsControl(s provision.Step, cluster string) bool {
	return s.Cluster == cluster && s.Kind == provision.AddNodes && s.Subject.PoolRole == provision.Control && !s.Subject.New
}

// checkIDs returns what is wrong with the ids and the dependencies of a plan.
func checkIDs(plan provision.Plan) string {
	seen := map[string]string{}
	for i, s := range plan.Steps {
		if _, twice := seen[s.ID]; twice || s.ID == "" {
			return fmt.Sprintf("step %d has the id %q of another one", i+1, s.ID)
		}
		for _, id := range s.After {
			if cluster, before := seen[id]; !before || s.Cluster != "" && cluster != s.Cluster {
				return fmt.Sprintf("step %d depends on %s, which is not before it in its cluster", i+1, id)
			}
		}
		seen[s.ID] = s.Cluster
	}
	return ""
}

// checkKinds returns which step of a plan the executor does not carry out, or how it does not; "" for none.
func checkKinds(plan provision.Plan, executor string) string {
	order := []provision.Phase{provision.Expand, provision.Switch, provision.Contract}
	phases := map[string]provision.Phase{} // of clusters
	for i, s := range plan.Steps {
		drains := strings.Contains(s.Sentence(), "drain") || s.Disruption == provision.Rolling && s.Kind == provision.RemoveNodes
		isNew := s.Kind == provision.DestroyNodes || s.Kind == provision.DestroyNetwork || s.Kind == provision.ReplaceNodes
		switch {
		case s.Place() == "" || strings.TrimSpace(s.Sentence()) != s.Sentence():
			return fmt.Sprintf("step %d is described as %q, %q", i+1, s.Sentence(), s.Place())
		case s.Executor != executor:
			return fmt.Sprintf("step %d is carried out by %q", i+1, s.Executor)
		case executor == "claudie" && isNew:
			return fmt.Sprintf("step %d is none of Claudie's", i+1)
		case executor == "tofu" && (drains || s.Subject.Old || s.Subject.New):
			return fmt.Sprintf("step %d drains or rolls nodes, and tofu-controller does not", i+1)
		case executor == "tofu" && s.Cluster != "" && slices.Index(order, s.Phase) < slices.Index(order, phases[s.Cluster]):
			return fmt.Sprintf("step %d of phase %s is after the phase %s", i+1, s.Phase, phases[s.Cluster])
		case executor == "capi" && (s.Kind == provision.TransferAPINode || s.Subject.Old || s.Subject.New):
			return fmt.Sprintf("step %d is none of Cluster API's", i+1)
		}
		phases[s.Cluster] = s.Phase
	}
	return ""
}

// TestIDsAreStable: what changes in one cluster does not change the steps of the other one.
func TestIDsAreStable(t *testing.T) {
	stepsOf := func(current, desired provision.State) string {
		plan, err := provision.NewPlan(&current, &desired)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, s := range plan.Steps {
			if s.Cluster == "c1" {
				fmt.Fprintf(&b, "%+v\n", s)
			}
		}
		return b.String()
	}
	planned := 0
	for seed := range uint64(200) {
		w := newWorld(rand.New(rand.NewPCG(seed, 20)))
		current, desired := w.newState(), w.newState()
		alone := desired
		alone.Spec.Kubernetes.Clusters = slices.DeleteFunc(slices.Clone(desired.Spec.Kubernetes.Clusters), func(c claudie.Cluster) bool { return c.Name != "c1" })
		with, without := stepsOf(current, desired), stepsOf(current, alone)
		if with != without {
			t.Fatalf("seed %d: with changes of another cluster\n%s, without them\n%s", seed, with, without)
		}
		if with != "" {
			planned++
		}
	}
	if planned < 100 {
		t.Errorf("only %d of 200 changes have steps", planned)
	}
}
