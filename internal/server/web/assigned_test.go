package web

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/schedule"
	"github.com/fairlead-io/fairlead/internal/reconcile/fleetview"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/answer"
	"github.com/fairlead-io/fairlead/internal/server/page"
	"github.com/fairlead-io/fairlead/internal/testkit/ledgerworld"
)

// newTarget returns a deployment target with a tag, which is written in the repository of its workload.
func newTarget(workload, name, team, tag string) *model.Target {
	return &model.Target{
		Object:   model.Object{Kind: "DeploymentTarget", Name: name, Labels: map[string]string{"app": workload, "kustomize.toolkit.fluxcd.io/name": "x"}, Pos: problem.Pos{Layer: "base", File: "workloads/" + name + ".yaml", Line: 9}},
		Workload: workload, Workspace: team, Manifests: map[string]string{"repo": "https://git.example.com/" + workload, "tag": tag},
	}
}

func newType(name, region string) *model.ClusterType {
	return &model.ClusterType{Object: model.Object{Kind: "ClusterType", Name: name, Labels: map[string]string{"region": region, "size": name}, Pos: problem.Pos{Layer: "base", File: "cluster-types/" + name + ".yaml", Line: 3}}, Reconciler: "flux", NamespaceService: "namespace", ConfigType: "config", Clusters: -1}
}

// newPlan returns the plan of an environment: the team shop is on each cluster type, others on large ones.
func newPlan(environment string, types []*model.ClusterType, targets ...*model.Target) *schedule.Plan {
	at := func(name string, line int) model.Object {
		return model.Object{Kind: "SchedulingPolicy", Name: name, Pos: problem.Pos{Layer: "base", File: environment + "/policies.yaml", Line: line}}
	}
	large := model.Selector{Requirements: []model.Requirement{{Key: "size", Operator: model.In, Values: []string{"large"}}}}
	m := &model.Model{Environment: environment, ClusterTypes: types, Targets: targets, Policies: []*model.Policy{
		{Object: at("everywhere", 1), Workspace: "shop"}, {Object: at("on-large", 12), ClusterTypes: large},
	}}
	slices.SortFunc(m.Targets, func(a, b *model.Target) int { return strings.Compare(a.Name, b.Name) })
	return schedule.NewPlan(m, nil)
}

// setPlans has it known what is assigned in dev, stage and prod, and not elsewhere.
func setPlans(s *status.Store) {
	large, small := newType("large", "west"), newType("small", "")
	all := []*model.ClusterType{large}
	for i := range 55 {
		all = append(all, newType(fmt.Sprintf("site-%02d", i), "east"))
	}
	all = append(all, small)
	search := newTarget("search", "search", "", "")
	search.Manifests["branch"] = "main"
	s.SetPlan("dev", newPlan("dev", []*model.ClusterType{large, small}, newTarget("checkout", "checkout", "shop", "1.5.0"), search))
	s.SetPlan("stage", newPlan("stage", []*model.ClusterType{large}, newTarget("checkout", "checkout", "shop", "1.4.2"), newTarget("payments", "payments", "money", "2.2.0")))
	prod := []*model.Target{newTarget("checkout", "checkout", "shop", "1.4.2"), newTarget("payments", "payments", "money", "2.1.0"), newTarget("search", "search", "", strings.Repeat("4be1c2d0", 5))}
	for i := range 4 {
		prod = append(prod, newTarget("jobs", fmt.Sprintf("jobs-%d", i), "money", fmt.Sprintf("v%d", i)))
	}
	s.SetPlan("prod", newPlan("prod", all, prod...))
	setClusters(s)
}

