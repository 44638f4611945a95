package fluxsim

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/promotion/rollout"
	"github.com/fairlead-io/fairlead/internal/reconcile/observe"
	"github.com/fairlead-io/fairlead/internal/server/webhook"
	"github.com/fairlead-io/fairlead/internal/testkit/gittest"
)

var noon = time.Date(2026, time.November, 23, 12, 0, 0, 0, time.UTC)

const podinfo = "https://github.com/stefanprodan/podinfo"

// newObjects returns objects whose names are "Kind/namespace/name=content"; the content of a
// GitRepository is the branch that it fetches.
func newObjects(texts ...string) objects {
	all := objects{}
	for _, text := range texts {
		name, content, _ := strings.Cut(text, "=")
		o := object{digest: tree.HashBlob([]byte(content))}
		if strings.HasPrefix(name, "GitRepository/") {
			o.source, o.ref.branch = podinfo, content
		}
		all[name] = o
	}
	return all
}

// TestReconcile: a cluster reports what Flux reports, and nothing before it is so.
func TestReconcile(t *testing.T) {
	config, good, bad := "ConfigMap/apps/config=1", "GitRepository/flux-system/app=master", "GitRepository/flux-system/app=mastre"
	type round struct {
		after  int // seconds since the beginning
		head   string
		folder objects // nil for none
		want   []string
	}
	for _, test := range []struct {
		name   string
		rounds []round
	}{
		{"a cluster joins when its folder is there", []round{
			{0, "a", nil, nil},
			{90, "a", nil, nil},
			{91, "b", newObjects(config), []string{"applied: ConfigMap/apps/config created"}},
			{93, "b", newObjects(config), nil},
			{95, "b", newObjects(config), []string{"healthy: Health check passed in 4s", "finished: Reconciliation finished in 4s, next run in 1m0s"}},
			{96, "b", newObjects(config), nil},
			{155, "b", newObjects(config), []string{"finished: Reconciliation finished in 0s, next run in 1m0s"}},
		}},
		{"objects are configured and deleted", []round{
			{0, "a", newObjects(config, good), []string{"applied: ConfigMap/apps/config created\nGitRepository/flux-system/app created"}},
			{4, "a", nil, []string{"healthy: Health check passed in 4s", "finished: Reconciliation finished in 4s, next run in 1m0s"}},
			{5, "b", newObjects("ConfigMap/apps/config=2"), []string{"applied: ConfigMap/apps/config configured\nGitRepository/flux-system/app deleted"}},
			{6, "c", newObjects(config), nil}, // the health check of the one before is ended first
			{9, "c", newObjects(config), []string{"healthy: Health check passed in 4s", "finished: Reconciliation finished in 4s, next run in 1m0s", "applied: ConfigMap/apps/config configured"}},
			{12, "c", nil, nil},
			{13, "c", nil, []string{"healthy: Health check passed in 4s", "finished: Reconciliation finished in 4s, next run in 1m0s"}},
			{14, "d", newObjects(config), nil},
			{18, "d", nil, []string{"finished: Reconciliation finished in 4s, next run in 1m0s"}}, // nothing has changed
		}},
		{"a branch that does not exist fails until it is mended", []round{
			{0, "a", newObjects(bad), []string{"applied: GitRepository/flux-system/app created"}},
			{4, "a", nil, []string{`failed: health check failed after 4s: failed early due to stalled resources: [GitRepository/flux-system/app status: 'Failed': couldn't find remote ref "refs/heads/mastre"]`}},
			{63, "a", nil, nil},
			{64, "a", nil, []string{`failed: health check failed after 0s: failed early due to stalled resources: [GitRepository/flux-system/app status: 'Failed': couldn't find remote ref "refs/heads/mastre"]`}},
			{65, "b", newObjects(good), []string{"applied: GitRepository/flux-system/app configured"}},
			{69, "b", nil, []string{"healthy: Health check passed in 4s", "finished: Reconciliation finished in 4s, next run in 1m0s"}},
		}},
		{"a folder that has left is never ready", []round{
			{0, "a", newObjects(config), []string{"applied: ConfigMap/apps/config created"}},
			{4, "b", nil, []string{"healthy: Health check passed in 4s", "finished: Reconciliation finished in 4s, next run in 1m0s", "failed: kustomization path not found: stat /tmp/kustomization/cloud: no such file or directory"}},
			{8, "b", nil, nil},
			{64, "b", nil, []string{"failed: kustomization path not found: stat /tmp/kustomization/cloud: no such file or directory"}},
			{65, "c", newObjects(config), nil},
			{69, "c", nil, []string{"finished: Reconciliation finished in 4s, next run in 1m0s"}},
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := &cluster{
				Cluster: Cluster{"dev-cloud", "dev", "cloud"},
				options: Options{Rollout: 4 * time.Second, Sources: map[string]Source{podinfo: {Branches: []string{"master"}}}},
			}
			for _, r := range test.rounds {
				c.unsent = nil
				err := c.reconcile(r.head, noon.Add(time.Duration(r.after)*time.Second), func() (objects, error) { return r.folder, nil })
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for i, e := range c.unsent {
					if i == len(c.unsent)-1 && e.Commit != r.head {
						t.Errorf("after %ds: an event is about %s", r.after, e.Commit)
					}
					got = append(got, string(e.Phase)+": "+e.Message)
				}
				if diff := cmp.Diff(r.want, got); diff != "" {
					t.Fatalf("after %ds (-want +got):\n%s", r.after, diff)
				}
			}
		})
	}
}

