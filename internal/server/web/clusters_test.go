package web

import (
	"fmt"
	"image/png"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/claudie"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/schedule"
	"github.com/fairlead-io/fairlead/internal/reconcile/fleetview"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/answer"
	"github.com/fairlead-io/fairlead/internal/server/page"
	"github.com/fairlead-io/fairlead/internal/testkit/ledgerworld"
)

// newManifest returns a manifest of one cluster, which is bound to a cluster type.
func newManifest(name, cluster, clusterType string) model.Clusters {
	at := model.Object{Kind: "InputManifest", Name: name, Pos: problem.Pos{Layer: "base", File: "clusters/" + name + ".yaml", Line: 2}}
	spec := claudie.Spec{}
	spec.NodePools.Dynamic = []claudie.DynamicPool{{Name: "control", Count: 3, ProviderSpec: claudie.ProviderSpec{Name: "hetzner", Region: "fsn1"}}, {Name: "workers", Autoscaler: &claudie.Autoscaler{Min: 1, Max: 9}, ProviderSpec: claudie.ProviderSpec{Name: "gcp"}}}
	spec.NodePools.Static = []claudie.StaticPool{{Name: "metal", Nodes: make([]claudie.StaticNode, 2)}}
	spec.LoadBalancers.Clusters = []claudie.LoadBalancer{{Name: "ingress", TargetedK8s: cluster}}
	spec.Kubernetes.Clusters = []claudie.Cluster{{Name: cluster, Version: "1.31.0", Pools: claudie.Pools{Control: []string{"control"}, Compute: []string{"workers", "metal"}}}}
	binding := model.ClusterBindingSpec{InputManifest: claudie.Reference{Name: name, Namespace: "fleet"}, Clusters: []model.BoundCluster{{Name: cluster, ClusterType: clusterType}}}
	return model.Clusters{
		Manifests: []*model.InputManifest{{Composed: model.Composed{Object: at, Namespace: "fleet"}, Spec: spec}},
		Bindings:  []*model.ClusterBinding{{Composed: model.Composed{Object: at, Namespace: "fleet"}, Spec: binding}},
	}
}

// setClusters has an environment edge make a cluster.
func setClusters(s *status.Store) {
	m := &model.Model{Environment: "edge", ClusterTypes: []*model.ClusterType{newType("edge", "north")}, Clusters: newManifest("edge", "edge-1", "edge")}
	m.Policies = []*model.Policy{{Object: model.Object{Kind: "SchedulingPolicy", Name: "elsewhere"}, ClusterTypes: model.Selector{Requirements: []model.Requirement{{Key: "size", Operator: model.In, Values: []string{"large"}}}}}}
	s.SetPlan("edge", schedule.NewPlan(m, nil))
}

// TestFindNames: the search leads to a workload, a cluster type or a cluster of that name, and lists those with
// the text in their names.
func TestFindNames(t *testing.T) {
	h := openReported(t)
	for text, want := range map[string]string{"payments": "./workloads/payments", "small": "./cluster-types/small", "edge-1": "./clusters/edge-1", "west-1": "./clusters/west-1", "west-1+": "./clusters/west-1"} {
		w := ask(h, http.MethodGet, "/search?q="+text)
		if w.Code != http.StatusFound || w.Header().Get("Location") != want {
			t.Errorf("%s leads to %q (%d), want %s", text, w.Header().Get("Location"), w.Code, want)
		}
	}
	body := mainOf(ask(h, http.MethodGet, "/search?q=east-").Body.String())
	if !strings.Contains(body, `<a href="./clusters/east-7">east-7</a>`) || !strings.Contains(body, `<h2 id="clusters">Clusters</h2>`) {
		t.Errorf("the clusters are not on\n%s", body)
	}
	for query, want := range map[string]string{
		"heckou":                      `<a href="./fleet?rows=target&amp;q=checkout">checkout</a> <span class="soft">of <a href="./workloads/checkout">checkout</a>`,
		"small/checkout":              `<a href="./assignments/dev/small/checkout">small/checkout</a> <span class="soft">in dev</span>`,
		"SchedulingPolicy/everywhere": `<a href="./explain?env=prod&amp;q=SchedulingPolicy%2feverywhere">`,
		"DeploymentTarget/checkout":   `<a href="./fleet?rows=target&amp;q=checkout">checkout</a>`, "workloads/checkout.yaml": `<a href="./fleet?rows=target&amp;q=checkout">checkout</a>`,
		"eckout+CH": `<a href="./fleet?rows=target&amp;q=checkout">`,
		"policy/el": `<a href="./explain?env=edge&amp;q=SchedulingPolicy%2felsewhere">SchedulingPolicy/elsewhere</a>`,
	} {
		if body := mainOf(ask(h, http.MethodGet, "/search?q="+query).Body.String()); !strings.Contains(body, want) {
			t.Errorf("%s does not find %s:\n%s", query, want, body)
		}
	}
	for path, want := range map[string]string{"/clusters/east-77": `Did you mean <a href="../clusters/east-7">`, "/cluster-types/smal": `Did you mean <a href="../cluster-types/small">`, "/clusters/zzzzzzz": `All clusters</a>`} {
		if body := ask(h, http.MethodGet, path).Body.String(); !strings.Contains(strings.ReplaceAll(body, "<bdi>", ""), want) {
			t.Errorf("%s does not say %s:\n%s", path, want, mainOf(body))
		}
	}
}

