package daemon_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/promotion/rollout"
	"github.com/fairlead-io/fairlead/internal/reconcile/observe"
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

// TestGiteaClusters makes three clusters on a real Gitea, gives them another control pool, and decommissions
// one in two pull requests, with a daemon that begins anew, and knows nothing but reports, before each.
func TestGiteaClusters(t *testing.T) {
	f := newFlow(t, nil, "dev")
	file := filepath.Join(t.TempDir(), "reports")
	now := time.Now()
	head := func() string {
		id, _, _ := strings.Cut(gittest.Git(t, t.TempDir(), "ls-remote", f.server.Remote(f.out), "refs/heads/dev"), "\t")
		return id
	}
	output := func() string {
		dir := filepath.Join(t.TempDir(), "out")
		gittest.Git(t, t.TempDir(), "clone", "-q", "--branch", "dev", f.server.Remote(f.out), dir)
		return gittest.Git(t, dir, "ls-tree", "-r", "--name-only", "HEAD", "clusters") + "\n" + gittest.Git(t, dir, "show", "HEAD:clusters/claudie/fleet-edge/lock.yaml")
	}
	report := func(phase rollout.Phase) {
		inbox, err := observe.NewInbox(file)
		must(t, err)
		now = now.Add(time.Minute)
		_, err = inbox.Add(observe.Event{
			Cluster: "management", Environment: "dev", Object: "Kustomization/flux-system/im-fleet-edge-20-inputmanifest",
			Branch: "dev", Commit: head(), Phase: phase, When: now,
		})
		must(t, err)
	}
	write := func(text string) {
		dir := filepath.Join(t.TempDir(), "cp")
		gittest.Git(t, t.TempDir(), "clone", "-q", "--branch", "dev", f.server.Remote(f.cp), dir)
		must(t, os.MkdirAll(filepath.Join(dir, "clusters"), 0o755))
		must(t, os.WriteFile(filepath.Join(dir, "clusters", "edge.yaml"), []byte(text), 0o600))
		gittest.Git(t, dir, "add", "-A")
		gittest.Git(t, dir, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qm", "clusters")
		gittest.Git(t, dir, "push", "-q", "origin", "dev")
	}
	merge := func(what string) {
		t.Helper()
		c := f.newCycler(f.server.URL, file)
		c.cycles(1)
		e, _ := c.store.Snapshot().FindEnvironment("dev")
		if e.Pull == nil {
			t.Fatalf("dev is %s: %s, %v", e.State, e.Reason, e.Problems)
		}
		if pull, err := f.client(f.out).Pulls(t.Context(), "fairlead/dev", "dev"); err != nil || len(pull) == 0 || !strings.Contains(pull[0].Body, what) {
			t.Errorf("the pull request does not say %q: %v, %+v", what, err, pull)
		}
		c.merge("dev")
	}
	quiet := func(what string) {
		t.Helper()
		c := f.newCycler(f.server.URL, file)
		c.cycles(2)
		if e, _ := c.store.Snapshot().FindEnvironment("dev"); e.Pull != nil {
			t.Errorf("%s, and pull request %d is open", what, e.Pull.Number)
		}
	}
	write(giteaManifest)
	merge("create the machines of control pool control")
	swapped := strings.NewReplacer("{name: control, ", "{name: control-v2, ", "cpx22", "cpx32", "[control]", "[control-v2]").Replace(giteaManifest)
	write(swapped)
	merge("drain and remove nodes of control pool control")
	report(rollout.Ready)
	lines := strings.SplitAfter(swapped, "\n")
	write(strings.Replace(strings.Join(lines[:len(lines)-2], ""), "annotations: {", "annotations: {fairlead.io/decommission: \"true\", ", 1))
	merge("This is the first of two changes.")
	quiet("what was reported before is not the removal")
	if all := output(); !strings.Contains(all, "30-kubeconfigs/three.yaml") || !strings.Contains(all, "rollout:") {
		t.Errorf("the kubeconfig is gone before the cluster:\n%s", all)
	}
	report(rollout.Progressing)
	quiet("the cluster is being destroyed")
	report(rollout.Ready)
	merge("This is the last change of those that began with the phase contract.")
	if all := output(); strings.Contains(all, "three") || !strings.Contains(all, "30-kubeconfigs/two.yaml") {
		t.Errorf("in the end the output has\n%s", all)
	}
	quiet("it is done")
}