// fleetPages are the pages about what is assigned.
var fleetPages = []string{
	"/history", "/history?env=prod&forced=on&since=2026-11-01", "/history?q=zzz",
	"/fleet", "/fleet?q=check&env=prod&state=bad&differs=on", "/fleet?rows=target&cols=clusterType&env=prod&cpage=2", "/fleet?rows=team&cols=region", "/fleet?rows=environment&cols=team&type=large",
	"/workloads", "/workloads?q=zzz", "/workloads/checkout", "/workloads/jobs", "/assignments/prod/large/checkout", "/assignments/prod/small/search",
	"/map", "/map?env=dev", "/cluster-types", "/cluster-types?q=region=west", "/cluster-types/large", "/cluster-types/edge", "/clusters", "/clusters?state=failed", "/clusters/edge-1",
}

// openReported returns the site with the ledger of ledgerworld.
func openReported(t *testing.T) http.Handler {
	t.Helper()
	w := ledgerworld.NewSQLite(t, filepath.Join(t.TempDir(), "ledger.db"))
	return New(Options{Store: fleet(), Fleet: w.View, Now: func() time.Time { return ledgerworld.Now }, Explain: explainNothing, Compare: compareNothing})
}

// TestFleetGolden compares what the pages about assignments say.
func TestFleetGolden(t *testing.T) {
	full, reported, empty := open(fleet()), openReported(t), open(&status.Store{})
	for _, c := range []struct {
		h            http.Handler
		target, path string
	}{
		{full, "/fleet", "testdata/fleet/wanted.html"},
		{reported, "/fleet", "testdata/fleet/reported.html"},
		{reported, "/fleet?rows=target&cols=clusterType&env=prod&cpage=5", "testdata/fleet/exact.html"},
		{full, "/fleet?q=zzz", "testdata/fleet/none-like-that.html"},
		{empty, "/fleet", "testdata/fleet/empty.html"},
		{full, "/workloads", "testdata/fleet/workloads.html"},
		{empty, "/workloads", "testdata/fleet/workloads-empty.html"},
		{full, "/workloads/checkout", "testdata/fleet/workload.html"},
		{reported, "/workloads/payments", "testdata/fleet/workload-reported.html"},
		{reported, "/assignments/prod/small/checkout", "testdata/fleet/assignment.html"},
		{full, "/assignments/prod/small/search", "testdata/fleet/not-assigned.html"},
		{full, "/workloads/chekout", "testdata/fleet/missing.html"},
		{reported, "/map?env=prod", "testdata/fleet/map.html"},
		{empty, "/map", "testdata/fleet/map-empty.html"},
		{full, "/cluster-types?q=size=s", "testdata/fleet/cluster-types.html"},
		{full, "/cluster-types?q=zzz", "testdata/fleet/cluster-types-none.html"},
		{empty, "/cluster-types", "testdata/fleet/cluster-types-empty.html"},
		{full, "/cluster-types/edge", "testdata/fleet/cluster-type.html"},
		{reported, "/clusters", "testdata/fleet/clusters.html"},
		{reported, "/clusters?state=bad&env=dev", "testdata/fleet/clusters-none.html"},
		{empty, "/clusters", "testdata/fleet/clusters-empty.html"},
		{reported, "/cluster-types/small", "testdata/fleet/cluster-type-reported.html"},
		{full, "/clusters/edge-1", "testdata/fleet/cluster-provisioned.html"},
		{reported, "/clusters/west-1", "testdata/fleet/cluster.html"},
		{reported, "/clusters/edge-1", "testdata/fleet/cluster-silent.html"},
		{full, "/clusters/west-1", "testdata/fleet/cluster-missing.html"},
	} {
		golden(t, c.path, mainOf(ask(c.h, http.MethodGet, c.target).Body.String()))
	}
}

