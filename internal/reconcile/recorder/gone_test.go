package recorder_test

import (
	"testing"

	"github.com/fairlead-io/fairlead/internal/reconcile/ledgerdb"
)

// TestGoneEnvironments: what no cycle finds any more is deleted when its spans are.
func TestGoneEnvironments(t *testing.T) {
	onBothEngines(t, "", func(t *testing.T, newStore func(*testing.T) testStore) {
		r := newRig(t, newStore)
		r.openKeeping()
		r.store.change("insert into environment(id, name, repo, branch, folder) values (1, 'lab', '', 'lab', '')")
		want := func(want int) {
			t.Helper()
			var found []string
			err := r.recorder.Ask(t.Context(), func(s *ledgerdb.Store) (err error) {
				found, err = s.FindEnvironments(t.Context())
				return err
			})
			if err != nil || len(found) != want {
				t.Errorf("there are %v, %v", found, err)
			}
		}
		r.recorder.Maintain(t.Context())
		want(1)
		r.recorder.TellOutputs(nil)
		r.recorder.RecordToldOutputs(t.Context())
		r.stay(kept - day)
		r.recorder.Maintain(t.Context())
		want(1)
		r.stay(2 * day)
		r.recorder.Maintain(t.Context())
		want(0)
	})
}
