package stacksim

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/render/tfobject"
	"github.com/fairlead-io/fairlead/internal/render/tfplan"
)

var noon = time.Date(2026, time.November, 23, 12, 0, 0, 0, time.UTC)

// component is a component as the output has it.
type component struct {
	name    string
	after   string // another one that it needs
	commit  string // a letter that is repeated: of its root module
	approve string // approvePlan
	destroy bool
	chart   bool // a HelmRelease that needs the output "address" of db
}

const kustomizationText = `apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: %[1]s, namespace: shop, labels: {fairlead.io/team: shop, fairlead.io/stack: dev, fairlead.io/component: %[1]s}}
spec: {sourceRef: {kind: GitRepository, name: fleet, namespace: flux-system}, path: ./environments/shop/dev/%[1]s/objects, components: [../seal-%[3]s], dependsOn: [%[2]s], wait: true, interval: 10m, retryInterval: 1m, timeout: 1m, healthCheckExprs: [%[4]s]}
`

const terraformText = `apiVersion: infra.contrib.fluxcd.io/v1alpha2
kind: Terraform
metadata: {name: %[1]s, namespace: shop, labels: {fairlead.io/team: shop, fairlead.io/stack: dev, fairlead.io/component: %[1]s}}
spec: {approvePlan: %[3]q, destroy: %[4]t, sourceRef: {kind: GitRepository, name: %[1]s}, writeOutputsToSecret: {name: %[1]s-outputs, outputs: [address]}}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: %[1]s, namespace: shop}
spec: {url: "https://git.example.com/gitops", ref: {branch: modules, commit: %[2]s}}
`

const releaseText = `apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: %[1]s, namespace: shop, labels: {fairlead.io/team: shop, fairlead.io/stack: dev, fairlead.io/component: %[1]s}}
spec: {valuesFrom: [{kind: Secret, name: db-outputs, valuesKey: address}]}
`

const uninstallText = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: %[1]s, namespace: shop}\nspec: {}\n"

