package fleetview

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/reconcile/ledgerdb"
)

// TestNewLeadTime: the lead time of an output is the same from its arrivals, and from what they were added
// up to when they are no longer kept.
func TestNewLeadTime(t *testing.T) {
	merged := time.Date(2026, time.October, 1, 12, 0, 0, 0, time.UTC)
	o := ledgerdb.FleetOutput{Revision: "a", Authored: merged.Add(-time.Hour), Merged: merged}
	kept, summed, none := o, o, o
	kept.Ready, kept.Failed = []time.Duration{3 * time.Minute, time.Minute, 2 * time.Minute}, []time.Duration{time.Second}
	summed.Summed = &ledgerdb.ArrivalDay{Ready: 3, Failed: 1, P50: 2 * time.Minute, P90: 3 * time.Minute, P95: 3 * time.Minute, Slowest: 3 * time.Minute}
	summed.Ready = []time.Duration{time.Hour} // which came late, and does not count
	none.Summed = &ledgerdb.ArrivalDay{Failed: 2, P50: -time.Second, P90: -time.Second, P95: -time.Second, Slowest: -time.Second}
	want := LeadTime{
		Environment: "prod", Output: "a", Authored: o.Authored, Merged: merged, Clusters: 3, Failed: 1, P50: 120, P95: 180, Slowest: 180, Lead: 3780,
	}
	for _, one := range []ledgerdb.FleetOutput{kept, summed} {
		if diff := cmp.Diff(want, newLeadTime("prod", one)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
	want = LeadTime{Environment: "prod", Output: "a", Authored: o.Authored, Merged: merged, Failed: 2}
	if diff := cmp.Diff(want, newLeadTime("prod", none)); diff != "" {
		t.Errorf("none was ready: -want +got:\n%s", diff)
	}
}
