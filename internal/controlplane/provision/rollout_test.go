package provision_test

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/claudie"
	"github.com/fairlead-io/fairlead/internal/controlplane/provision"
)

// forbidden are the kinds of steps that no phase but the last one may need: each takes away something that
// may be in use until clusters have reported the phase before.
var forbidden = []provision.Kind{
	provision.DestroyCluster, provision.DeleteLB, provision.DeleteRole, provision.Close6443, provision.DropProvider, provision.DropCredentials, provision.DropKubeconfig,
	provision.RemoveNodes, provision.DestroyNodes, provision.DestroyNetwork,
}

// TestRandomRollouts leads 80 random manifests to what another one asks for, phase by phase. Each
// phase ends; made again before clusters have reported it, it is the same; nothing is removed before the
// last one; and all of them together end at what is desired.
func TestRandomRollouts(t *testing.T) {
	phases := map[provision.Phase]int{}
	for seed := range uint64(8) {
		w := newWorld(rand.New(rand.NewPCG(seed, 33)))
		w.executor = "tofu"
		current := w.newState()
		for change := range 10 {
			desired := w.newState()
			for n := 0; ; n++ {
				if n > 3 {
					t.Fatalf("seed %d, change %d: it is not done after %d phases", seed, change, n)
				}
				stage := nextStage(t, &current, &desired, true)
				phases[stage.Phase]++
				checkStage(t, &current, &stage)
				checkAgain(t, &stage, &desired)
				current = stage.State
				if stage.Phase == "" {
					break
				}
				if n == 1 && change%7 == 0 { // a person changes it meanwhile
					desired = w.newState()
					n = -1
					continue
				}
			}
			if rest := planOf(t, &current, &desired); len(rest.Steps) > 0 || current.Rollout != nil {
				t.Fatalf("seed %d, change %d: after the last phase this is left:\n%s", seed, change, rest.Text())
			}
		}
	}
	t.Logf("phases: %v", phases)
	if phases[provision.Expand] < 20 || phases[provision.Switch] < 20 {
		t.Errorf("too few phases: %v", phases)
	}
}

func nextStage(t *testing.T, current, desired *provision.State, observed bool) provision.Stage {
	t.Helper()
	stage, err := provision.NextStage(current, desired, func() bool { return observed })
	if err != nil {
		t.Fatal(err)
	}
	return stage
}

func planOf(t *testing.T, current, desired *provision.State) provision.Plan {
	t.Helper()
	plan, err := provision.NewPlan(current, desired)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// checkStage reports what a stage takes away before the last one.
func checkStage(t *testing.T, current *provision.State, stage *provision.Stage) {
	t.Helper()
	plan := planOf(t, current, &stage.State)
	if stage.Phase == "" {
		return
	}
	if (stage.State.Rollout == nil) || stage.State.Rollout.Phase != stage.Phase || stage.State.Rollout.Target == "" {
		t.Fatalf("the lock of phase %s has the rollout %+v", stage.Phase, stage.State.Rollout)
	}
	for _, s := range plan.Steps {
		if slices.Contains(forbidden, s.Kind) {
			t.Fatalf("phase %s has the step %s:\n%s", stage.Phase, s.ID, plan.Text())
		}
		moves := s.Kind == provision.MoveAPIEndpoint || s.Kind == provision.TransferAPINode || s.Kind == provision.RetargetLB
		if stage.Phase == provision.Expand && (moves || s.Kind == provision.UpgradeKubernetes) {
			t.Fatalf("phase %s has the step %s:\n%s", stage.Phase, s.ID, plan.Text())
		}
	}
}

// checkAgain makes a stage again with itself as the previous state: it is the same, also when read from
// its lock.
func checkAgain(t *testing.T, stage *provision.Stage, desired *provision.State) {
	t.Helper()
	text, err := provision.EncodeLock(&stage.State)
	if err != nil {
		t.Fatal(err)
	}
	read, err := provision.ParseLock(text)
	if err != nil {
		t.Fatal(err)
	}
	again := nextStage(t, &read, desired, false)
	other, err := provision.EncodeLock(&again.State)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(text, other) {
		t.Fatalf("made again, phase %q is phase %q\n%s\nand not\n%s", stage.Phase, again.Phase, other, text)
	}
}

// TestRolloutOfControlPools swaps the control pools of a cluster: three phases, of which the guard rails
// take none for one that shrinks the control plane.
func TestRolloutOfControlPools(t *testing.T) {
	newState := func(pool string) provision.State {
		return provision.State{Namespace: "fleet", Name: "m", Executor: "tofu", Spec: claudie.Spec{
			NodePools:  claudie.NodePools{Dynamic: []claudie.DynamicPool{{Name: pool, Count: 3}}},
			Kubernetes: claudie.Kubernetes{Clusters: []claudie.Cluster{{Name: "one", Version: "1.36.0", Pools: claudie.Pools{Control: []string{pool}}}}},
		}}
	}
	first := newState("old")
	current, desired := nextStage(t, &provision.State{}, &first, false).State, newState("new")
	type seen struct {
		phase    provision.Phase
		waits    bool
		pools    int
		endpoint string
	}
	var got []seen
	for _, observed := range []bool{false, false, true, false, true} {
		if guards := provision.CheckEdit(provision.Edit{Current: &current, Desired: &desired, PositionOf: func(...any) problem.Pos { return problem.Pos{} }}); guards.Stops() {
			t.Errorf("%v", guards)
		}
		stage := nextStage(t, &current, &desired, observed)
		current = stage.State
		got = append(got, seen{stage.Phase, stage.Waits, len(current.Spec.Kubernetes.Clusters[0].Pools.Control), current.Endpoints["one"].Pool})
	}
	want := []seen{
		{provision.Expand, false, 2, "old"}, {provision.Expand, true, 2, "old"},
		{provision.Switch, false, 2, "new"}, {provision.Switch, true, 2, "new"}, {"", false, 1, "new"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
