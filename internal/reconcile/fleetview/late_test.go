package fleetview_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/testkit/ledgerworld"
)

// TestLateHistory: a history says what was told of afterwards.
func TestLateHistory(t *testing.T) {
	onBothEngines(t, func(t *testing.T, w *ledgerworld.World) {
		w.ReportLate()
		const place = `{"cluster":"east-6","environment":"prod","clusterType":"large","object":"HelmRelease/shop/payments","revision":"`
		want := place + `2.1.0","phase":"ready","since":"2026-11-23T11:05:00Z","until":"2026-11-23T12:45:00Z"}
` + place + `2.2.0","phase":"ready","since":"2026-11-23T12:45:00Z","late":true}
`
		if diff := cmp.Diff(want, answer(t, w, "history?workload=payments&cluster=east-6")); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}
