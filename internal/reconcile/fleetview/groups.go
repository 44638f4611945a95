package fleetview

import (
	"cmp"
	"context"
	"slices"

	"github.com/fairlead-io/fairlead/internal/ledger"
)

// Group counts the clusters of a group by their status against the newest output.
type Group struct {
	Name string `json:"name"` // "" for clusters without a group
	// Expected is the number of its clusters; the following numbers add up to it.
	Expected    int `json:"expected"`
	Ready       int `json:"ready"`
	Progressing int `json:"progressing"`
	Failed      int `json:"failed"`
	Behind      int `json:"behind"` // have not begun
	Other       int `json:"other"`  // silent or never in touch
	// Cluster is the first that failed, and Failure the reason; "" if none failed.
	Cluster string `json:"cluster,omitempty"`
	Failure string `json:"failure,omitempty"`
}

// FindGroups returns the groups of an environment by name, without a name last. groups maps
// clusters to groups.
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
