package fleetview

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/reconcile/ledgerdb"
	"github.com/fairlead-io/fairlead/internal/reconcile/stackview"
)

// Placement is a state of an object on a cluster.
type Placement struct {
	Cluster     string `json:"cluster"` // its name at that time
	Environment string `json:"environment"`
	Type        string `json:"clusterType"`
	Object      string `json:"object"`
	// Version is the name of the running revision; "" if unknown.
	Version  string `json:"version,omitempty"`
	Revision string `json:"revision,omitempty"`
	// App is the application version, for a chart; "" if unknown.
	App       string    `json:"appVersion,omitempty"`
	Attempted string    `json:"attempted,omitempty"` // what it works on, if it differs
	Phase     string    `json:"phase"`
	Since     time.Time `json:"since,omitzero"`
	Until     time.Time `json:"until,omitzero"` // zero while it lasts
	Message   string    `json:"message,omitempty"`
	// Plan is the plan that waits for approval, or an applied destroy plan.
	Plan ledger.Plan `json:"plan,omitzero"`
	Late bool        `json:"late,omitempty"` // in a history: reported afterwards
	// Lost is the time when the ledger was lost, on the first item since then: earlier ones may be
	// missing. It is zero otherwise.
	Lost time.Time `json:"lost,omitzero"`
}

// FindPlacements returns where a workload runs, or ran at a time. Listed clusters that were never
// in touch come last.
func (v *View) FindPlacements(ctx context.Context, q Query) (Page[Placement], error) {
	page, err := v.findPlacements(ctx, q, func(s *ledgerdb.Store, object string, f ledgerdb.FleetFilter) ([]ledgerdb.FleetSpan, error) {
		if q.At.IsZero() {
			return s.FindStates(ctx, object, f)
		}
		return s.FindStatesAt(ctx, object, f, q.At)
	})
	if err != nil || page.Next != "" || !q.At.IsZero() {
		return page, err
	}
	return v.addUnheard(ctx, q, page)
}

// FindHistories returns what a workload ran, by cluster, oldest first. The wait for a plan is one
// item, unless a page ends in it.
func (v *View) FindHistories(ctx context.Context, q Query) (Page[Placement], error) {
	page, err := v.findPlacements(ctx, q, func(s *ledgerdb.Store, object string, f ledgerdb.FleetFilter) ([]ledgerdb.FleetSpan, error) {
		return s.FindHistories(ctx, object, f)
	})
	v.markLost(page.Items, q.After)
	page.Items = joinWaits(page.Items)
	return page, err
}

func joinWaits(all []Placement) []Placement {
	joined := all[:0]
	for _, p := range all {
		n := len(joined)
		if n == 0 || !joined[n-1].isContinuedBy(p) {
			joined = append(joined, p)
			continue
		}
		p.Since, p.Late = joined[n-1].Since, joined[n-1].Late
		joined[n-1] = p
	}
	return joined
}

func (p Placement) isContinuedBy(next Placement) bool {
	return p.Phase == stackview.Waits && next.Phase == p.Phase && next.Plan == p.Plan && next.Object == p.Object && next.Cluster == p.Cluster &&
		next.Lost.IsZero() && p.Until.Equal(next.Since)
}

// FindSpans returns an object's spans that began after a time, oldest first.
func (v *View) FindSpans(ctx context.Context, environment, cluster, object string, after time.Time) (spans []ledger.Span, err error) {
	err = v.Ask(ctx, func(s *ledgerdb.Store) error {
		f := ledgerdb.FleetFilter{Environment: environment, Cluster: cluster, After: cluster, AfterTime: after, Limit: MaxItems}
		for full := true; full; {
			all, err := s.FindHistories(ctx, object, f)
			if err != nil {
				return err
			}
			for _, one := range all {
				spans, f.AfterTime = append(spans, one.Span), one.Since
			}
			full = len(all) == MaxItems
		}
		return nil
	})
	return spans, err
}

type spanFinder func(s *ledgerdb.Store, object string, f ledgerdb.FleetFilter) ([]ledgerdb.FleetSpan, error)