// TestFleetSums: however the fleet is divided, its parts add up to all, and to the number of the plan.
func TestFleetSums(t *testing.T) {
	store := fleet()
	src := answer.Source{Snapshot: store.Snapshot()}
	want := 0
	for _, p := range src.Snapshot.Plans {
		want += p.Len()
	}
	for _, rows := range answer.FleetSides() {
		for _, columns := range answer.FleetSides() {
			ofRows, ofCells := 0, 0
			for number, pages := 1, 1; number <= pages; number++ {
				for c, columnPages := 1, 1; c <= columnPages; c++ {
					part := src.Fleet(answer.FleetFilter{Rows: rows, Columns: columns, Page: number, ColumnPage: c})
					pages, columnPages = (part.Total+answer.FleetRows-1)/answer.FleetRows, (part.TotalColumns+answer.FleetColumns-1)/answer.FleetColumns
					if part.Assignments != want {
						t.Errorf("%s × %s has %d assignments, want %d", rows, columns, part.Assignments, want)
					}
					for _, row := range part.Items {
						if c == 1 {
							ofRows += row.Assignments
						}
						for _, cell := range row.Cells {
							ofCells += cell.Assignments
						}
					}
				}
			}
			if ofRows != want || ofCells != want {
				t.Errorf("%s × %s: the rows have %d assignments, and the cells %d, want %d", rows, columns, ofRows, ofCells, want)
			}
		}
	}
}

// TestHostileFleet writes hostile texts into all that the pages about assignments show.
func TestHostileFleet(t *testing.T) {
	for _, text := range hostile {
		s := &status.Store{}
		s.SetEnvironment(status.Environment{Name: text, State: status.InSync, Inputs: []status.Input{{Layer: "base", Repo: text, Commit: text}}})
		clusterType := newType(text, text)
		target := newTarget(text, text, text, text)
		target.Manifests[text], target.Labels[text], target.Pos.File, clusterType.Labels[text] = text, text, text, text
		s.SetPlan(text, newPlan(text, []*model.ClusterType{clusterType}, target))
		src := newSite(Options{Store: s}).readState()
		one, _ := src.Workload(text)
		assignment, ok := src.Assignment(text, text, text)
		if !ok {
			t.Fatalf("%q has no assignment", text)
		}
		query := map[string][]string{"q": {text}, "env": {text}, "team": {text}, "version": {text}, "rows": {text}}
		for _, of := range []any{
			shownAt("/fleet", src.Fleet(answer.FleetFilter{}), src.Names(), query), shownAt("/workloads", src.Workloads(answer.WorkloadFilter{}), nil, query), one, assignment,
			shownAt("/fleet", src.Fleet(answer.FleetFilter{Rows: answer.ByTarget, Columns: answer.ByClusterType, AssignmentFilter: answer.AssignmentFilter{Environment: text}}), nil, query),
		} {
			kept, err := page.Render(page.Frame{Path: "/x?" + text, Questions: true}, of)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := kept.For(page.Reader{Name: text, Waiting: text})
			checkMarkup(t, text, string(body))
		}
	}
}

// TestOneReading: counts of clusters are of the same reading as the states of what is assigned to them.
func TestOneReading(t *testing.T) {
	clusters := func(ready int) []fleetview.Overview {
		return []fleetview.Overview{{Standing: fleetview.Standing{Environment: "dev", Expected: 2, Ready: ready}}}
	}
	s := newSite(Options{Now: func() time.Time { return noon }})
	s.assigned.known, s.assigned.clusters, s.assigned.made = map[string]*fleetview.AssignedRuns{}, clusters(2), noon.Add(-time.Second)
	for path, ready := range map[string]int{"/fleet": 2, "/workloads/web": 2, "/clusters/east-1": 1, "/environments/dev": 1} {
		if src := loadRow(s, answer.Source{Ledger: true, Clusters: clusters(1)}, path); src.Clusters[0].Ready != ready {
			t.Errorf("%s has %d ready, want %d", path, src.Clusters[0].Ready, ready)
		}
	}
}

// loadRow adds to a source what the row of a path does.
func loadRow(s *site, src answer.Source, path string) answer.Source {
	q := s.find(&url.URL{Path: path})
	for _, load := range q.row.loads[:min(1, len(q.row.loads))] {
		src = load(context.Background(), src, q)
	}
	return src
}
