package answer

import (
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/schedule"
	"github.com/fairlead-io/fairlead/internal/reconcile/fleetview"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// TestListClusters: filters select by name, environment, type, state and label of the type; the most urgent come first, and
// are counted by environment.
func TestListClusters(t *testing.T) {
	large := &model.ClusterType{Object: model.Object{Kind: "ClusterType", Name: "large"}}
	large.Labels = map[string]string{"region": "west"}
	s := Source{Ledger: true, Snapshot: status.Snapshot{
		Environments: []status.Environment{{Name: "dev"}, {Name: "prod"}},
		Plans:        map[string]*schedule.Plan{"prod": schedule.NewPlan(&model.Model{Environment: "prod", ClusterTypes: []*model.ClusterType{large}}, nil)},
	}, Reported: []fleetview.Cluster{
		{Name: "dev-1", Environment: "dev", Type: "small", Standing: "ready"}, {Name: "eu-1", Environment: "prod", Type: "large", Standing: "ready"},
		{Name: "eu-2", Environment: "prod", Type: "large", Standing: "failed", Why: "quota"}, {Name: "us-1", Environment: "prod", Type: "small", Standing: "behind"},
	}}
	for _, test := range []struct {
		filter ClusterFilter
		want   string
	}{
		{ClusterFilter{}, "eu-2 us-1 dev-1 eu-1"},
		{ClusterFilter{Text: "EU"}, "eu-2 eu-1"},
		{ClusterFilter{Environment: "prod"}, "eu-2 us-1 eu-1"},
		{ClusterFilter{ClusterType: "small"}, "us-1 dev-1"},
		{ClusterFilter{State: "bad"}, "eu-2"},
		{ClusterFilter{State: "behind"}, "us-1"},
		{ClusterFilter{Label: "region=west"}, "eu-2 eu-1"},
		{ClusterFilter{Label: "region=east"}, ""},
	} {
		a := s.ListClusters(test.filter)
		var names []string
		for _, c := range a.Items {
			names = append(names, c.Name)
		}
		if got := strings.Join(names, " "); got != test.want || a.Total != len(names) {
			t.Errorf("%+v: %d: %s, want %s", test.filter, a.Total, got, test.want)
		}
		counted := 0
		for _, e := range a.Environments {
			for _, c := range e.States {
				counted += c.Clusters
			}
		}
		if counted != a.Total {
			t.Errorf("%+v: %d are counted of %d", test.filter, counted, a.Total)
		}
	}
	all := s.ListClusters(ClusterFilter{})
	if first := all.Environments[1].States[0]; all.Environments[0].Environment != "dev" || first.State.Word != "failed" || first.Clusters != 1 {
		t.Errorf("they are counted as %+v", all.Environments)
	}
	if len(all.Items[0].Labels) != 1 || all.Items[0].Labels[0].Value != "west" {
		t.Errorf("the labels are %v", all.Items[0].Labels)
	}
}