// newOutput returns an output with components.
func newOutput(t *testing.T, all []component) tree.Tree {
	t.Helper()
	var b tree.Builder
	for _, c := range all {
		folder := "environments/shop/dev/" + c.name + "/"
		after := ""
		if c.after != "" {
			after = "{name: " + c.after + "}"
		}
		text := fmt.Sprintf(terraformText, c.name, strings.Repeat(c.commit, 40), c.approve, c.destroy)
		health := tfobject.Health(strings.Repeat(c.commit, 40))
		checks, err := json.Marshal(map[string]string{"apiVersion": health.APIVersion, "kind": health.Kind, "failed": health.Failed, "inProgress": health.InProgress, "current": health.Current})
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case c.chart && c.destroy:
			text = fmt.Sprintf(uninstallText, c.name)
		case c.chart:
			text = fmt.Sprintf(releaseText, c.name)
		}
		seal := tree.HashBlob([]byte(after + text)).String()[:10]
		for file, content := range map[string]string{"flux-kustomization.yaml": fmt.Sprintf(kustomizationText, c.name, after, seal, checks), "objects/all.yaml": text, "seal-" + seal + "/kustomization.yaml": "kind: Component\n"} {
			if err := b.Add(folder+file, []byte(content)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return b.Tree()
}

// planOf returns the id of the plan of a root module at a commit.
func planOf(commit string) string { return "plan-modules-" + strings.Repeat(commit, 10) }

// TestReconcile: components begin in their order, and no plan is applied but the one that is approved.
func TestReconcile(t *testing.T) {
	const apply, destroy = "waits for the approval of plan-modules-%s, which is to apply", "is to be destroyed, and waits for the approval of plan-modules-%s, which is to destroy"
	const again = "waits again for the approval of plan-modules-%s, which is to apply"
	waits := func(name, text, commit string) string {
		return name + " " + fmt.Sprintf(text, strings.Repeat(commit, 10))
	}
	type step struct {
		output []component
		drift  string // of db, from now on
		want   []string
	}
	for _, test := range []struct {
		name  string
		steps []step
	}{
		{"in order, each after what it needs", []step{
			{[]component{{name: "db", commit: "a", approve: "auto"}, {name: "web", after: "db", chart: true}}, "", []string{"db is applied", "web is installed"}},
		}},
		{"what needs a component waits with it", []step{
			{[]component{{name: "db", commit: "a"}, {name: "web", after: "db", chart: true}}, "", []string{waits("db", apply, "a")}},
			{[]component{{name: "db", commit: "a", approve: planOf("a")}, {name: "web", after: "db", chart: true}}, "", []string{"db is applied", "web is installed"}},
		}},
		{"an approval of another plan counts for nothing", []step{
			{[]component{{name: "db", commit: "a", approve: planOf("b")}}, "", []string{waits("db", apply, "a")}},
			{[]component{{name: "db", commit: "b", approve: planOf("c")}}, "", []string{waits("db", apply, "b")}},
			{[]component{{name: "db", commit: "b", approve: planOf("b")}}, "", []string{"db is applied"}},
			{[]component{{name: "db", commit: "b"}}, "", nil},
		}},
		{"an object that changes before its source is looked at with the old one, as in tofu-controller", []step{
			{[]component{{name: "db", commit: "a"}}, "", []string{waits("db", apply, "a")}},
			{[]component{{name: "db", commit: "b", approve: planOf("a")}}, "", []string{"db is applied", waits("db", again, "b")}},
		}},
		{"a stale approval approves a destroy, as in tofu-controller", []step{
			{[]component{{name: "db", commit: "a", approve: planOf("a")}}, "", []string{"db is applied"}},
			{[]component{{name: "db", commit: "a", approve: planOf("a"), destroy: true}}, "", []string{"db is destroyed"}},
		}},
		{"a root module that makes the same has nothing to approve", []step{
			{[]component{{name: "db", commit: "a", approve: "auto"}}, "", []string{"db is applied"}},
			{[]component{{name: "db", commit: "A"}}, "", nil},
		}},
		{"a teardown in the reverse order", []step{
			{[]component{{name: "db", commit: "a", approve: "auto"}, {name: "web", after: "db", chart: true}}, "", []string{"db is applied", "web is installed"}},
			{[]component{{name: "db", after: "web", commit: "a", destroy: true}, {name: "web", chart: true, destroy: true}}, "", []string{"web is uninstalled", waits("db", destroy, "a")}},
			{[]component{{name: "db", after: "web", commit: "a", destroy: true, approve: planOf("a")}, {name: "web", chart: true, destroy: true}}, "", []string{"db is destroyed"}},
		}},
		{"drift is corrected without a person", []step{
			{[]component{{name: "db", commit: "a", approve: "auto"}}, "", []string{"db is applied"}},
			{nil, "a node is gone", []string{"db is applied"}},
		}},
		{"drift waits for another root module, and has no plan before", []step{
			{[]component{{name: "db", commit: "a", approve: planOf("a")}}, "", []string{"db is applied"}},
			{nil, "a node is gone", []string{"db has drifted: a node is gone"}},
			{[]component{{name: "db", commit: "A"}}, "a node is gone", []string{waits("db", again, "A")}},
			{[]component{{name: "db", commit: "A", approve: planOf("A")}}, "a node is gone", []string{"db is applied"}},
		}},
		{"drift that goes away", []step{
			{[]component{{name: "db", commit: "a", approve: planOf("a")}}, "", []string{"db is applied"}},
			{nil, "a node is gone", []string{"db has drifted: a node is gone"}},
			{nil, "", []string{"db has no drift any more"}},
		}},
		{"a component that is removed leaves what it made", []step{
			{[]component{{name: "db", commit: "a", approve: "auto"}, {name: "web", after: "db", chart: true}}, "", []string{"db is applied", "web is installed"}},
			{[]component{{name: "db", commit: "a", approve: "auto"}}, "", []string{"web is uninstalled"}},
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newCluster(Options{Environment: "dev", Cluster: "one", Folder: t.TempDir(), Pace: time.Second, Patience: 3 * time.Second, CancelsChecks: true})
			read := func(commit, _ string) (module, error) { // commits that differ in case make the same
				return module{inputs: map[string]string{"size": strings.ToLower(commit[:1])}, digest: strings.ToLower(commit)}, nil
			}
			now, output := noon, tree.Tree{}
			for i, s := range test.steps {
				head := c.head
				if s.output != nil {
					output, head = newOutput(t, s.output), fmt.Sprint(i)
				}
				drift := filepath.Join(c.options.Folder, "db.drift")
				if s.drift == "" {
					_ = os.Remove(drift) // it need not be there
				} else if err := os.WriteFile(drift, []byte(s.drift+"\n"), 0o644); err != nil {
					t.Fatal(err)
				}
				c.events = nil
				for range 40 { // more than anything takes
					if err := c.reconcile(head, output, now, read); err != nil {
						t.Fatal(err)
					}
					now = now.Add(time.Second)
					for _, k := range sortValues(c.kustomizations) {
						db := c.terraforms[objectKey{"Terraform", k.namespace, k.name}]
						if db != nil && db.spec.ApprovePlan == "auto" && k.ready.status == "False" && k.ready.reason != "DependencyNotReady" && k.ready.reason != "BuildFailed" && k.ready.reason != "HealthCheckCanceled" {
							t.Fatalf("step %d: %s needs nobody, and has failed: %s", i, k.name, k.ready.message)
						}
					}
				}
				var got []string
				for _, e := range c.events {
					got = append(got, strings.TrimPrefix(e.Component, "shop/dev/")+" "+e.Message)
				}
				if diff := cmp.Diff(s.want, got); diff != "" {
					t.Fatalf("step %d (-want +got):\n%s", i, diff)
				}
			}
		})
	}
}

// TestFinalize: a Terraform object that is removed goes while its source is there, and stays for ever without.
func TestFinalize(t *testing.T) {
	const keeps = "metadata: {annotations: {kustomize.toolkit.fluxcd.io/prune: disabled}, name: db, namespace: shop}\nspec: {url"
	before := newOutput(t, []component{{name: "db", commit: "a", approve: "auto"}})
	for name, source := range map[string]string{"pruned": "", "kept": keeps} {
		c := newCluster(Options{Environment: "dev", Cluster: "one", Folder: t.TempDir(), Pace: time.Second})
		output := before
		if source != "" {
			var b tree.Builder
			for file, data := range before.All() {
				if err := b.Add(file, []byte(strings.Replace(string(data), "metadata: {name: db, namespace: shop}\nspec: {url", source, 1))); err != nil {
					t.Fatal(err)
				}
			}
			output = b.Tree()
		}
		read := func(commit, _ string) (module, error) { return module{digest: commit}, nil }
		for i := range 20 {
			now := noon.Add(time.Duration(i) * time.Minute)
			if err := c.reconcile(fmt.Sprint(i/10), []tree.Tree{output, {}}[i/10], now, read); err != nil {
				t.Fatal(err)
			}
		}
		if isThere := len(c.terraforms) > 0; isThere == (source != "") {
			t.Errorf("%s: the object is there: %v", name, isThere)
		}
	}
}

// TestState: what an agent reads of the cluster is what the controllers say.
func TestState(t *testing.T) {
	c := newCluster(Options{Repository: "/srv/gitops.git", Environment: "dev", Cluster: "one", Folder: t.TempDir()})
	read := func(commit, _ string) (module, error) { return module{digest: commit}, nil }
	output := newOutput(t, []component{{name: "db", commit: "a"}, {name: "web", after: "db", chart: true}})
	for i := range 9 {
		if err := c.reconcile(strings.Repeat("1", 40), output, noon.Add(time.Duration(i)*time.Second), read); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.writeFolder(); err != nil {
		t.Fatal(err)
	}
	state, err := c.readState(noon)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range state.Entries() {
		got = append(got, strings.TrimSpace(e.ObjectName()+": "+e.Phase+" "+e.Message))
		if head := "dev@sha1:" + strings.Repeat("1", 40); e.Kind == "Kustomization" && e.Revision != head && e.Attempted != head { // also what waits for another
			t.Errorf("%s does not count for the output: %q to %q", e.ObjectName(), e.Revision, e.Attempted)
		}
	}
	want := []string{
		"GitRepository/flux-system/fleet: ready", "GitRepository/shop/db: ready", "Kustomization/flux-system/stacks: progressing Running health checks for revision dev@sha1:" + strings.Repeat("1", 40),
		"Kustomization/shop/db: waiting",
		"Kustomization/shop/web: progressing dependency 'shop/db' is not ready", "Terraform/shop/db: waiting",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	plans, err := os.ReadFile(filepath.Join(c.options.Folder, plansFile))
	if err != nil || !strings.Contains(string(plans), "savedPlan: "+planOf("a")) || !slices.Contains(strings.Split(string(plans), "\n"), "    Plan: 1 to add, 0 to change, 0 to destroy.") {
		t.Errorf("the plans are (%v)\n%s", err, plans)
	}
}

// TestDestroyed: an agent reads of the cluster that what a component made is destroyed.
func TestDestroyed(t *testing.T) {
	c := newCluster(Options{Repository: "/srv/gitops.git", Environment: "dev", Cluster: "one", Folder: t.TempDir()})
	read := func(commit, _ string) (module, error) { return module{digest: commit}, nil }
	for i, destroy := range []bool{false, true} {
		output := newOutput(t, []component{{name: "db", commit: "a", approve: "auto", destroy: destroy}})
		for n := range 20 {
			if err := c.reconcile(strings.Repeat(fmt.Sprint(i), 40), output, noon.Add(time.Duration(20*i+n)*time.Minute), read); err != nil {
				t.Fatal(err)
			}
		}
	}
	state, err := c.readState(noon)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range state.Entries() {
		if e.Kind == "Terraform" && (e.Phase != ledger.Ready.String() || !e.Plan.Destroys) {
			t.Errorf("%s is read as %s, with the plan %+v", e.ObjectName(), e.Phase, e.Plan)
		}
	}
}

// TestBuildFails: a component whose objects cannot be read fails, and stops no other one.
func TestBuildFails(t *testing.T) {
	var b tree.Builder
	for file, data := range newOutput(t, []component{{name: "bad", commit: "a", approve: "auto"}, {name: "db", commit: "a", approve: "auto"}}).All() {
		if strings.Contains(file, "/bad/objects/") {
			data = []byte("a: {")
		}
		if err := b.Add(file, data); err != nil {
			t.Fatal(err)
		}
	}
	c := newCluster(Options{Environment: "dev", Cluster: "one", Folder: t.TempDir()})
	for i := range 20 {
		read := func(commit, _ string) (module, error) { return module{digest: commit}, nil }
		if err := c.reconcile(strings.Repeat("1", 40), b.Tree(), noon.Add(time.Duration(i)*time.Second), read); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{"bad": "BuildFailed", "db": "ReconciliationSucceeded"} {
		if k := c.kustomizations[objectKey{"Kustomization", "shop", name}]; k.ready.reason != want {
			t.Errorf("%s: %+v", name, k.ready)
		}
	}
}

// TestSendPlans: the plan that waits is sent with its Terraform object and the key of the cluster, again and again
// until the daemon keeps it.
func TestSendPlans(t *testing.T) {
	c, kept, sent := newCluster(Options{Cluster: "platform", Key: "k"}), false, 0
	daemon := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		report, malformed := tfplan.ReadReport(body, nil)
		if err != nil || malformed != nil || r.URL.Path != "/webhooks/plans/platform" || r.Header.Get("Authorization") != "Bearer k" {
			t.Errorf("%v, %v: %s %s", err, malformed, r.URL.Path, body)
			return
		}
		sent++
		if report.Namespace != "shop" || report.Name != "db" || report.PlanID != "plan-1" || report.Stale || report.Plan.Count().Short() != (tfplan.Counts{Add: 1}).Short() || !strings.Contains(report.Plan.Text(), "+ size: 3") {
			t.Errorf("%+v\n%s", report, report.Plan.Text())
		}
		_, _ = fmt.Fprintf(w, `{"kept": %v}`, kept)
	}))
	defer daemon.Close()
	c.options.Server = daemon.URL
	o := &object{objectKey: objectKey{"Terraform", "shop", "db"}, labels: map[string]string{"fairlead.io/component": "db"}, content: map[string]any{
		"apiVersion": "infra.contrib.fluxcd.io/v1alpha2", "kind": "Terraform", "metadata": map[string]any{"namespace": "shop", "name": "db"},
	}}
	waits := &terraform{object: o, pending: "plan-1", plan: "a plan", want: module{inputs: map[string]string{"size": "3"}}}
	waits.storeReadable()
	c.terraforms[o.objectKey] = waits
	for i, want := range []int{1, 2, 2} {
		if err := c.sendPlans(t.Context()); err != nil || sent != want {
			t.Errorf("round %d: %v, %d plans were sent, want %d", i, err, sent, want)
		}
		kept = true
	}
	waits.plan = "another plan"
	daemon.Close()
	if err := c.sendPlans(t.Context()); err == nil {
		t.Error("a daemon that is away has it")
	}
}
