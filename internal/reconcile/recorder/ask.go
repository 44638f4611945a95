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

// errNoStore is the error for a question to a store that is not open.
var errNoStore = errors.New("the ledger is not stored")

// Ask calls question with the store, which lacks what was reported within the last second. The error
// is that of question, or says why there is no store.
func (r *Recorder) Ask(ctx context.Context, question func(*ledgerdb.Store) error) error {
	r.flushing.Lock()
	store := r.store
	r.flushing.Unlock()
	if store == nil {
		return errors.Join(errNoStore, r.Check())
	}
	return question(store)
}

// FindSituations returns how each expected cluster stands to what is wanted, and why.
func (r *Recorder) FindSituations(w ledger.Wanted, outputs *ledger.Outputs) []ledger.Situation {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ledger.FindSituations(w, outputs, r.options.Now())
}

// FindTargets returns the revisions that what applies the output to the clusters of an environment is at, or works on, and
// the folders that it applies, each once: those of cluster types, others, and "" for all of the output.
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

// FindEnvironments returns the environments that clusters have named, each once, "" among them, in the
// order in which their first clusters were first in touch.
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

// FindRetired returns the clusters of an environment that are no longer expected, in the order in which
// they were first in touch.
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

// FindRuns returns what the objects of two environments run: see [ledger.Ledger.FindRuns].
func (r *Recorder) FindRuns(environment, other string) []ledger.Runs {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ledger.FindRuns(environment, other)
}

// FindDrift returns what differs on the clusters of an environment from what is wanted: see
// [ledger.Ledger.FindDrift].
func (r *Recorder) FindDrift(environment string, wanted []ledger.WantedObject) []ledger.Drift {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ledger.FindDrift(environment, wanted)
}

// VisitObjects calls visit with what each object of the clusters of an environment says, while nothing is
// reported: see [ledger.Ledger.VisitObjects].
func (r *Recorder) VisitObjects(environment string, visit func(c *ledger.Cluster, object string, s ledger.State, since time.Time)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ledger.VisitObjects(environment, visit)
}
