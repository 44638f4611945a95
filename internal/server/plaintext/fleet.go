package plaintext

import (
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/internal/reconcile/fleetview"
)

// NewStandingsTable returns the state of clusters as a table.
func NewStandingsTable(all []fleetview.Standing, now time.Time) Table {
	t := Table{Empty: "no environment\n", Columns: []Column{
		{Key: "environment"}, {Key: "output"}, {Key: "merged"}, {Key: "expected"}, {Key: "ready"}, {Key: "progressing"}, {Key: "behind"}, {Key: "failed"}, {Key: "silent"}, {Key: "other"}, {Key: "p95"},
		{Key: "unknown", Wide: true}, {Key: "unproven", Wide: true}, {Key: "unheard", Wide: true}, {Key: "contested", Wide: true}, {Key: "agents", Wide: true}, {Key: "base", Wide: true},
	}}
	waits := slices.ContainsFunc(all, func(s fleetview.Standing) bool { return s.Waiting+s.Drifted > 0 })
	if waits { // only clusters with stacks
		t.Columns = append(t.Columns, Column{Key: "waitsForApproval"}, Column{Key: "drifted"})
	}
	for _, s := range all {
		row := []any{
			s.Environment, Revision(s.Output), NewAge(s.Merged, now), s.Expected, s.Ready, s.Progressing - s.Waiting, s.Behind, s.Failed - s.Drifted, s.Silent, s.Other(), Elapsed(s.P95),
			s.Unknown, s.Unproven, s.Unheard, s.Contested, s.Agents, Revision(s.Base),
		}
		if waits {
			row = append(row, s.Waiting, s.Drifted)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