func (v *View) findPlacements(ctx context.Context, q Query, find spanFinder) (Page[Placement], error) {
	page := Page[Placement]{Items: []Placement{}}
	err := v.checkPlaces(ctx, q)
	if err != nil {
		return page, err
	}
	after, err := parsePosition(q.After)
	if err != nil {
		return page, err
	}
	err = v.Ask(ctx, func(s *ledgerdb.Store) error {
		objects, err := findObjects(ctx, s, q.Workload)
		if err != nil {
			return err
		}
		names := versionNames{s, map[[2]string]string{}}
		for _, object := range objects {
			if object < after.object {
				continue
			}
			f := ledgerdb.FleetFilter{Environment: q.Environment, ClusterType: q.Type, Cluster: q.Cluster, Limit: q.Limit + 1 - len(page.Items)}
			if object == after.object {
				f.After, f.AfterTime = after.cluster, after.since
			}
			spans, err := find(s, object, f)
			if err != nil {
				return err
			}
			for _, span := range spans {
				if len(page.Items) == q.Limit {
					return nil
				}
				item, err := names.newPlacement(ctx, object, span)
				if err != nil {
					return err
				}
				page.Items, page.Next = append(page.Items, item), position{object, span.Key, span.Since}.String()
			}
		}
		page.Next = ""
		return nil
	})
	return page, err
}

func (v *View) checkPlaces(ctx context.Context, q Query) error {
	_, err := v.selectEnvironments(ctx, q.Environment)
	if err == nil {
		err = v.checkCluster(q)
	}
	return err
}

type position struct {
	object, cluster string
	since           time.Time
}

// String encodes a position as a parameter.
func (p position) String() string {
	return fmt.Sprintf("%s %s %d", p.object, p.cluster, p.since.Unix())
}

func parsePosition(text string) (position, error) {
	if text == "" {
		return position{}, nil
	}
	fields := strings.Fields(text)
	if len(fields) == 3 {
		since, err := strconv.ParseInt(fields[2], 10, 64)
		if err == nil {
			return position{fields[0], fields[1], time.Unix(since, 0)}, nil
		}
	}
	return position{}, &QueryError{fmt.Sprintf("after is %s", strconv.Quote(text)), "it is the next of the part before"}
}

// findObjects returns the sorted objects of workloads, separated by commas: those of a target, or
// else with that full name or last part.
func findObjects(ctx context.Context, s *ledgerdb.Store, workloads string) ([]string, error) {
	wanted, found := map[string]bool{}, []string{}
	for workload := range strings.SplitSeq(workloads, ",") {
		objects, err := s.FindTargetObjects(ctx, workload)
		if err != nil {
			return nil, err
		}
		wanted[workload] = len(objects) == 0
		found = append(found, objects...)
	}
	names, err := s.FindObjectNames(ctx)
	if err != nil {
		return nil, err
	}
	known := []string{}
	for _, name := range names {
		short := shortName(name)
		isSource := ledger.IsSourceKind(ledger.Object{Name: name}.Kind())
		if !isSource {
			known = append(known, short)
		}
		if wanted[name] || wanted[short] && !isSource {
			found = append(found, name)
		}
	}
	if len(found) > 0 {
		slices.Sort(found)
		return slices.Compact(found), nil
	}
	targets, err := s.FindTargets(ctx)
	if err != nil {
		return nil, err
	}
	known = append(known, targets...)
	slices.Sort(known)
	return nil, &UnknownError{"workload", workloads, slices.Compact(known)}
}

func shortName(object string) string { return object[strings.LastIndexByte(object, '/')+1:] }

// versionNames caches names of revisions.
type versionNames struct {
	store *ledgerdb.Store
	known map[[2]string]string // by object and revision
}

func (n versionNames) find(ctx context.Context, object, revision string) (string, error) {
	commit := ledger.ParseRevision(revision).Commit
	if commit == "" {
		return "", nil
	}
	key := [2]string{object, commit}
	known, ok := n.known[key]
	if ok {
		return known, nil
	}
	found, err := n.store.FindVersion(ctx, object, commit)
	n.known[key] = found
	return found, err
}

func (n versionNames) newPlacement(ctx context.Context, object string, s ledgerdb.FleetSpan) (Placement, error) {
	version, err := n.find(ctx, object, s.Revision)
	return Placement{
		Cluster: s.Cluster, Environment: s.Environment, Type: s.ClusterType, Object: object, Version: version, Revision: s.Revision, App: s.App, Attempted: s.Attempted,
		Phase: phaseWord(object, s.Phase, s.Message), Since: s.Since, Until: s.Until, Message: s.Message, Plan: s.Plan, Late: s.Late,
	}, err
}

func phaseWord(object string, p ledger.Phase, message string) string {
	if p == ledger.Failed && strings.HasPrefix(object, "Terraform/") {
		return stackview.ReadPhase(p.String(), message, ledger.Plan{})
	}
	return stackview.PhaseWord(p)
}
