package history_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/reconcile/history"
)

// TestListDeliveries: what was merged counts, with its lead time; a rollback takes back what was merged since the commit
// that it goes back to, or the last one if that came before all. What was only proposed, or changes no file, is no
// deployment, and a rollback of it no failure. Steps are an action and a commit, each an hour after the one before:
// "promote 1", "merge 1", "rollback 1"; those of other actions and of stage are about nothing.
func TestListDeliveries(t *testing.T) {
	start := time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC)
	at := func(hours int) time.Time { return start.Add(time.Duration(hours) * time.Hour) }
	for name, c := range map[string]struct {
		steps string
		taken []bool
		lead  time.Duration
	}{
		"nothing":                      {"promote 1", nil, -1},
		"merged as it was promoted":    {"promote 1, merge 1, promote 2, merge 2", []bool{false, false}, 2 * time.Hour},
		"followed without a promotion": {"merge 1, merge 2", []bool{false, false}, time.Hour},
		"rolled back":                  {"promote 1, merge 1, promote 2, merge 2, promote 3, merge 3, rollback 1, hold 1, merge 1, promote 4, merge 4", []bool{false, true, true, false, false}, 2 * time.Hour},
		"rolled back behind all":       {"promote 4, merge 4, rollback 0, merge 0, promote 5, merge 5", []bool{true, false, false}, 2 * time.Hour},
		"behind what changes no file":  {"promote 1, merge 1, promote 2, promote 3, merge 3, rollback 2, merge 2", []bool{false, true, false}, 2 * time.Hour},
		"only proposed":                {"promote 1, merge 1, promote 2, rollback 1", []bool{false}, 2 * time.Hour},
		"proposed, later merged":       {"promote 1, merge 1, promote 2, rollback 1, promote 2, merge 2", []bool{false, false}, 2 * time.Hour},
		"a rollback that waits":        {"promote 1, merge 1, promote 2, merge 2, rollback 1", []bool{false, false}, 2 * time.Hour},
		"another environment":          {"promote 1, merge 1, promote 2, merge 2, stage 1, merge 1", []bool{false, false, false}, 2 * time.Hour},
	} {
		var entries []history.Entry
		var deployments []history.Deployment
		authored := map[string]time.Time{}
		for i, step := range strings.Split(c.steps, ", ") {
			action, commit, _ := strings.Cut(step, " ")
			if authored[commit].IsZero() {
				authored[commit] = at(i - 1)
			}
			switch action {
			case "merge":
				deployments = append(deployments, history.Deployment{Commit: commit, Merged: at(i), Authored: authored[commit]})
			case "stage":
				entries = append(entries, history.Entry{Time: at(i), Environment: action, Action: history.RollbackAction, To: commit})
			default:
				entries = append(entries, history.Entry{Time: at(i), Environment: "prod", Action: action, To: commit})
			}
		}
		history.Sort(entries)
		all := history.ListDeliveries(entries, deployments, "prod")
		var taken []bool
		failed := 0
		for _, d := range all {
			taken = append(taken, d.TakenBack)
			if d.TakenBack {
				failed++
			}
		}
		if diff := cmp.Diff(c.taken, taken); diff != "" {
			t.Errorf("%s: what was taken back (-want +got):\n%s", name, diff)
		}
		want := ledger.Month{Start: at(0), Deployments: len(c.taken), Known: len(c.taken), Failed: failed, Lead: c.lead, Restore: -1}
		if diff := cmp.Diff(want, ledger.SummarizeBetween(all, at(0), at(20))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
