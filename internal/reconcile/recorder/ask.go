package recorder

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/reconcile/ledgerdb"
)

var errNoStore = errors.New("the ledger is not stored")

// Ask calls question with the store, which may lack the reports of the last second. The error is
// that of question, or explains the missing store.
func (r *Recorder) Ask(ctx context.Context, question func(*ledgerdb.Store) error) error {
	r.flushing.Lock()
	store := r.store
	r.flushing.Unlock()
	if store == nil {
		return errors.Join(errNoStore, r.Check())
	}
	return question(store)
}

// FindSituations returns the situation of each expected cluster.
func (r *Recorder) FindSituations(w ledger.Wanted, outputs *ledger.Outputs) []ledger.Situation {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ledger.FindSituations(w, outputs, r.options.Now())
}

// FindTargets returns an environment's distinct target revisions and applied folders: cluster
// types, others, and "" for the whole output.
func (r *Recorder) FindTargets(environment string) (revisions, folders []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	targets, seen := map[string]bool{}, map[string]bool{}
	for _, c := range r.ledger.Clusters() {
		if c.Group.Environment != environment {
			continue
		}
		seen[c.Group.ClusterType] = true
		for _, a := range c.Appliers() {
			state, _ := r.ledger.Find(ledger.Object{Cluster: c.ID, Name: a.Object})
			targets[state.Target()], seen[a.Folder] = true, true
		}
	}
	return slices.Sorted(maps.Keys(targets)), slices.Sorted(maps.Keys(seen))
}

// FindEnvironments returns the clusters' distinct environments, including "", by first contact.
func (r *Recorder) FindEnvironments() (names []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.ledger.Clusters() {
		if !slices.Contains(names, c.Group.Environment) {
			names = append(names, c.Group.Environment)
		}
	}
	return names
}

// FindRetired returns clusters that are no longer expected, by first contact.
func (r *Recorder) FindRetired(environment string) (all []ledger.Cluster) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.ledger.Clusters() {
		if c.Group.Environment == environment && r.ledger.IsRetired(c, r.options.Now()) {
			all = append(all, *c.Clone())
		}
	}
	return all
}

// FindRuns calls [ledger.Ledger.FindRuns].
func (r *Recorder) FindRuns(environment, other string) []ledger.Runs {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ledger.FindRuns(environment, other)
}

// FindDrift calls [ledger.Ledger.FindDrift].
func (r *Recorder) FindDrift(environment string, wanted []ledger.WantedObject) []ledger.Drift {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ledger.FindDrift(environment, wanted)
}

// VisitObjects calls [ledger.Ledger.VisitObjects]. Reports wait meanwhile.
func (r *Recorder) VisitObjects(environment string, visit func(c *ledger.Cluster, object string, s ledger.State, since time.Time)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ledger.VisitObjects(environment, visit)
}
