package daemon_test

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/promotion/rollout"
	"github.com/fairlead-io/fairlead/internal/reconcile/observe"
	"github.com/fairlead-io/fairlead/internal/reconcile/recorder"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

const giteaManifest = `apiVersion: claudie.io/v1beta1
kind: InputManifest
metadata:
  name: edge
  namespace: fleet
  annotations: {fairlead.io/existing-secrets: fleet/hetzner}
spec:
  providers:
    - {name: hetzner-1, providerType: hetzner, secretRef: {name: hetzner, namespace: fleet}}
  nodePools:
    dynamic:
      - {name: control, providerSpec: {name: hetzner-1, region: hel1}, count: 3, serverType: cpx22, image: ubuntu-24.04}
  kubernetes:
    clusters:
      - {name: one, version: 1.36.0, network: 192.168.2.0/24, pools: {control: [control], compute: []}}
      - {name: two, version: 1.36.0, network: 192.168.3.0/24, pools: {control: [control], compute: []}}
      - {name: three, version: 1.36.0, network: 192.168.4.0/24, pools: {control: [control], compute: []}}
`

// giteaBinding is of which cluster types two of the clusters are.
const giteaBinding = `apiVersion: fairlead.io/v1alpha1
kind: ClusterBinding
metadata: {name: edge}
spec:
  inputManifest: {name: edge, namespace: fleet}
  clusters:
    - {name: two, clusterType: cloud}
    - {name: three, clusterType: edge, values: {REGION: hel1}}
`

// giteaSettings names the cluster whose reports count.
const giteaSettings = "apiVersion: fairlead.io/v1alpha1\nkind: StackSettings\nmetadata: {name: clusters}\nspec: {managementCluster: management}\n"

// giteaFleet is a control plane on a real Gitea whose clusters change.
type giteaFleet struct {
	*flow
	reports string // a file with what clusters have reported
	now     time.Time
	kills   bool
	steps   []string // before which changes a daemon was killed
	seen    []string // what people see
}

// TestGiteaClusters makes three clusters on a real Gitea, gives them another control pool, and decommissions
// one in three pull requests, of which the first detaches it from its cluster type, with a daemon that begins anew, and knows nothing but reports, before each. Where
// it is killed at each step, people see the same.
func TestGiteaClusters(t *testing.T) {
	seen := map[bool][]string{}
	t.Run("lives", func(t *testing.T) {
		var mu sync.Mutex
		for name, kills := range map[string]bool{"undisturbed": false, "killed at each step": true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				g := &giteaFleet{flow: newFlow(t, nil, "dev"), reports: filepath.Join(t.TempDir(), "reports"), now: time.Now(), kills: kills}
				g.changeClusters()
				if kills && (len(g.steps) < 16 || !slices.Contains(g.steps, "open the pull request") || !slices.Contains(g.steps, "push our branch")) {
					t.Errorf("it was killed at the steps %q", g.steps)
				}
				mu.Lock()
				defer mu.Unlock()
				seen[kills] = g.seen
			})
		}
	})
	if diff := cmp.Diff(seen[false], seen[true]); diff != "" {
		t.Errorf("killed at each step, people see other things (-undisturbed +killed):\n%s", diff)
	}
}

// changeClusters makes the clusters, and changes them.
func (g *giteaFleet) changeClusters() {
	g.Helper()
	g.write(giteaManifest, giteaBinding)
	g.merge("create the machines of control pool control")
	swapped := strings.NewReplacer("{name: control, ", "{name: control-v2, ", "cpx22", "cpx32", "[control]", "[control-v2]").Replace(giteaManifest)
	if flux := g.output(); !strings.Contains(flux, "name: im-fleet-edge-40-three\n") || !strings.Contains(flux, "REGION: hel1") {
		g.Errorf("the cluster is not attached to its type:\n%s", flux)
	}
	g.write(swapped, giteaBinding)
	g.merge("drain and remove nodes of control pool control")
	g.report("20-inputmanifest", rollout.Ready)
	lines := strings.SplitAfter(swapped, "\n")
	g.write(strings.Replace(strings.Join(lines[:len(lines)-2], ""), "annotations: {", "annotations: {fairlead.io/decommission: \"true\", ", 1), strings.Replace(giteaBinding, "    - {name: three, clusterType: edge, values: {REGION: hel1}}\n", "", 1))
	g.merge("This is the first of three changes: Flux removes what runs on `three`")
	g.report("40-three", rollout.Ready)
	g.merge("This is the second of three changes.")
	if all := g.output(); !strings.Contains(all, "30-kubeconfigs/three.yaml") || !strings.Contains(all, "rollout:") {
		g.Errorf("the kubeconfig is gone before the cluster:\n%s", all)
	}
	g.report("20-inputmanifest", rollout.Progressing)
	g.quiet("the cluster is being destroyed")
	g.report("20-inputmanifest", rollout.Ready)
	g.merge("This is the last change of those that began with the phase contract.")
	if all := g.output(); strings.Contains(all, "three") || !strings.Contains(all, "30-kubeconfigs/two.yaml") {
		g.Errorf("in the end the output has\n%s", all)
	}
	g.quiet("it is done")
}

