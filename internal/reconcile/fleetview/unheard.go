package fleetview

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/reconcile/ledgerdb"
)

// unheardMark sorts clusters that were never in touch after all others.
const unheardMark = "~"

// addUnheard adds listed clusters that should run the workload, but were never in touch, to the
// last page.
func (v *View) addUnheard(ctx context.Context, q Query, page Page[Placement]) (Page[Placement], error) {
	all, err := v.findUnheard(ctx, q)
	if err != nil {
		return page, err
	}
	after, err := parsePosition(q.After)
	if err != nil {
		return page, err
	}
	last := position{unheardMark, "-", time.Time{}}
	for _, p := range all {
		at := position{unheardMark + p.Object, p.Cluster, time.Time{}}
		if cmp.Or(cmp.Compare(at.object, after.object), cmp.Compare(at.cluster, after.cluster)) <= 0 && strings.HasPrefix(after.object, unheardMark) {
			continue
		}
		if len(page.Items) == q.Limit {
			page.Next = last.String()
			break
		}
		page.Items, last = append(page.Items, p), at
	}
	return page, nil
}

func (v *View) findUnheard(ctx context.Context, q Query) ([]Placement, error) {
	environments, err := v.selectEnvironments(ctx, q.Environment)
	if err != nil {
		return nil, err
	}
	var all []Placement
	for _, environment := range environments {
		if len(v.Ledger.FindListed(environment)) == 0 {
			continue
		}
		found, err := v.findSituations(ctx, environment)
		if err != nil {
			return nil, err
		}
		wanted, err := v.findWantedTypes(ctx, environment, q.Workload)
		if err != nil {
			return nil, err
		}
		for _, s := range found.all {
			if s.Cluster != nil || s.Listed == "" || found.moved[s.Listed] != "" || !q.selects(s.Type, s.Listed, "") {
				continue
			}
			for _, object := range wanted[s.Type] {
				all = append(all, Placement{Cluster: s.Listed, Environment: environment, Type: s.Type, Object: object, Phase: s.Class.String(), Message: explainSituation(s, found)})
			}
		}
	}
	slices.SortFunc(all, func(a, b Placement) int {
		return cmp.Or(cmp.Compare(a.Object, b.Object), cmp.Compare(a.Cluster, b.Cluster))
	})
	return all, nil
}

func (v *View) findWantedTypes(ctx context.Context, environment, workload string) (map[string][]string, error) {
	types := map[string][]string{}
	err := v.Ask(ctx, func(s *ledgerdb.Store) error {
		objects, err := findObjects(ctx, s, workload)
		if err != nil {
			return err
		}
		wanted, err := s.FindWantedObjects(ctx, environment)
		for _, w := range wanted {
			if !w.Dropped && slices.Contains(objects, w.Name) {
				types[w.ClusterType] = append(types[w.ClusterType], w.Name)
			}
		}
		return err
	})
	return types, err
}
