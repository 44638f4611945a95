package recorder

import (
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
)

// FindRevisions returns the revisions that clusters without an agent report, each once.
func (r *Recorder) FindRevisions() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ledger.FindRevisions(r.options.Now())
}

// PlaceClusters decides to which environments the clusters without an agent belong: see
// [ledger.Ledger.PlaceClusters].
func (r *Recorder) PlaceClusters(origins map[string][]string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range r.ledger.PlaceClusters(origins, r.options.Now()) {
		r.pending.clusters[id] = true
	}
}

// SetRetired has clusters no longer expected that people have retired, by name, at a time, and ends what
// is known of those that are no longer expected: see [ledger.Retirement].
func (r *Recorder) SetRetired(times map[string]time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.retired = times
	r.ledger.SetRetirement(ledger.Retirement{After: r.options.Retire, Times: times})
	for _, receipt := range r.ledger.CloseRetired(r.options.Now()) {
		r.pending.clusters[receipt.Cluster] = true
		r.pending.add(receipt)
	}
}
