package recorder

import "github.com/fairlead-io/fairlead/internal/ledger"

// FindRevision returns the revision that the platform object of a cluster is at, or works on; "" if it is
// not known.
func (r *Recorder) FindRevision(c ledger.Cluster) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	state, _ := r.ledger.Find(ledger.Object{Cluster: c.ID, Name: c.Platform})
	return state.Target()
}
