package answer

import (
	"testing"

	"github.com/fairlead-io/fairlead/internal/change/impact"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// TestDeletes: an open pull request that deletes says how much; one that was merged does not.
func TestDeletes(t *testing.T) {
	r := &impact.Report{Groups: []impact.Group{{Risk: impact.Deletes, Count: 2}, {Risk: impact.Unknown, Count: 4}, {Risk: impact.Deletes, Count: 1}}}
	for state, want := range map[status.State]int{status.Proposed: 3, status.InSync: 0} {
		s := Source{Snapshot: status.Snapshot{Environments: []status.Environment{{Name: "prod", State: state, Pull: &status.Pull{Number: 7}, Proposed: r}}}}
		if got := s.listEnvironments()[0].Deletes; got != want {
			t.Errorf("%s: it deletes %d, want %d", state, got, want)
		}
	}
}
