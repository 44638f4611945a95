package fleetview

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

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
	of.Runs = append(of.Runs, Run{version, r.Revision, r.Clusters, r.Ready})
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

// LeadTime is how long an output took to the clusters that got something new by it.
type LeadTime struct {
	Environment string    `json:"environment"`
	Output      string    `json:"output"`
	Base        string    `json:"base,omitempty"`
	Authored    time.Time `json:"authored,omitzero"` // when the newest commit was made that it was rendered from
	Merged      time.Time `json:"merged"`
	Clusters    int       `json:"clusters"` // how many have it
	Failed      int       `json:"failed"`   // how many failed at it at least once
	// P50, P95 and Slowest are seconds after the merge; of those clusters that have it.
	P50     int `json:"p50Seconds,omitempty"`
	P95     int `json:"p95Seconds,omitempty"`
	Slowest int `json:"slowestSeconds,omitempty"`
	// Lead is how many seconds P95 is after Authored; 0 if that is not known.
	Lead int `json:"leadSeconds,omitempty"`
}

// FindLeadTimes returns how long the outputs of an environment took, the newest first.
func (v *View) FindLeadTimes(ctx context.Context, q Query) (Page[LeadTime], error) {
	page := Page[LeadTime]{Items: []LeadTime{}}
	_, err := v.selectEnvironments(ctx, q.Environment)
	if err != nil {
		return page, err
	}
	before := int64(math.MaxInt64)
	if q.After != "" {
		before, err = strconv.ParseInt(q.After, 10, 64)
		if err != nil {
			return page, &QueryError{fmt.Sprintf("after is %s", strconv.Quote(q.After)), "it is the next of the part before"}
		}
	}
	var outputs []ledgerdb.FleetOutput
	err = v.Ask(ctx, func(s *ledgerdb.Store) (err error) {
		outputs, err = s.FindOutputs(ctx, q.Environment, q.Since, before, q.Limit+1)
		return err
	})
	if len(outputs) > q.Limit {
		outputs = outputs[:q.Limit]
		page.Next = strconv.FormatInt(outputs[q.Limit-1].Seq, 10)
	}
	for _, o := range outputs {
		page.Items = append(page.Items, newLeadTime(q.Environment, o))
	}
	return page, err
}

func newLeadTime(environment string, o ledgerdb.FleetOutput) LeadTime {
	l := LeadTime{
		Environment: environment, Output: o.Revision, Base: o.Base, Authored: o.Authored, Merged: o.Merged, Clusters: len(o.Ready), Failed: len(o.Failed),
		P50: countSeconds(findPercentile(o.Ready, 50)), P95: countSeconds(findPercentile(o.Ready, 95)), Slowest: countSeconds(findPercentile(o.Ready, 100)),
	}
	if s := o.Summed; s != nil {
		l.Clusters, l.Failed = s.Ready, s.Failed
		l.P50, l.P95, l.Slowest = countSeconds(max(s.P50, 0)), countSeconds(max(s.P95, 0)), countSeconds(max(s.Slowest, 0))
	}
	if !o.Authored.IsZero() && l.Clusters > 0 {
		l.Lead = countSeconds(o.Merged.Sub(o.Authored)) + l.P95
	}
	return l
}
