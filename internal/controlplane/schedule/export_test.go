package schedule_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/schedule"
)

// TestPlacementDecisions: 250 clusters of a type are in pages of 100, as Open Cluster Management has them, and a unit
// without places has an empty one.
func TestPlacementDecisions(t *testing.T) {
	m := manyUnits(1)
	m.Targets = m.Targets[:2]
	m.Policies[0].Choice.Pick = 1
	clusters := map[string][]string{}
	for i := range 250 {
		clusters["t00"] = append(clusters["t00"], fmt.Sprintf("c%03d", 249-i))
	}
	all := schedule.NewPlan(m, nil).PlacementDecisions("argocd", clusters)
	if len(all) != 6 {
		t.Fatalf("there are %d pages", len(all))
	}
	for i, page := range all {
		placement, number, want := fmt.Sprintf("all-u%03d", i/3), i%3+1, []int{100, 100, 50}[i%3]
		if page.Metadata.Name != fmt.Sprintf("%s-decision-%d", placement, number) || page.Metadata.Labels["cluster.open-cluster-management.io/placement"] != placement || page.Metadata.Namespace != "argocd" || len(page.Status.Decisions) != want {
			t.Errorf("page %d is %+v with %d clusters", i, page.Metadata, len(page.Status.Decisions))
		}
	}
	if first := all[0].Status.Decisions[0].ClusterName; first != "c000" {
		t.Errorf("the first cluster is %s", first)
	}
	m.Policies[0].Choice.Pick = 0
	if none := schedule.NewPlan(m, nil).PlacementDecisions("argocd", clusters); len(none) != 2 || len(none[0].Status.Decisions) != 0 {
		t.Errorf("units without places have %+v", none)
	}
}

// TestGroupedDecisions: groups are PlacementDecisions of their own, as Open Cluster Management has them, and their numbers go
// on.
func TestGroupedDecisions(t *testing.T) {
	m := manyUnits(5)
	m.Targets = m.Targets[:1]
	m.ClusterTypes[3].Labels = map[string]string{"ring": "canary"}
	m.Policies[0].Choice.Pick = model.PickAll
	m.Policies[0].Choice.Groups = &model.Groups{Named: []model.NamedGroup{{Name: "canary", ClusterTypes: in("ring", "canary")}, {Name: "none", ClusterTypes: in("ring", "none")}}, Size: 3}
	var got []string
	for _, d := range schedule.NewPlan(m, nil).PlacementDecisions("argocd", nil) {
		line := d.Metadata.Name
		for _, key := range []string{"index", "name"} {
			line += " " + d.Metadata.Labels["cluster.open-cluster-management.io/decision-group-"+key]
		}
		for _, c := range d.Status.Decisions {
			line += " " + c.ClusterName
		}
		got = append(got, line)
	}
	want := []string{"all-u000-decision-1 0 canary t03", "all-u000-decision-2 1  t00 t01 t02", "all-u000-decision-3 2  t04"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("PlacementDecisions (-want +got):\n%s", diff)
	}
}
