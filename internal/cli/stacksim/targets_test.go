package stacksim

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/render/output"
	"github.com/fairlead-io/fairlead/templates"
)

const targetsText = `apiVersion: scheduler.kalypso.io/v1alpha1
kind: ClusterType
metadata: {name: cloud}
spec: {reconciler: tofu, namespaceService: default, configType: helm-values}
---
apiVersion: scheduler.kalypso.io/v1alpha1
kind: SchedulingPolicy
metadata: {name: all}
spec: {clusterTypeSelector: {labelSelector: {}}, deploymentTargetSelector: {labelSelector: {}}}
---
apiVersion: scheduler.kalypso.io/v1alpha1
kind: GitOpsRepo
metadata: {name: dev}
spec: {repo: "https://example.com/gitops", branch: dev, path: .}
---
`

// renderTargets returns the output of an environment with workloads, each with one target: "name after manifests".
func renderTargets(t *testing.T, workloads ...[3]string) tree.Tree {
	t.Helper()
	text := targetsText
	for _, w := range workloads {
		text += "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: Workload\nmetadata: {name: " + w[0] + ", annotations: {fairlead.io/depends-on: '" + w[1] + "'}}\n" +
			"spec: {deploymentTargets: [{name: x, environment: dev, manifests: {repo: 'https://example.com/a', " + w[2] + "}}]}\n---\n"
	}
	m, problems := model.Parse("dev",
		model.Layer{Kind: model.Env, Name: "dev", Files: tree.FromEntries([]tree.Entry{tree.File("a.yaml", []byte(strings.ReplaceAll(text, ", annotations: {fairlead.io/depends-on: ''}", "")))})},
		model.Layer{Kind: model.BuiltIn, Name: "built-in", Files: templates.Files()})
	rendered, more := output.Render(m, nil, output.Options{})
	if problems = append(problems, more...); problems.Stops() {
		t.Fatal(problems)
	}
	return rendered
}

// TestTargets: deployment targets of the reconciler "tofu" run in their order, with plans that wait for approval, and
// all that are removed go at the same time: only what is to be destroyed then is.
func TestTargets(t *testing.T) {
	c := newCluster(Options{Repository: "/srv/gitops.git", Environment: "dev", Cluster: "one", Folder: t.TempDir(), Pace: time.Second, Patience: 2 * time.Second, CancelsChecks: true})
	at := noon
	run := func(head string, o tree.Tree) (events []string) {
		t.Helper()
		for range 30 {
			at = at.Add(time.Second)
			err := c.reconcile(strings.Repeat(head, 40), o, at, func(string, string) (module, error) { t.Error("it reads a root module"); return module{}, nil })
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, e := range c.events {
			events = append(events, e.Component+" "+e.Message)
		}
		c.events = nil
		return events
	}
	net, app := [3]string{"net", "", "module: ./net, tag: v1, approve: auto, onDelete: destroy"}, [3]string{"app", "web", "path: ./app, branch: main"}
	web := [3]string{"web", "eks", "chart: web, version: '1'"}
	eks := func(more string) [3]string { return [3]string{"eks", "net", "module: ./eks, branch: main" + more} }
	for i, step := range []struct {
		output tree.Tree
		want   []string
	}{
		{renderTargets(t, net, eks(""), web, app), []string{"net-x is applied", "eks-x waits for the approval of plan-main-cbed815e4a, which is to apply"}},
		{renderTargets(t, net, eks(", approve: auto"), web, app), []string{"eks-x is applied", "web-x is installed"}},
		{renderTargets(t, net, eks(", approve: auto, commit: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"), web, app), []string{"eks-x is applied"}},
		{renderTargets(t, [3]string{"app", "", app[2]}), []string{"web-x is uninstalled", "net-x is destroyed"}},
	} {
		if diff := cmp.Diff(step.want, run(string(rune('1'+i)), step.output)); diff != "" {
			t.Errorf("step %d (-want +got):\n%s", i, diff)
		}
		if i == 0 {
			checkTargets(t, c, at)
		}
	}
	if len(c.terraforms) > 0 {
		t.Errorf("these stay: %v", c.terraforms)
	}
}

// checkTargets checks what an agent reads while the plan of eks waits.
func checkTargets(t *testing.T, c *cluster, now time.Time) {
	t.Helper()
	state, err := c.readState(now)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, e := range state.Entries() {
		got[e.ObjectName()] = e.Phase
	}
	want := map[string]string{
		"GitRepository/flux-system/fleet": "ready", "Kustomization/flux-system/stacks": "ready", "Kustomization/flux-system/cloud": "progressing",
		"Kustomization/flux-system/net-x": "ready", "GitRepository/dev-cloud-net-x/net-x": "ready", "Terraform/dev-cloud-net-x/net-x": "ready",
		"Kustomization/flux-system/eks-x": "waiting", "GitRepository/dev-cloud-eks-x/eks-x": "ready", "Terraform/dev-cloud-eks-x/eks-x": "waiting",
		"Kustomization/flux-system/web-x": "progressing", "Kustomization/flux-system/app-x": "progressing",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("reported (-want +got):\n%s", diff)
	}
}
