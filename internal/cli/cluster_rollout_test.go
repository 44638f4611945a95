package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/claudie"
	"github.com/fairlead-io/fairlead/internal/controlplane/clusters"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/provision"
	"github.com/fairlead-io/fairlead/internal/reconcile/stackview"
	"github.com/fairlead-io/fairlead/internal/render/clusterfiles"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
)

// TestRolloutOfEditedLock: clusters whose lock somebody deleted are there, and how far they have got is not
// known.
func TestRolloutOfEditedLock(t *testing.T) {
	var b tree.Builder
	if err := b.Add("clusters/claudie/fleet-edge/flux.yaml", []byte("kind: Kustomization\n")); err != nil {
		t.Fatal(err)
	}
	rendered, err := clusterfiles.ReadRendered(b.Tree())
	if err != nil {
		t.Fatal(err)
	}
	r := newManifestRollout(&model.Model{Environment: "dev"}, provision.State{Namespace: "fleet", Name: "edge", Executor: "claudie"}, rendered)
	if waits := r.Waits.String(); r.State != notKnown || !strings.Contains(waits, "clusters/claudie/fleet-edge/lock.yaml of the output: it was deleted") {
		t.Errorf("it is %s, and waits for %s", r.State, waits)
	}
}

// TestLeavingClusters: clusters that the output has and that are not written any more are listed.
func TestLeavingClusters(t *testing.T) {
	state := provision.State{
		Namespace: "fleet", Name: "edge", Executor: "claudie",
		Spec:    claudie.Spec{Kubernetes: claudie.Kubernetes{Clusters: []claudie.Cluster{{Name: "one"}, {Name: "two", Version: "1.36.0"}}}},
		Rollout: &provision.Rollout{Phase: provision.Contract, Leaving: []string{"three"}},
	}
	lock, err := provision.EncodeLock(&state)
	if err != nil {
		t.Fatal(err)
	}
	var b tree.Builder
	for file, data := range map[string]string{
		"lock.yaml": string(lock),
		"flux.yaml": "kind: Kustomization\nmetadata: {name: im-fleet-edge-20-inputmanifest, namespace: flux-system}\nspec: {path: ./clusters/claudie/fleet-edge/20-inputmanifest}\n",
	} {
		if err := b.Add("clusters/claudie/fleet-edge/"+file, []byte(data)); err != nil {
			t.Fatal(err)
		}
	}
	rendered, err := clusterfiles.ReadRendered(b.Tree())
	if err != nil {
		t.Fatal(err)
	}
	manifest := &model.InputManifest{}
	manifest.Namespace, manifest.Name = "fleet", "edge"
	written := &clusters.Manifest{InputManifest: manifest, Units: []*clusters.Unit{{Cluster: &claudie.Cluster{Name: "one"}}}}
	for what, all := range map[string][]provisionedCluster{
		"two: to be destroyed, three: being destroyed":                       findLeaving(&model.Model{Environment: "dev"}, []*clusters.Manifest{written}, rendered),
		"one: to be destroyed, two: to be destroyed, three: being destroyed": findLeaving(&model.Model{Environment: "dev"}, nil, rendered),
		"": findLeaving(&model.Model{Environment: "dev"}, nil, nil),
	} {
		var is []string
		for _, p := range all {
			is = append(is, p.Name+": "+p.rollout.State)
			if waits := p.rollout.Waits.String(); !strings.Contains(waits, "the management cluster reports Kustomization/flux-system/im-fleet-edge-20-inputmanifest as ready: the next pull request is proposed then, a StackSettings") || !strings.Contains(waits, "without it no report counts") || p.path() != "fleet/edge/"+p.Name {
				t.Errorf("%s waits for %q", p.path(), waits)
			}
		}
		if got := strings.Join(is, ", "); got != what {
			t.Errorf("the clusters are %q, want %q", got, what)
		}
	}
}

