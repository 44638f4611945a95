package ledgerdb

import (
	"context"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
)

// FleetFilter selects clusters; "" is any.
type FleetFilter struct {
	Environment, ClusterType, Cluster string
	// Results begin after this cluster name, and this time of its history.
	After     string
	AfterTime time.Time
	Limit     int
}

// FleetSpan is a span of an object on a cluster.
type FleetSpan struct {
	Key                      string // current name of the cluster, by which spans are ordered
	Cluster                  string // name at that time
	Environment, ClusterType string
	ledger.Span
}

// FindStates returns the current states of an object on all clusters.
func (s *Store) FindStates(ctx context.Context, object string, f FleetFilter) ([]FleetSpan, error) {
	return s.findFleetSpans(ctx, "fleet_where", object, f)
}

// FindStatesAt returns the states of an object at a time.
func (s *Store) FindStatesAt(ctx context.Context, object string, f FleetFilter, at time.Time) ([]FleetSpan, error) {
	return s.findFleetSpans(ctx, "fleet_where_at", object, f, unixOf(at))
}

// FindHistories returns the histories of an object, by cluster, oldest first.
func (s *Store) FindHistories(ctx context.Context, object string, f FleetFilter) ([]FleetSpan, error) {
	return s.findFleetSpans(ctx, "fleet_history", object, f, unixOf(f.AfterTime))
}

func (s *Store) findFleetSpans(ctx context.Context, statement, object string, f FleetFilter, more ...any) ([]FleetSpan, error) {
	var all []FleetSpan
	args := append([]any{object, f.Environment, f.ClusterType, f.Cluster, f.After, int64(f.Limit)}, more...)
	err := s.ask(ctx, statement, args, func(scan scanFunc) (err error) {
		var one FleetSpan
		one.Span, err = scanSpan(scan, &one.Key, &one.Cluster, &one.Environment, &one.ClusterType)
		all = append(all, one)
		return err
	})
	return all, err
}

// FindTargets returns the sorted names of all deployment targets.
func (s *Store) FindTargets(ctx context.Context) (names []string, err error) {
	err = s.ask(ctx, "fleet_targets", nil, collectTexts(&names))
	return names, err
}

// FindTargetObjects returns the current objects of a deployment target, or the previous ones if it
// has none.
func (s *Store) FindTargetObjects(ctx context.Context, target string) (names []string, err error) {
	err = s.ask(ctx, "fleet_target_objects", []any{target}, collectTexts(&names))
	if err != nil || len(names) > 0 {
		return names, err
	}
	var assignments []int64
	err = s.ask(ctx, "fleet_target_assignments", []any{target}, func(scan scanFunc) error {
		var id int64
		err := scan(&id)
		assignments = append(assignments, id)
		return err
	})
	for _, id := range assignments {
		if err == nil {
			err = s.ask(ctx, "fleet_assignment_objects", []any{id}, collectTexts(&names))
		}
	}
	slices.Sort(names)
	return slices.Compact(names), err
}

// FindVersion returns the version name of an object's commit; "" if unknown.
func (s *Store) FindVersion(ctx context.Context, object, commit string) (string, error) {
	var found []string
	err := s.ask(ctx, "fleet_version", []any{object, commit}, collectTexts(&found))
	if len(found) == 0 {
		return "", err
	}
	return found[0], err
}
