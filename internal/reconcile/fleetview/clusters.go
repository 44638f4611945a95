package fleetview

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/reconcile/ledgerdb"
)

// Cluster is a cluster, and how it stands to what is wanted of it.
type Cluster struct {
	Name        string `json:"name"`
	Environment string `json:"environment"`
	Type        string `json:"clusterType"`
	// Standing is one of the classes of the ledger, or Retired.
	Standing string `json:"standing"`
	Why      string `json:"why,omitempty"`
	// Revision is what it runs, and Attempted what it is at work on, if that is another one.
	Revision  string    `json:"revision,omitempty"`
	Attempted string    `json:"attempted,omitempty"`
	Since     time.Time `json:"since,omitzero"` // when it began to say so
	FirstSeen time.Time `json:"firstSeen"`
	LastSeen  time.Time `json:"lastSeen"`
	// Contest is set if two clusters report under the name.
	Contest *Contest `json:"contest,omitempty"`
	order   int      // of its environment
}

// Contest is what is known of two clusters that report under one name.
type Contest struct {
	// UID is that of the cluster which has the name, and Rival that of the other one; or those of Object,
	// if they report by events.
	UID    string `json:"uid"`
	Rival  string `json:"rival"`
	Object string `json:"object"`
	// Adoptable is set if the first one is silent, so that the other one can be adopted in its place.
	Adoptable bool `json:"adoptable"`
}

// Retired is how a cluster stands that is no longer expected.
const Retired = "retired"

// key orders clusters by their environments, and then by name.
func (c Cluster) key() string { return fmt.Sprintf("%04d %s", c.order, c.Name) }

// FindClusters returns clusters, by their environments in the order of [View.FindStandings], and then by
// name.
func (v *View) FindClusters(ctx context.Context, q Query) (Page[Cluster], error) {
	environments, err := v.selectEnvironments(ctx, q.Environment)
	if err == nil {
		err = v.checkStanding(q.Standing)
	}
	if err == nil {
		err = v.checkCluster(q)
	}
	if err != nil {
		return Page[Cluster]{}, err
	}
	all := []Cluster{}
	for order, name := range environments {
		found, err := v.findSituations(ctx, name)
		if err != nil {
			return Page[Cluster]{}, err
		}
		add := func(c Cluster) {
			c.order = order
			if q.selects(c.Type, c.Name, c.Standing) {
				all = append(all, c)
			}
		}
		for _, s := range found.all {
			if s.Cluster != nil {
				add(newCluster(s, found))
			}
		}
		for _, c := range v.Ledger.FindRetired(name) {
			add(newRetired(c))
		}
	}
	slices.SortFunc(all, func(a, b Cluster) int { return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.Name, b.Name)) })
	return newPage(all, q, Cluster.key), nil
}

// selects reports whether a question is about a cluster of a type and a name that stands so.
func (q Query) selects(clusterType, name, standing string) bool {
	return (q.Type == "" || q.Type == clusterType) && (q.Cluster == "" || q.Cluster == name) && (q.Standing == "" || q.Standing == standing)
}

func newRetired(c ledger.Cluster) Cluster {
	return Cluster{
		Name: c.Name(), Environment: c.Group.Environment, Type: c.Group.ClusterType, Standing: Retired, FirstSeen: c.FirstSeen, LastSeen: c.LastSeen,
		Why: "it was last in touch at " + c.LastSeen.Format(time.RFC3339) + ", and is no longer expected",
	}
}

func newCluster(s ledger.Situation, of situations) Cluster {
	found := Cluster{
		Name: s.Cluster.Name(), Environment: s.Cluster.Group.Environment, Type: s.Type, Standing: s.Class.String(), Why: explainSituation(s, of),
		Revision: s.Platform.Revision, Attempted: s.Platform.Attempted, Since: s.Since, FirstSeen: s.Cluster.FirstSeen, LastSeen: s.Cluster.LastSeen,
	}
	if s.Contest != nil {
		found.Contest = &Contest{UID: s.Contest.UID, Rival: s.Contest.Rival, Object: s.Contest.Object, Adoptable: s.Contest.IsAdoptable}
	}
	return found
}

// situations are how the clusters of an environment stand at a time, and to what.
type situations struct {
	all   []ledger.Situation
	wants ledgerdb.Wants
	now   time.Time
}

// findSituations returns how the clusters of an environment stand to its newest output.
func (v *View) findSituations(ctx context.Context, environment string) (situations, error) {
	wants, err := v.findWants(ctx, environment)
	if err != nil {
		return situations{}, err
	}
	w := ledger.Wanted{Environment: environment, Output: wants.Newest, Expected: wants.Expected, Listed: v.Ledger.FindListed(environment)}
	return situations{v.Ledger.FindSituations(w, &wants.Outputs), wants, v.Now()}, nil
}

// findWants returns what the clusters of an environment should run.
func (v *View) findWants(ctx context.Context, environment string) (wants ledgerdb.Wants, err error) {
	revisions, types := v.Ledger.FindTargets(environment)
	err = v.Ask(ctx, func(s *ledgerdb.Store) (err error) {
		wants, err = s.FindWants(ctx, environment, revisions, types)
		return err
	})
	return wants, err
}

// selectEnvironments returns the environments that a question is about: the one that it names, or all
// that clusters have named or whose outputs are known.
func (v *View) selectEnvironments(ctx context.Context, named string) ([]string, error) {
	var all []string
	err := v.Ask(ctx, func(s *ledgerdb.Store) (err error) {
		all, err = s.FindEnvironments(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, name := range v.Ledger.FindEnvironments() {
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	if named == "" {
		return all, nil
	}
	if !slices.Contains(all, named) {
		return nil, &UnknownError{"environment", named, all}
	}
	return []string{named}, nil
}

// checkCluster returns the error of a cluster or a type that is not known.
func (v *View) checkCluster(q Query) error {
	if q.Cluster == "" && q.Type == "" {
		return nil
	}
	var names, types []string
	for _, c := range v.Ledger.Clusters() {
		names = append(names, c.Name())
		if !slices.Contains(types, c.Group.ClusterType) {
			types = append(types, c.Group.ClusterType)
		}
	}
	switch {
	case q.Cluster != "" && !slices.Contains(names, q.Cluster):
		return &UnknownError{"cluster", q.Cluster, names}
	case q.Type != "" && !slices.Contains(types, q.Type):
		return &UnknownError{"cluster type", q.Type, types}
	}
	return nil
}

// checkStanding returns the error of a standing that there is not.
func (v *View) checkStanding(named string) error {
	known := append(ledger.ClassNames(), Retired)
	if named != "" && !slices.Contains(known, named) {
		return &UnknownError{"standing", named, known}
	}
	return nil
}
