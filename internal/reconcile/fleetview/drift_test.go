package fleetview_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/reconcile/fleetview"
	"github.com/fairlead-io/fairlead/internal/testkit/ledgerworld"
)

// TestDriftPeriods: drift lasts until the object is ready; drifts of an object that overlap are one period.
func TestDriftPeriods(t *testing.T) {
	const object = "Terraform/shop/db"
	at := func(minute int) time.Time { return ledgerworld.Now.Add(time.Duration(minute-60) * time.Minute) }
	onBothEngines(t, func(t *testing.T, w *ledgerworld.World) {
		for _, r := range []struct {
			minute  int
			cluster string
			phase   ledger.Phase
		}{
			{0, "east-1", ledger.Ready}, {0, "east-2", ledger.Ready},
			{5, "east-1", ledger.Drifted}, {7, "east-2", ledger.Drifted}, {9, "east-1", ledger.Waiting}, {15, "east-1", ledger.Ready}, {20, "east-2", ledger.Ready},
			{30, "east-2", ledger.Drifted},
		} {
			message := ""
			if r.phase == ledger.Drifted {
				message = "it changed"
			}
			w.ReportObjectAt(at(r.minute), "prod", r.cluster, object, r.phase, "main@sha1:1", message)
		}
		got, err := fleetview.ListDriftPeriods(t.Context(), w.View)
		check(t, err)
		want := []fleetview.DriftPeriod{{"prod", object, "it changed", []string{"east-1", "east-2"}, at(5), at(20)}, {"prod", object, "it changed", []string{"east-2"}, at(30), time.Time{}}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}
