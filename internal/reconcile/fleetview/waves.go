package fleetview

import (
	"cmp"
	"context"
	"slices"

	"github.com/fairlead-io/fairlead/internal/ledger"
)

// Wave is how the clusters of one wave of an environment stand to its newest output.
type Wave struct {
	Name string `json:"name"` // "" for the clusters that are in none
	// Expected are its clusters. Each is counted by one of the following.
	Expected    int `json:"expected"`
	Ready       int `json:"ready"`
	Progressing int `json:"progressing"`
	Failed      int `json:"failed"`
	Behind      int `json:"behind"` // have not begun
	Other       int `json:"other"`  // silent, or not heard of
	// Cluster is the first that failed, and Failure why; "" if none did.
	Cluster string `json:"cluster,omitempty"`
	Failure string `json:"failure,omitempty"`
}

// FindWaves returns how the waves of an environment stand, by name. waves are those of clusters, by their names;
// clusters without one come last.
func (v *View) FindWaves(ctx context.Context, environment string, waves map[string]string) ([]Wave, error) {
	found, err := v.findSituations(ctx, environment)
	if err != nil {
		return nil, err
	}
	all := []Wave{}
	for _, s := range found.all {
		name := s.Listed
		if s.Cluster != nil {
			name = s.Cluster.Name()
		}
		i := slices.IndexFunc(all, func(w Wave) bool { return w.Name == waves[name] })
		if i < 0 {
			i, all = len(all), append(all, Wave{Name: waves[name]})
		}
		all[i].add(s, name, explainSituation(s, found))
	}
	slices.SortFunc(all, func(a, b Wave) int {
		if (a.Name == "") != (b.Name == "") {
			return cmp.Compare(len(b.Name), len(a.Name))
		}
		return cmp.Compare(a.Name, b.Name)
	})
	return all, nil
}

// add counts a cluster.
func (w *Wave) add(s ledger.Situation, cluster, why string) {
	w.Expected++
	switch s.Class {
	case ledger.ClassReady:
		w.Ready++
	case ledger.ClassProgressing:
		w.Progressing++
	case ledger.ClassBehind:
		w.Behind++
	case ledger.ClassFailed:
		w.Failed++
		if w.Failure == "" {
			w.Cluster, w.Failure = cluster, why
		}
	default:
		w.Other++
	}
}
