package recorder_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/reconcile/wanted"
)

// descriptor returns a DeploymentDescriptor of Kalypso.
func descriptor(workload, target, environment, version string) string {
	return fmt.Sprintf(`apiVersion: hub.kalypso.io/v1alpha1
kind: DeploymentDescriptor
metadata: {name: d}
spec:
  workload: {name: %s, source: {repo: r, branch: main, path: ./}, application: {name: a, workspace: {name: w}}}
  deploymentTarget: {name: %s, environment: %s, manifests: {repo: r, branch: dev, path: ./}}
  workloadVersion: {version: %s, build: "17", commit: c0ffee, buildTime: "2026-11-01T10:00:00Z"}
`, workload, target, environment, version)
}

// TestVersions: a commit that clusters report is called what the DeploymentDescriptors there say for the
// target and the environment, if its repository is read.
func TestVersions(t *testing.T) {
	onBothEngines(t, "", func(t *testing.T, newStore func(*testing.T) testStore) {
		o := newOutputs(t, false)
		o.server.Create("api")
		work := o.server.Work(t, "api")
		work.Switch("main")
		work.Write("deploy/d.yaml", "kind: ConfigMap\n---\n"+descriptor("shop", "api", "prod", "1.4.1"))
		work.Write("aaa/other.yaml", descriptor("shop", "api", "dev", "9.9.9"))
		work.Write("aaa/elsewhere.yaml", descriptor("shop", "api", "prod", "8.8.8"))
		first := work.Commit("first")
		work.Write("deploy/d.yaml", descriptor("shop", "other", "prod", "1.4.2"))
		second := work.Commit("second")
		work.Remove("aaa/elsewhere.yaml")
		third := work.Commit("third")
		work.Push("main")
		o.work.Write("prod/large/shop-api/reconciler.yaml", strings.ReplaceAll(reconciler("api", "main", ""), "https://user:hidden@example.com/api", o.server.URL("api")))
		o.commit("11:00", nil)

		api, err := git.NewRemote(git.RemoteOptions{URL: o.server.URL("api"), Dir: t.TempDir() + "/api"})
		if err != nil {
			t.Fatal(err)
		}
		o.sync(api)
		r := newRig(t, newStore)
		r.open()
		b := o.branch()
		b.FindRemote = func(url string) *git.Remote {
			if url == o.server.URL("api") {
				return api
			}
			return nil
		}
		names := map[string]string{first: "first", second: "second", third: "third"}
		for _, commit := range []string{first, second, third, strings.Repeat("7", 40)} {
			r.now = r.now.Add(2 * time.Minute)
			c := ledger.Contact{Name: "e1", Group: ledger.Group{Environment: "prod", ClusterType: "large"}, Every: time.Minute, Received: r.now}
			r.recorder.Receive(c, []ledger.Report{{Object: ledger.Object{Name: "Kustomization/flux-system/api"}, Phase: ledger.Ready, Target: "main@sha1:" + commit, Said: r.now}})
			if err := r.recorder.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			r.recorder.TellOutputs([]wanted.Branch{b})
			r.recorder.RecordToldOutputs(t.Context())
		}
		got := ask(r.store, "select sha || ' ' || path || ' ' || version || ' ' || build || ' ' || source_sha || ' ' || built from version")
		for i := range got {
			for sha, name := range names {
				got[i] = strings.ReplaceAll(got[i], sha, name)
			}
		}
		slices.Sort(got)
		want := []string{"first ./deploy 1.4.1 17 c0ffee 1793527200", "second ./deploy 8.8.8 17 c0ffee 1793527200"}
		if diff := cmp.Diff(want, got); diff != "" || r.log.Len() > 0 {
			t.Errorf("stored is (-want +got):\n%s\n%s", diff, &r.log)
		}
	})
}
