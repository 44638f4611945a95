package browsertest

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/draw"
	"image/png"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/schedule"
	"github.com/fairlead-io/fairlead/internal/reconcile/history"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/web"
	"github.com/fairlead-io/fairlead/internal/testkit/chainworld"
)

// newSizedPlan returns a plan in which each workload goes to the cluster types of its group, of up to 50 groups.
func newSizedPlan(environment string, types, workloads int) *schedule.Plan {
	groups := min(50, types)
	label := func(i int) map[string]string { return map[string]string{"group": fmt.Sprint(i % groups)} }
	m := &model.Model{Environment: environment}
	for i := range groups {
		in := model.Selector{Requirements: []model.Requirement{{Key: "group", Operator: model.In, Values: []string{fmt.Sprint(i)}}}}
		m.Policies = append(m.Policies, &model.Policy{Object: model.Object{Name: fmt.Sprintf("group-%02d", i)}, ClusterTypes: in, Targets: in})
	}
	for i := range types {
		m.ClusterTypes = append(m.ClusterTypes, &model.ClusterType{Object: model.Object{Name: fmt.Sprintf("store-type-%03d", i), Labels: label(i)}, Clusters: -1})
	}
	for i := range workloads {
		name := fmt.Sprintf("app-%03d", i)
		m.Targets = append(m.Targets, &model.Target{Object: model.Object{Name: name + "-web", Labels: label(i)}, Workload: name, Manifests: map[string]string{"tag": fmt.Sprintf("1.%d.0", i%9)}})
	}
	return schedule.NewPlan(m, nil)
}

// checkTop checks the picture of the first 2,000 points of a page.
func checkTop(t *testing.T, w *Window, file string) {
	t.Helper()
	made, err := os.ReadFile(filepath.Join(pictures, "made-with.txt"))
	if err != nil {
		t.Fatal(err)
	}
	whole, err := png.Decode(bytes.NewReader(w.shoot()))
	if err != nil {
		t.Fatal(err)
	}
	top, data := image.NewNRGBA(whole.Bounds().Intersect(image.Rect(0, 0, 1280, 2000))), &bytes.Buffer{}
	draw.Draw(top, top.Rect, whole, image.Point{}, draw.Src)
	if err := png.Encode(data, top); err != nil {
		t.Fatal(err)
	}
	checkPicture(t, data.Bytes(), file, string(made) == findMaker(t))
}

// TestSizes: the pages of a fleet of one environment and one workload, and of one of 40 environments, 200 cluster types and
// 500 workloads, fit into a wide and a narrow window, and look as their pictures. TestClusters has their clusters.
func TestSizes(t *testing.T) {
	browser := Start(t)
	for _, size := range []struct {
		name                           string
		environments, types, workloads int
	}{{"one", 1, 1, 1}, {"large", 40, 200, 500}} {
		store, names := &status.Store{}, []string{}
		for i := range size.environments {
			names = append(names, fmt.Sprintf("prod-%02d", i))
		}
		chain, done := chainworld.New(names, 60, noon)
		for i, name := range names {
			e := status.Environment{Name: name, State: status.InSync, Assignments: size.workloads, ClusterTypes: size.types, Checked: noon}
			if i%9 == 4 {
				e.State, e.Reason = status.Failed, "the registry does not answer"
			}
			store.SetEnvironment(e)
			store.SetPlan(name, newSizedPlan(name, size.types, size.workloads))
		}
		store.SetPromotions(chain)
		store.SetCycle(status.Cycle{Number: 1, Outcome: status.OutcomeOK, Started: noon, Next: noon.Add(time.Minute)})
		server := httptest.NewServer(web.New(web.Options{Store: store, Version: "1.2.3", Now: func() time.Time { return noon }, Past: pastOf(store), History: func(context.Context) (history.Log, error) { return history.Log{Entries: done}, nil }}))
		t.Cleanup(server.Close)
		for _, width := range []int{1280, 400} {
			w := browser.Open(t, View{Width: width})
			for _, path := range []string{"/commits", "/environments", "/workloads", "/cluster-types", "/map?env=prod-00", "/history", "/fleet", "/commits/" + chain.Head, "/environments/prod-00", "/workloads/app-000", "/cluster-types/store-type-000", "/stacks", "/"} {
				w.Visit(server.URL + path)
				checkWidth(t, w, width, path)
				picture := map[string]string{"/": "overview", "/fleet": "fleet"}[path]
				if picture != "" && width == 1280 {
					checkTop(t, w, fmt.Sprintf("size-%s-%s.png", size.name, picture))
				}
			}
		}
	}
}