// TestHostileClusters writes hostile texts into all that the pages about clusters show.
func TestHostileClusters(t *testing.T) {
	for _, text := range hostile {
		s := &status.Store{}
		s.SetEnvironment(status.Environment{Name: text, State: status.InSync, Inputs: []status.Input{{Layer: "base", Repo: text, Commit: text}}})
		clusterType := newType(text, text)
		clusterType.Reconciler, clusterType.Pos.File = text, text
		m := &model.Model{Environment: text, ClusterTypes: []*model.ClusterType{clusterType}, Targets: []*model.Target{newTarget(text, text, text, text)}, Policies: []*model.Policy{{Object: model.Object{Name: text}}}}
		s.SetPlan(text, schedule.NewPlan(m, nil))
		src := newSite(Options{Store: s}).readState()
		src.Reported = []fleetview.Cluster{{Name: text, Environment: text, Type: text, Standing: text, Why: text, Revision: text, Attempted: text, MovedFrom: &fleetview.MovedFrom{Environment: text, Type: text}}}
		src.Objects = []fleetview.ClusterObject{{Object: text, Phase: text, Revision: text, Attempted: text, Message: text}}
		one, ok := src.ClusterType(text)
		cluster, known := src.Cluster(text)
		if !ok || !known {
			t.Fatalf("%q is not known", text)
		}
		provisioned := answer.ProvisionedCluster{Name: text, Environment: text, Manifest: text, Place: text, URL: "", Executor: text, ClusterType: text, Version: text, Control: []answer.ProvisionedPool{{Name: text, Provider: text}}, LoadBalancers: []string{text}}
		one.Provisioned, cluster.Provisioned = []answer.ProvisionedCluster{provisioned}, []answer.ProvisionedCluster{provisioned}
		for _, of := range []any{shownAt("/cluster-types", src.ClusterTypes(answer.ClusterTypeFilter{}), nil, url.Values{"q": {text}}), one, cluster, src.Search(text)} {
			kept, err := page.Render(page.Frame{Path: "/x?" + text, Questions: true}, of)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := kept.For(page.Reader{Name: text, Waiting: text})
			checkMarkup(t, text, string(body))
		}
	}
}

// TestMapClick: a click on the map leads to the assignment there, and its picture is one of all cells.
func TestMapClick(t *testing.T) {
	h := openReported(t)
	for at, want := range map[string]string{"at.x=1&at.y=1": "./assignments/prod/large/checkout", "at.x=1&at.y=799": "", "at.x=-1&at.y=0": "", "at.x=z&at.y=0": ""} {
		w := ask(h, http.MethodGet, "/map?env=prod&"+at)
		if w.Header().Get("Location") != want || (w.Code == http.StatusFound) != (want != "") || (w.Code == http.StatusNotFound) != (want == "") {
			t.Errorf("%s leads to %q (%d), want %q", at, w.Header().Get("Location"), w.Code, want)
		}
	}
	w := ask(h, http.MethodGet, "/map.png?env=prod")
	p, err := png.Decode(w.Body)
	if err != nil || w.Header().Get("Content-Type") != "image/png" || p.Bounds().Dx() != 7*16 || p.Bounds().Dy() != 57*14 {
		t.Errorf("the picture is %v, %v (%d, %s)", p, err, w.Code, w.Header())
	}
}

// TestReleases: the page of a workload has its releases as clusters reported them, in a list and as a timeline; a
// cluster that comes late to a version is no release, and hostile versions are text.
func TestReleases(t *testing.T) {
	body := mainOf(ask(openReported(t), http.MethodGet, "/workloads/checkout").Body.String())
	golden(t, "testdata/fleet/releases.html", body)
	if body := mainOf(ask(open(fleet()), http.MethodGet, "/workloads/checkout").Body.String()); strings.Contains(body, "releases") {
		t.Errorf("without a ledger the page is\n%s", body)
	}
	for _, text := range hostile {
		src := newSite(Options{Store: fleet()}).readState()
		src.Releases = []fleetview.Release{{Target: text, Environment: "prod", Version: text, Since: noon, Clusters: 1, Failed: 1}}
		one, _ := src.Workload("checkout")
		kept, err := page.Render(page.Frame{Path: "/workloads/x"}, one)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := kept.For(page.Reader{Name: text, Waiting: text})
		checkMarkup(t, text, string(body))
	}
}

// answerCrowded asks about a cluster type with many assignments, and about a cluster that was moved.
func (c checker) answerCrowded(t *testing.T) {
	s := &status.Store{}
	s.SetEnvironment(status.Environment{Name: "stage", State: status.InSync, Inputs: []status.Input{{Layer: "base", Repo: "https://github.com/org/fleet", Commit: c1}}})
	var targets []*model.Target
	for i := range 60 {
		targets = append(targets, newTarget("jobs", fmt.Sprintf("jobs-%02d", i), "shop", "1.0"))
	}
	plan := newPlan("stage", []*model.ClusterType{newType("large", "west")}, targets...)
	plan.Model().Clusters = newManifest("edge", "edge-1", "large")
	s.SetPlan("stage", plan)
	w := ledgerworld.NewSQLite(t, filepath.Join(t.TempDir(), "ledger.db"))
	w.MoveCluster("stage", "large", "east-1")
	w.AddObjects("stage", "large", "east-1", 120)
	h := New(Options{Store: s, Fleet: w.View, Now: func() time.Time { return ledgerworld.Now }})
	for described, target := range map[string]string{"/api/v1/cluster-types": "", "/api/v1/cluster-types/{clusterType}": "/large", "/api/v1/clusters/{cluster}": "/east-1", "/api/v1/workloads/{workload}": "/jobs"} {
		path, _, _ := strings.Cut(described, "/{")
		c.answer(t, "get", described, ask(h, http.MethodGet, path+target))
	}
}
