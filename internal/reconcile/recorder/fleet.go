package recorder

import (
	"maps"
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
	for _, receipt := range r.ledger.PlaceClusters(origins, r.options.Now()) {
		r.pending.clusters[receipt.Cluster] = true
		r.pending.add(receipt)
	}
}

// SetListed has clusters of an environment known that are expected by name, with their types, and which only count if closed
// names a list, as "Kind/name". They are not
// stored: Git has them.
func (r *Recorder) SetListed(environment string, types map[string]string, closed string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.listed == nil {
		r.listed = map[string]map[string]string{}
	}
	r.listed[environment] = types
	before := r.membership.FindClosed(environment)
	if closed == before.Subject && (closed == "" || maps.Equal(types, before.Types)) {
		return // each round says it of each environment
	}
	r.setMembership(r.membership.WithClosed(environment, ledger.ClosedList{Subject: closed, Types: types}))
}

// FindListed returns the types of the clusters of an environment that are expected by name, as SetListed
// has told them last. They must not be changed.
func (r *Recorder) FindListed(environment string) map[string]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.listed[environment]
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

// SetBound has clusters belong to no other environments than those that their keys are bound to, by name.
func (r *Recorder) SetBound(environments map[string][]string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.setMembership(r.membership.WithBound(environments))
}

// FindExcluded returns the names of the clusters that report an output of an environment, and do not count in it.
func (r *Recorder) FindExcluded(environment string) (names []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.ledger.Clusters() {
		if c.Excluded == environment {
			names = append(names, c.Name())
		}
	}
	return names
}

// Membership returns the environments that clusters may count in.
func (r *Recorder) Membership() ledger.Membership {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.membership
}

// setMembership decides which environments clusters may count in. r.mu is held.
func (r *Recorder) setMembership(m ledger.Membership) {
	r.membership = m
	r.ledger.SetMembership(m)
	for _, receipt := range r.ledger.RemoveExcluded(r.options.Now()) {
		r.pending.clusters[receipt.Cluster] = true
		r.pending.add(receipt)
	}
}

// SetAdopted has clusters take the place of others that were built in their place: see
// [ledger.Ledger.SetAdopted].
func (r *Recorder) SetAdopted(times map[string]time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.adopted = times
	r.ledger.SetAdopted(times)
}
