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
	// Differs is true if the versions differ.
	Differs      bool          `json:"differs"`
	Environments []Environment `json:"environments"`
}

// Environment is what an environment runs of a workload.
type Environment struct {
	Name string `json:"name"`
	Runs []Run  `json:"runs"`
}

// Run is a revision and the number of clusters with it.
type Run struct {
	Version  string `json:"version,omitempty"` // name of the revision
	Revision string `json:"revision,omitempty"`
	App      string `json:"appVersion,omitempty"` // application version, for a chart
	Clusters int    `json:"clusters"`
	Ready    int    `json:"ready"`
}

// Compare compares two environments, by object.
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

// addRun requires runs sorted by object.
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

func (e Environment) versions() []string {
	var all []string
	for _, r := range e.Runs {
		all = append(all, cmp.Or(r.Version, ledger.ParseRevision(r.Revision).Commit, r.Revision))
	}
	slices.Sort(all)
	return slices.Compact(all)
}
