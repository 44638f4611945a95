package fleetview

import (
	"cmp"
	"context"
	"slices"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/reconcile/ledgerdb"
)

// Comparison is what two environments run of a workload.
type Comparison struct {
	Workload string `json:"workload"` // the last part of the object
	Object   string `json:"object"`
	// Differs is set if the versions of the two are not the same.
	Differs      bool          `json:"differs"`
	Environments []Environment `json:"environments"`
}

// Environment is what an environment runs of a workload.
type Environment struct {
	Name string `json:"name"`
	Runs []Run  `json:"runs"`
}

// Run is a revision, and how many clusters have it.
type Run struct {
	Version  string `json:"version,omitempty"` // what people call the revision
	Revision string `json:"revision,omitempty"`
	App      string `json:"appVersion,omitempty"` // of the application in the revision, if that is a chart
	Clusters int    `json:"clusters"`
	Ready    int    `json:"ready"`
}

// Compare returns what two environments run, by the names of objects.
func (v *View) Compare(ctx context.Context, q Query) (Page[Comparison], error) {
	if q.Environment == q.Other {
		return Page[Comparison]{}, &QueryError{"the two environments are the same", "name another one to compare " + q.Environment + " with"}
	}
	for _, name := range []string{q.Environment, q.Other} {
		_, err := v.selectEnvironments(ctx, name)
		if err != nil {
			return Page[Comparison]{}, err
		}
	}
	all := []Comparison{}
	err := v.Ask(ctx, func(s *ledgerdb.Store) error {
		var objects []string
		if q.Workload != "" {
			var err error
			objects, err = findObjects(ctx, s, q.Workload)
			if err != nil {
				return err
			}
		}
		names := versionNames{s, map[[2]string]string{}}
		for _, r := range v.Ledger.FindRuns(q.Environment, q.Other) {
			if ledger.IsSourceKind(ledger.Object{Name: r.Object}.Kind()) || objects != nil && !slices.Contains(objects, r.Object) {
				continue
			}
			version, err := names.find(ctx, r.Object, r.Revision)
			if err != nil {
				return err
			}
			all = addRun(all, q, r, version)
		}
		return nil
	})
	for i, c := range all {
		all[i].Differs = !slices.Equal(c.Environments[0].versions(), c.Environments[1].versions())
	}
	slices.SortFunc(all, func(a, b Comparison) int { return cmp.Compare(a.Object, b.Object) })
	return newPage(all, q, func(c Comparison) string { return c.Object }), err
}

// addRun adds a revision to the last comparison, or to a new one if it is of another object.
func addRun(all []Comparison, q Query, r ledger.Runs, version string) []Comparison {
	if len(all) == 0 || all[len(all)-1].Object != r.Object {
		all = append(all, Comparison{Workload: shortName(r.Object), Object: r.Object, Environments: []Environment{{q.Environment, []Run{}}, {q.Other, []Run{}}}})
	}
	of := &all[len(all)-1].Environments[0]
	if r.Environment != q.Environment {
		of = &all[len(all)-1].Environments[1]
	}
	of.Runs = append(of.Runs, Run{version, r.Revision, r.App, r.Clusters, r.Ready})
	return all
}

// versions returns what an environment runs: versions, and revisions that have none.
func (e Environment) versions() []string {
	var all []string
	for _, r := range e.Runs {
		all = append(all, cmp.Or(r.Version, ledger.ParseRevision(r.Revision).Commit, r.Revision))
	}
	slices.Sort(all)
	return slices.Compact(all)
}
