package fleetview

import (
	"cmp"
	"context"
	"slices"

	"github.com/fairlead-io/fairlead/internal/ledger"
)

// Group is how the clusters of one group of an environment stand to its newest output.
type Group struct {
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

// FindGroups returns how the groups of an environment stand, by name. groups are those of clusters, by their names;
// clusters without one come last.
func (v *View) FindGroups(ctx context.Context, environment string, groups map[string]string) ([]Group, error) {
	found, err := v.findSituations(ctx, environment)
	if err != nil {
		return nil, err
	}
	all := []Group{}
	for _, s := range found.all {
		name := s.Listed
		if s.Cluster != nil {
			name = s.Cluster.Name()
		}
		i := slices.IndexFunc(all, func(g Group) bool { return g.Name == groups[name] })
		if i < 0 {
			i, all = len(all), append(all, Group{Name: groups[name]})
		}
		all[i].add(s, name, explainSituation(s, found))
	}
	slices.SortFunc(all, func(a, b Group) int {
		if (a.Name == "") != (b.Name == "") {
			return cmp.Compare(len(b.Name), len(a.Name))
		}
		return cmp.Compare(a.Name, b.Name)
	})
	return all, nil
}

// add counts a cluster.
func (g *Group) add(s ledger.Situation, cluster, why string) {
	g.Expected++
	switch s.Class {
	case ledger.ClassReady:
		g.Ready++
	case ledger.ClassProgressing:
		g.Progressing++
	case ledger.ClassBehind:
		g.Behind++
	case ledger.ClassFailed:
		g.Failed++
		if g.Failure == "" {
			g.Cluster, g.Failure = cluster, why
		}
	default:
		g.Other++
	}
}