// head returns the head of the output branch.
func (g *giteaFleet) head() string {
	id, _, _ := strings.Cut(gittest.Git(g, g.TempDir(), "ls-remote", g.server.Remote(g.out), "refs/heads/dev"), "\t")
	return id
}

// output returns the files of clusters on the output branch with their ids, the lock, and the objects of Flux.
func (g *giteaFleet) output() string {
	dir := filepath.Join(g.TempDir(), "out")
	gittest.Git(g, g.TempDir(), "clone", "-q", "--branch", "dev", g.server.Remote(g.out), dir)
	return gittest.Git(g, dir, "ls-tree", "-r", "HEAD", "clusters") + "\n" + gittest.Git(g, dir, "show", "HEAD:clusters/claudie/fleet-edge/lock.yaml") + "\n" + gittest.Git(g, dir, "show", "HEAD:clusters/claudie/fleet-edge/flux.yaml")
}

// report has the management cluster report how far it is with a step of the manifest.
func (g *giteaFleet) report(step string, phase rollout.Phase) {
	g.now = g.now.Add(time.Minute)
	known := recorder.Open(g.Context(), recorder.Options{Path: g.reports, Now: func() time.Time { return g.now }, Logger: slog.New(slog.DiscardHandler)})
	_, err := known.Add(observe.Event{
		Cluster: "management", Environment: "dev", Object: "Kustomization/flux-system/im-fleet-edge-" + step,
		Branch: "dev", Commit: g.head(), Phase: phase, When: g.now,
	})
	must(g.T, errors.Join(err, known.Close()))
}

// write has a person push the manifest, and of which types its clusters are.
func (g *giteaFleet) write(text, binding string) {
	dir := filepath.Join(g.TempDir(), "cp")
	gittest.Git(g, g.TempDir(), "clone", "-q", "--branch", "dev", g.server.Remote(g.cp), dir)
	must(g.T, os.MkdirAll(filepath.Join(dir, "clusters"), 0o755))
	must(g.T, os.WriteFile(filepath.Join(dir, "clusters", "edge.yaml"), []byte(text), 0o600))
	must(g.T, os.WriteFile(filepath.Join(dir, "clusters", "binding.yaml"), []byte(binding), 0o600))
	must(g.T, os.WriteFile(filepath.Join(dir, "clusters", "settings.yaml"), []byte(giteaSettings), 0o600))
	gittest.Git(g, dir, "add", "-A")
	gittest.Git(g, dir, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qm", "clusters")
	gittest.Git(g, dir, "push", "-q", "origin", "dev")
}

// live runs cycles of a daemon that begins anew, after those that were killed.
func (g *giteaFleet) live(cycles int) *cycler {
	g.Helper()
	if g.kills {
		g.steps = append(g.steps, g.killAtEveryStep(g.reports, g.now)...)
	}
	c := g.newCycler(g.server.URL, g.reports)
	c.cycles(cycles)
	return c
}

// merge has a daemon propose something, and a person merge it, and checks what the pull request says.
func (g *giteaFleet) merge(what string) {
	g.Helper()
	c := g.live(1)
	e, _ := c.store.Snapshot().FindEnvironment("dev")
	if e.Pull == nil {
		g.Fatalf("dev is %s: %s, %v", e.State, e.Reason, e.Problems)
	}
	pulls, err := g.client(g.out).Pulls(g.Context(), "fairlead/dev", "dev")
	must(g.T, err)
	for _, p := range pulls {
		if p.State != forge.Open {
			continue
		}
		if !strings.Contains(p.Body, what) {
			g.Errorf("the pull request does not say %q: %s", what, p.Body)
		}
		g.seen = append(g.seen, p.Title)
	}
	c.merge("dev")
	g.seen = append(g.seen, g.output())
}

// quiet checks that a daemon proposes nothing.
func (g *giteaFleet) quiet(what string) {
	g.Helper()
	c := g.live(2)
	if e, _ := c.store.Snapshot().FindEnvironment("dev"); e.Pull != nil {
		g.Errorf("%s, and pull request %d is open", what, e.Pull.Number)
	}
	g.seen = append(g.seen, g.output())
}