// TestFindFailure: a source is fetched at a branch, a tag, a range of tags or a commit, of which the most exact wins.
func TestFindFailure(t *testing.T) {
	source := Source{Branches: []string{"master"}, Tags: []string{"latest", "6.8.0", "6.9.0"}}
	for r, fetched := range map[ref]bool{
		{branch: "master"}: true, {branch: "6.9.0"}: false, {}: false,
		{tag: "6.9.0"}: true, {tag: "6.10.0"}: false, {tag: "master"}: false, {branch: "mastre", tag: "6.9.0"}: true, {branch: "master", tag: "7.0.0"}: false,
		{semver: ">=6.0.0 <7.0.0"}: true, {semver: ">=7.0.0"}: false, {semver: "x y"}: false, {tag: "7.0.0", semver: "6.9.x"}: true,
		{commit: "0a"}: true, {branch: "mastre", semver: ">=7.0.0", commit: "0a"}: true,
	} {
		if why := source.findFailure(r); (why == "") != fetched {
			t.Errorf("%+v: %q", r, why)
		}
	}
}

// TestRun: what a cluster pulls from a real repository, the daemon's own receiver takes for reports of
// Flux, once it is signed with the key of the cluster.
func TestRun(t *testing.T) {
	git := gittest.Serve(t)
	git.Create("gitops")
	work := git.Work(t, "gitops")
	work.Write("cloud/app/reconciler.yaml", "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: app, namespace: flux-system}\n"+
		"spec:\n  url: "+podinfo+"\n  ref: {branch: mastre}\n")
	work.Write("cloud/README.md", "not applied: {")
	broken := work.Commit("broken")
	work.Push("HEAD:refs/heads/dev")

	events := make(chan observe.Event, 10)
	receiver := webhook.New(webhook.Options{
		Secrets: func(string) ([]string, error) { return nil, nil }, ClusterKeys: func(cluster string, _ time.Time) ([]string, error) { return []string{"key of " + cluster}, nil }, Known: func(string) bool { return false },
		Wake: func(webhook.Event) {}, Report: func(e observe.Event) (bool, error) { events <- e; return true, nil }, Now: time.Now,
	})
	server := httptest.NewServer(receiver)
	defer server.Close()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	accepted := make(chan Event, 10)
	start := func() {
		defer close(ended)
		Run(ctx, Options{
			Repository: git.Dir("gitops"), Clusters: []Cluster{{"dev-cloud", "dev", "cloud"}, {"prod-cloud", "prod", "cloud"}},
			Server: server.URL, Keys: map[string]string{"dev-cloud": "key of dev-cloud", "prod-cloud": "key of dev-cloud"}, Interval: time.Millisecond,
			Sources: map[string]Source{podinfo: {Branches: []string{"master"}}}, Reported: func(e Event) { accepted <- e },
		})
	}
	go start()
	expect := func(commit string, phase rollout.Phase, message string) {
		t.Helper()
		e := <-events
		want := observe.Event{
			Cluster: "dev-cloud", Proven: true, Environment: "dev", ClusterType: "cloud", Object: "Kustomization/flux-system/fleet", UID: fmt.Sprintf("%x", "dev-cloud"), Branch: "dev", Commit: commit, Phase: phase, Message: message,
			When: e.When,
		}
		e.Message, _, _ = strings.Cut(e.Message, " after ")
		e.Message, _, _ = strings.Cut(e.Message, " in ")
		if diff := cmp.Diff(want, e, cmp.AllowUnexported(ledger.Membership{})); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		if got := <-accepted; got.Name != "dev-cloud" || got.Commit != commit {
			t.Errorf("accepted is %+v", got)
		}
	}
	expect(broken, rollout.Progressing, "GitRepository/flux-system/app created")
	expect(broken, rollout.Failed, "health check failed")
	work.Remove("cloud/app")
	work.Write("cloud/app/namespace.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: app}\n")
	mended := work.Commit("mended")
	work.Push("HEAD:refs/heads/dev")
	expect(mended, rollout.Progressing, "Namespace/app created GitRepository/flux-system/app deleted")
	expect(mended, rollout.Ready, "Health check passed")
	expect(mended, rollout.Ready, "Reconciliation finished")
	stop()
	<-ended
}
