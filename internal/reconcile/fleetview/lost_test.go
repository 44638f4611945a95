package fleetview_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/testkit/ledgerworld"
)

// TestLostHistory: where a history begins anew because the ledger was lost, it says so; once, whatever part of it
// is asked for.
func TestLostHistory(t *testing.T) {
	const at = `"lost":"2026-11-23T11:00:00Z"`
	w := ledgerworld.NewSQLite(t, filepath.Join(t.TempDir(), "ledger.db"))
	ask := func(question string) []string {
		return strings.Split(strings.TrimSpace(answer(t, w, question)), "\n")
	}
	before := answer(t, w, "history?workload=checkout")
	if strings.Contains(before, `"lost"`) {
		t.Errorf("nothing is lost, and\n%s", before)
	}
	mark := filepath.Join(t.TempDir(), "ledger.mark")
	check(t, os.WriteFile(mark, []byte(`{"clusters":null,"lastSeen":"2026-11-23T11:00:00Z","loss":{"time":"2026-11-23T11:00:00Z","reason":"emptied"}}`), 0o600))
	w.Recorder.ReadMark(mark)
	history := ask("history?workload=checkout&cluster=east-1")
	var got []bool
	for _, line := range history {
		got = append(got, strings.Contains(line, at))
	}
	if diff := cmp.Diff([]bool{true, false}, got); diff != "" {
		t.Errorf("%s\n%s", strings.Join(history, "\n"), diff)
	}
	next := ask("history?workload=checkout&cluster=east-1&after=Kustomization/flux-system/checkout-api east-1 1795431900")
	if len(next) != 1 || strings.Contains(next[0], at) {
		t.Errorf("the next part says it again: %q", next)
	}
	if all := answer(t, w, "history?workload=checkout"); strings.Count(all, at) != strings.Count(before, `"since":"2026-11-23T11:0`) {
		t.Errorf("of all histories:\n%s", all)
	}
}

// TestLostHistoryPart: of a ledger that was restored from a backup the histories that lasted then are marked, and
// of one that was lost long before the clusters came, none.
func TestLostHistoryPart(t *testing.T) {
	w := ledgerworld.NewSQLite(t, filepath.Join(t.TempDir(), "ledger.db"))
	mark := filepath.Join(t.TempDir(), "ledger.mark")
	for _, c := range []struct {
		lost time.Time
		want int
	}{{ledgerworld.Now.AddDate(0, 0, -3), 0}, {ledgerworld.Now.Add(-30 * time.Minute), 1}} {
		at := c.lost.Format(time.RFC3339)
		check(t, os.WriteFile(mark, []byte(`{"clusters":null,"lastSeen":"2026-11-23T11:00:00Z","loss":{"time":"`+at+`","reason":"from a backup"}}`), 0o600))
		w.Recorder.ReadMark(mark)
		history := answer(t, w, "history?workload=checkout&cluster=east-2")
		if strings.Count(history, `"lost":"`+at+`"`) != c.want {
			t.Errorf("lost at %s:\n%s", at, history)
		}
	}
}
