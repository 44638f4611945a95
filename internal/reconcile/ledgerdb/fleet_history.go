package ledgerdb

import (
	"context"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
)

// FleetFilter is which clusters a question is about; "" is any.
type FleetFilter struct {
	Environment, ClusterType, Cluster string
	// After is the name of a cluster, and AfterTime a time of its history, that an answer begins behind.
	After     string
	AfterTime time.Time
	Limit     int
}

// FleetSpan is what an object of a cluster said in a time.
type FleetSpan struct {
	Key                      string // the name of the cluster now, by which spans are ordered
	Cluster                  string // the name that it had then
	Environment, ClusterType string
	ledger.Span
}

// FindStates returns what the objects of a name say now.
func (s *Store) FindStates(ctx context.Context, object string, f FleetFilter) ([]FleetSpan, error) {
	return s.findFleetSpans(ctx, "fleet_where", object, f)
}

// FindStatesAt returns what the objects of a name said at a time.
func (s *Store) FindStatesAt(ctx context.Context, object string, f FleetFilter, at time.Time) ([]FleetSpan, error) {
	return s.findFleetSpans(ctx, "fleet_where_at", object, f, unixOf(at))
}

// FindHistories returns the histories of the objects of a name, cluster by cluster, the oldest first.
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

// FindTargets returns the names of all deployment targets, each once, in their order.
func (s *Store) FindTargets(ctx context.Context) (names []string, err error) {
	err = s.ask(ctx, "fleet_targets", nil, collectTexts(&names))
	return names, err
}

// FindTargetObjects returns the names of the objects that a deployment target has on clusters, or had if
// it has none.
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

// FindVersion returns what people call the commit that an object runs; "" if nothing says it.
func (s *Store) FindVersion(ctx context.Context, object, commit string) (string, error) {
	var found []string
	err := s.ask(ctx, "fleet_version", []any{object, commit}, collectTexts(&found))
	if len(found) == 0 {
		return "", err
	}
	return found[0], err
}
