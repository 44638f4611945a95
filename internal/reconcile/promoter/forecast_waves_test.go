package promoter

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

// TestForecastGroups: a forecast waits for the wave of a group if a policy has chosen a cluster type for it.
func TestForecastGroups(t *testing.T) {
	base := model.NewParser().Progress("base", model.Layer{Kind: model.Base, Name: "base", Prefix: ".fairlead", Files: tree.FromEntries([]tree.Entry{tree.File("promotion.yaml", []byte(`apiVersion: fairlead.io/v1alpha1
kind: Promotion
metadata: {name: fleet}
spec:
  environments:
    - name: prod
      waves: [{name: first, clusterTypes: {group: canary}, proof: [{soak: 2h}, approval]}]
`))})})
	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	chosen := map[string]string{"fairlead.io/group.canary": ""}
	for name, c := range map[string]struct {
		types []ClusterType
		want  time.Time
	}{
		"chosen":    {[]ClusterType{{Name: "a", WaveLabels: chosen}, {Name: "b"}}, now.Add(2 * time.Hour)},
		"by itself": {[]ClusterType{{Name: "a", Labels: chosen}, {Name: "b"}}, now},
	} {
		t.Run(name, func(t *testing.T) {
			s := &stageState{spec: base.Promotions[0].Stages[0], memory: &memory{}, environment: Environment{ClusterTypes: c.types}, base: source.Base{Progress: base}}
			f := forecastWaves(s, gate.Facts{Now: now, Environment: "prod", Commit: "new"}, now)
			if waits := strings.Contains(f.WaitsFor, "wave first: "); !f.Time.Equal(c.want) || waits != (name == "chosen") {
				t.Errorf("until %s it waits for %q, want until %s", f.Time, f.WaitsFor, c.want)
			}
		})
	}
}

// TestPlaceInFolders: a listed cluster with a folder of its own is expected there, and others with their type.
func TestPlaceInFolders(t *testing.T) {
	listed := []*model.ListedCluster{{Name: "shop-1", Type: "edge"}, {Name: "shop-2", Type: "edge"}, {Name: "cloud-1", Type: "cloud"}}
	types := []ClusterType{{Name: "shop-1", Of: "edge", Clusters: 1}, {Name: "cloud-1", Of: "other", Clusters: 1}, {Name: "cloud", Clusters: -1}}
	wanted := newWanted("prod", ledger.Output{}, types, placeInFolders(listed, types), false)
	if diff := cmp.Diff(map[string]string{"shop-1": "shop-1", "shop-2": "edge", "cloud-1": "cloud"}, wanted.Listed); diff != "" {
		t.Errorf("the types of listed clusters (-want +got):\n%s", diff)
	}
	if wanted.Expected["shop-1"] != 1 || listed[0].Type != "edge" {
		t.Errorf("%d clusters are expected in shop-1, which is listed with type %s", wanted.Expected["shop-1"], listed[0].Type)
	}
}
