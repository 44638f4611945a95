package fleetview

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/reconcile/ledgerdb"
)

// Month has the DORA figures of an environment in a month.
type Month struct {
	Environment string `json:"environment"`
	Month       string `json:"month"` // UTC, as 2026-11
	Deployments int    `json:"deployments"`
	// Known is the number of deployments with a known result, and Failed the number that failed.
	Known  int `json:"known"`
	Failed int `json:"failed"`
	// Lead and Restore are seconds; missing if unknown.
	Lead    *int `json:"leadSeconds,omitempty"`
	Restore *int `json:"restoreSeconds,omitempty"`
	order   int
}

func (m Month) key() string { return fmt.Sprintf("%05d %s", m.order, m.Month) }

// FindMonths returns the DORA figures of environments for each month since a time.
func (v *View) FindMonths(ctx context.Context, q Query) (Page[Month], error) {
	environments, err := v.selectEnvironments(ctx, q.Environment)
	if err != nil {
		return Page[Month]{}, err
	}
	all := []Month{}
	for i, name := range environments {
		var deliveries []ledger.Delivery
		err := v.Ask(ctx, func(s *ledgerdb.Store) (err error) {
			deliveries, err = findDeliveries(ctx, s, name, q.Since)
			return err
		})
		if err != nil {
			return Page[Month]{}, err
		}
		for _, m := range ledger.SummarizeDeliveries(deliveries, q.Since, v.Now()) {
			all = append(all, Month{
				Environment: name, Month: m.Start.Format("2006-01"), Deployments: m.Deployments, Known: m.Known, Failed: m.Failed,
				Lead: knownSeconds(m.Lead), Restore: knownSeconds(m.Restore), order: i,
			})
		}
	}
	return newPage(all, q, Month.key), nil
}

func knownSeconds(d time.Duration) *int {
	if d < 0 {
		return nil
	}
	return new(countSeconds(d))
}

// findDeliveries returns outputs since the start of a month, oldest first.
func findDeliveries(ctx context.Context, s *ledgerdb.Store, environment string, since time.Time) ([]ledger.Delivery, error) {
	outputs, err := s.FindOutputs(ctx, environment, ledger.MonthOf(since), math.MaxInt64, math.MaxInt32)
	if err != nil || len(outputs) == 0 {
		return nil, err
	}
	known, err := s.FindKnownSince(ctx, environment)
	if err != nil {
		return nil, err
	}
	changed, err := s.FindFolderChanges(ctx, environment)
	if err != nil {
		return nil, err
	}
	changes := make([][]ledger.FolderChange, outputs[0].Seq+1)
	for seq := range changes {
		changes[seq] = changed[int64(seq)]
	}
	takenBack := ledger.FindTakenBack(changes)
	all := make([]ledger.Delivery, 0, len(outputs))
	for _, o := range slices.Backward(outputs) {
		d := ledger.Delivery{
			Authored: o.Authored, Merged: o.Merged, Clusters: o.Clusters, Ready: o.Ready, Failed: o.Failed, Known: isKnown(o, known),
			P95: o.P95, Slowest: o.Slowest, FirstFailed: o.FirstFailed, TakenBack: takenBack[o.Seq],
		}
		for _, f := range changed[o.Seq] {
			d.Types = append(d.Types, f.ClusterType)
		}
		all = append(all, d)
	}
	return all, nil
}
