package recorder

import (
	"maps"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
)

// FindRevisions returns the distinct revisions from clusters without an agent.
func (r *Recorder) FindRevisions() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ledger.FindRevisions(r.options.Now())
}

// PlaceClusters calls [ledger.Ledger.PlaceClusters].
func (r *Recorder) PlaceClusters(origins map[string][]string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, receipt := range r.ledger.PlaceClusters(origins, r.options.Now()) {
		r.pending.clusters[receipt.Cluster] = true
		r.pending.add(receipt)
	}
}

// SetListed sets the types of clusters expected by name. If closed names a list, as "Kind/name",
// only these count. They are not stored: Git has them.
func (r *Recorder) SetListed(environment string, types map[string]string, closed string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.listed == nil {
		r.listed = map[string]map[string]string{}
	}
	r.listed[environment] = types
	before := r.membership.FindClosed(environment)
	if closed == before.Subject && (closed == "" || maps.Equal(types, before.Types)) {
		return // called for each environment in each round
	}
	r.setMembership(r.membership.WithClosed(environment, ledger.ClosedList{Subject: closed, Types: types}))
}

// FindListed returns the types of clusters expected by name, which must not be modified.
func (r *Recorder) FindListed(environment string) map[string]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.listed[environment]
}

// SetRetired sets when people retired clusters, and closes retired ones: see [ledger.Retirement].
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

// SetBound sets the environments that keys are bound to, by cluster.
func (r *Recorder) SetBound(environments map[string][]string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.setMembership(r.membership.WithBound(environments))
}

// FindExcluded returns the clusters that report an environment's output without counting there.
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

// Membership returns the current membership.
func (r *Recorder) Membership() ledger.Membership {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.membership
}

// setMembership requires r.mu.
func (r *Recorder) setMembership(m ledger.Membership) {
	r.membership = m
	r.ledger.SetMembership(m)
	for _, receipt := range r.ledger.RemoveExcluded(r.options.Now()) {
		r.pending.clusters[receipt.Cluster] = true
		r.pending.add(receipt)
	}
}

// SetAdopted calls [ledger.Ledger.SetAdopted].
func (r *Recorder) SetAdopted(times map[string]time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.adopted = times
	r.ledger.SetAdopted(times)
}