// TestRolloutWaits: what is waited for is named with who reports it; a change that needs no report waits for its
// pull request.
func TestRolloutWaits(t *testing.T) {
	state := func(executor string, names ...string) provision.State {
		s := provision.State{Namespace: "fleet", Name: "edge", Executor: executor}
		s.Spec.NodePools.Static = []claudie.StaticPool{{Name: "metal", Nodes: []claudie.StaticNode{{Endpoint: "192.0.2.1"}}}}
		for _, name := range names {
			s.Spec.Kubernetes.Clusters = append(s.Spec.Kubernetes.Clusters, claudie.Cluster{Name: name, Version: "1.36.0", Pools: claudie.Pools{Control: []string{"metal"}}})
		}
		return s
	}
	one, both := state("tofu", "one"), state("tofu", "one", "two")
	m := &model.Model{Environment: "dev"}
	m.Stacks.Settings = []*model.StackSettings{{}}
	m.Stacks.Settings[0].ManagementCluster = "hub"
	const report, merge = "cluster hub, which spec.managementCluster names, reports Kustomization/flux-system/a and Kustomization/flux-system/b as ready: the next pull request is proposed then", "the pull request of the output is merged"
	for name, test := range map[string]struct {
		is      provision.State
		rollout provision.Rollout
		desired provision.State
		want    string
	}{
		"what was added is used next":  {both, provision.Rollout{Phase: provision.Expand, From: &provision.State{}}, one, report},
		"what was added goes again":    {both, provision.Rollout{Phase: provision.Expand, From: &one}, one, merge},
		"more is added":                {one, provision.Rollout{Phase: provision.Switch, From: &provision.State{}}, both, merge},
		"nothing else changes":         {one, provision.Rollout{Phase: provision.Contract}, one, report},
		"Claudie is given more":        {state("claudie", "one"), provision.Rollout{Phase: provision.Contract}, state("claudie", "one", "two"), merge + "; " + report},
		"Claudie waits until detached": {state("claudie", "one", "two"), provision.Rollout{Phase: provision.Switch}, state("claudie", "one"), report},
	} {
		test.is.Rollout = &test.rollout
		rendered := map[string]clusterfiles.RenderedManifest{"fleet/edge": {State: test.is, Carriers: []clusterfiles.Carrier{{Namespace: "flux-system", Kustomizations: []string{"a", "b"}}}}}
		rollout := newManifestRollout(m, test.desired, rendered)
		if got := strings.Join(rollout.Waits, "; "); got != test.want {
			t.Errorf("%s: it waits until %q, want %q", name, got, test.want)
		}
		for by, want := range map[string]string{"hub": strings.ReplaceAll(test.want, report, merge+": cluster hub has reported what comes before it; the daemon proposes it if it is not open yet"), "another": test.want} {
			reported, all := *rollout, componentStatuses{}
			reported.Waits = slices.Clone(rollout.Waits)
			for _, object := range []string{"a", "b"} {
				all[componentKey{"dev", "flux-system", object}] = stackview.Status{Status: stackview.Ready, Cluster: by}
			}
			reported.addReports(all)
			if got := strings.Join(reported.Waits, "; "); got != want {
				t.Errorf("%s, reported by %s: it waits until %q, want %q", name, by, got, want)
			}
		}
	}
}

// TestRolloutIsSettledOnceReported: what the output has is settled once clusters report all of it as ready, and waits for
// that until then.
func TestRolloutIsSettledOnceReported(t *testing.T) {
	state := provision.State{Namespace: "fleet", Name: "edge", Executor: "tofu"}
	m := &model.Model{Environment: "dev"}
	is := clusterfiles.RenderedManifest{State: state, Carriers: []clusterfiles.Carrier{{Namespace: "flux-system", Kustomizations: []string{"a"}}}}
	is.Parts.Namespace, is.Parts.Components = "fleet", []stackfiles.ComponentSummary{{Name: "k8s", Object: "edge-k8s", Approval: "auto"}}
	carrier, part := componentKey{"dev", "flux-system", "a"}, componentKey{"dev", "fleet", "edge-k8s"}
	reported := func(of, parts string) componentStatuses {
		return componentStatuses{carrier: {Status: of}, part: {Status: parts}}
	}
	for name, test := range map[string]struct {
		statuses componentStatuses
		state    string
		waits    int
	}{
		"no ledger":           {nil, rolloutInOutput, 1},
		"nothing reports":     {componentStatuses{}, rolloutInOutput, 1},
		"it progresses":       {reported(stackview.Progressing, stackview.Ready), rolloutInOutput, 1},
		"a part waits":        {reported(stackview.Ready, stackview.Waits), rolloutInOutput, 1},
		"all of it is ready":  {reported(stackview.Ready, stackview.Ready), rolloutSettled, 0},
		"a part is destroyed": {reported(stackview.Ready, stackview.Destroyed), rolloutSettled, 0},
	} {
		r := newManifestRollout(m, state, map[string]clusterfiles.RenderedManifest{"fleet/edge": is})
		r.addReports(test.statuses)
		if r.State != test.state || len(r.Waits) != test.waits {
			t.Errorf("%s: it is %s, and waits until %q", name, r.State, r.Waits)
		}
	}
}
