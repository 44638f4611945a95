package fleetview_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/reconcile/fleetview"
	"github.com/fairlead-io/fairlead/internal/testkit/ledgerworld"
)

// TestFindGroups: each cluster counts in the group that it is listed with, and the parts are as many as all.
func TestFindGroups(t *testing.T) {
	w := ledgerworld.NewSQLite(t, filepath.Join(t.TempDir(), "ledger.db"))
	got, err := w.View.FindGroups(t.Context(), "prod", map[string]string{"east-1": "canary", "east-2": "canary", "east-3": "second", "east-4": "second", "west-1": "second", "away": "third"})
	if err != nil {
		t.Fatal(err)
	}
	standings, err := w.View.FindStandings(t.Context(), fleetview.Query{Environment: "prod"})
	if err != nil {
		t.Fatal(err)
	}
	sum := 0
	for i, one := range got {
		sum += one.Expected
		if one.Expected != one.Ready+one.Progressing+one.Failed+one.Behind+one.Other {
			t.Errorf("the parts of %+v are not as many", one)
		}
		got[i].Failure = ""
	}
	if sum != standings.Items[0].Expected {
		t.Errorf("the groups have %d clusters, and prod has %d", sum, standings.Items[0].Expected)
	}
	want := []fleetview.Group{{Name: "canary", Expected: 2, Ready: 1, Failed: 1, Cluster: "east-2"}}
	if diff := cmp.Diff(want, got[:1]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if names := []string{got[0].Name, got[1].Name, got[2].Name}; len(got) != 3 || !cmp.Equal(names, []string{"canary", "second", ""}) {
		t.Errorf("the groups are %+v", got)
	}
	if all, err := w.View.FindGroups(t.Context(), "nowhere", nil); err != nil || len(all) != 0 {
		t.Errorf("of an environment that nobody reports: %+v, %v", all, err)
	}
}
