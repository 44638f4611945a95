package fleetview

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/reconcile/ledgerdb"
)

// TestNewLeadTime: what is not known is no number, and least of all a wrong one.
func TestNewLeadTime(t *testing.T) {
	merged := time.Date(2026, time.October, 1, 12, 0, 0, 0, time.UTC)
	const never = -time.Second
	minutes := func(n int) time.Duration { return time.Duration(n) * time.Minute }
	took := ledgerdb.Arrived{Clusters: 3, Ready: 3, Failed: 1, P50: minutes(2), P90: minutes(3), P95: minutes(3), Slowest: minutes(3), FirstFailed: minutes(1)}
	for _, c := range []struct {
		name     string
		authored time.Time
		arrived  ledgerdb.Arrived
		known    time.Time
		want     LeadTime
	}{
		{"all is known", merged.Add(-time.Hour), took, merged, LeadTime{Clusters: 3, Failed: 1, P50: 120, P95: 180, Slowest: 180, Lead: 3780}},
		{"not what it was rendered from", time.Time{}, took, merged, LeadTime{Clusters: 3, Failed: 1, P50: 120, P95: 180, Slowest: 180}},
		{"at once", merged, ledgerdb.Arrived{Clusters: 1, Ready: 1, FirstFailed: never}, merged, LeadTime{Clusters: 1}},
		{"none was ready", merged.Add(-time.Hour), ledgerdb.Arrived{Clusters: 2, Failed: 2, P50: never, P90: never, P95: never, Slowest: never}, merged, LeadTime{Failed: 2}},
		{"none was in touch before", merged.Add(-time.Hour), ledgerdb.Arrived{Clusters: 2, Ready: 2, P50: never, P90: never, P95: never, Slowest: never}, merged, LeadTime{Clusters: 2}},
		{"before the first that is known", merged.Add(-time.Hour), ledgerdb.Arrived{P50: never, P90: never, P95: never, Slowest: never}, merged.Add(time.Second), LeadTime{Unknown: true}},
		{"nothing is known", merged.Add(-time.Hour), ledgerdb.Arrived{P50: never, P90: never, P95: never, Slowest: never}, time.Time{}, LeadTime{Unknown: true}},
	} {
		c.want.Environment, c.want.Output, c.want.Merged, c.want.Authored = "prod", "a", merged, c.authored
		got := newLeadTime("prod", ledgerdb.FleetOutput{Revision: "a", Authored: c.authored, Merged: merged, Arrived: c.arrived}, c.known)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", c.name, diff)
		}
	}
}
