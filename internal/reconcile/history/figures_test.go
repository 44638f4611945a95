package history_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/reconcile/history"
)

// TestListDeliveries: promotions have lead times, a rollback takes back what came since the commit that it goes back
// to, or the last one if that came before all, and what is about another environment or no commit does not count.
func TestListDeliveries(t *testing.T) {
	start := time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC)
	at := func(hours int) time.Time { return start.Add(time.Duration(hours) * time.Hour) }
	entry := func(hours int, action, to string, authored int) history.Entry {
		return history.Entry{Time: at(hours), Environment: "prod", Action: action, To: to, Authored: at(authored)}
	}
	other := entry(3, "promote", "9", 0)
	other.Environment = "stage"
	entries := []history.Entry{
		entry(1, "promote", "1", 0), entry(2, "promote", "2", 0), entry(5, "promote", "3", 1), entry(6, "rollback", "1", -9), entry(7, "hold", "", 0), other,
		entry(10, "promote", "4", 9), entry(11, "rollback", "0", -9), entry(12, "promote", "5", 0),
	}
	history.Sort(entries)
	var taken []bool
	all := history.ListDeliveries(entries, "prod")
	for _, d := range all {
		taken = append(taken, d.TakenBack)
	}
	if diff := cmp.Diff([]bool{false, true, true, false, true, false, false}, taken); diff != "" {
		t.Errorf("what was taken back (-want +got):\n%s", diff)
	}
	want := ledger.Month{Start: at(0), Deployments: 7, Known: 7, Failed: 3, Lead: 2 * time.Hour, Restore: -1}
	if diff := cmp.Diff(want, ledger.SummarizeBetween(all, at(0), at(13))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := ledger.SummarizeBetween(all, at(1), at(2)); got.Deployments != 1 || got.Lead != time.Hour {
		t.Errorf("the figures of an hour are %+v", got)
	}
	if none := history.ListDeliveries(entries, "dev"); none != nil {
		t.Errorf("dev has %v", none)
	}
}
