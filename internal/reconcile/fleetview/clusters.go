package fleetview

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/reconcile/ledgerdb"
)

// Cluster is a cluster, and how it stands to what is wanted of it.
type Cluster struct {
	Name        string `json:"name"`
	Environment string `json:"environment"`
	Type        string `json:"clusterType"`
	// Standing is one of the classes of the ledger, Retired, Moved, or Excluded.
	Standing string `json:"standing"`
	Why      string `json:"why,omitempty"`
	// Revision is what it runs, and Attempted what it is at work on, if that is another one.
	Revision  string    `json:"revision,omitempty"`
	Attempted string    `json:"attempted,omitempty"`
	Since     time.Time `json:"since,omitzero"` // when it began to say so
	FirstSeen time.Time `json:"firstSeen,omitzero"`
	LastSeen  time.Time `json:"lastSeen,omitzero"`
	// MovedFrom is where it belonged before; nil if it was nowhere else.
	MovedFrom *MovedFrom `json:"movedFrom,omitempty"`
	// Contest is set if two clusters report under the name.
	Contest *Contest `json:"contest,omitempty"`
	// HeldUp is the last object that was seen to finish the health check of an older revision first; nil for none.
	HeldUp *HeldUp `json:"heldUp,omitempty"`
	// HasNewest reports whether it has applied all that the newest output holds for it, whatever its other objects say.
	HasNewest bool `json:"-"`
	// Word is what people call the standing of one that waits for approval or has drifted; "" for the standing itself.
	Word string `json:"-"`
	// Base is the commit of the base that Revision was rendered from, and AttemptedBase that of Attempted; "" if it is
	// not known.
	Base          string `json:"-"`
	AttemptedBase string `json:"-"`
	order         int    // of its environment
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

// HeldUp is an object whose controller finished the health check of a revision although it had a newer one.
type HeldUp struct {
	Object string    `json:"object"`
	Seen   time.Time `json:"seen"` // when it was last seen to
}

// MovedFrom is a part of the fleet that a cluster belonged to until a time.
type MovedFrom struct {
	Environment string    `json:"environment"`
	Type        string    `json:"clusterType"`
	Until       time.Time `json:"until"`
}

const (
	// Retired is how a cluster stands that is no longer expected.
	Retired = "retired"
	// Moved is how a cluster stands in an environment that it has lately left.
	Moved = "moved"
	// Excluded is the standing of a cluster that reports an output of an environment in which it does not count.
	Excluded = "excluded"
)

// movedShown is for how long a cluster is shown as moved.
const movedShown = 7 * 24 * time.Hour

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
			switch {
			case s.Cluster != nil:
				add(newCluster(s, found))
			case s.Listed != "" && found.moved[s.Listed] == "": // one that is moved is listed as that
				add(Cluster{Name: s.Listed, Environment: name, Type: s.Type, Standing: s.Class.String(), Why: explainSituation(s, found)})
			}
		}
		for _, c := range v.Ledger.FindRetired(name) {
			add(newRetired(c))
		}
		for _, c := range v.Ledger.Clusters() {
			left, ok := findLeft(&c, name, v.Now())
			switch {
			case name != "" && c.Excluded == name:
				add(newExcluded(&c, v.Ledger.Membership()))
			case ok:
				add(newMoved(&c, left))
			}
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

// newExcluded returns a cluster as it is shown in the environment in which it does not count.
func newExcluded(c *ledger.Cluster, m ledger.Membership) Cluster {
	why := "it does not count: its key is for " + text.Join(m.FindBound(c.Name()), " and ")
	if list := m.FindClosed(c.Excluded); list.Excludes(c.Name()) {
		why = fmt.Sprintf("it does not count: it is not in %s, which is closed", list.Subject)
	}
	return Cluster{Name: c.Name(), Environment: c.Excluded, Standing: Excluded, Why: why, FirstSeen: c.FirstSeen, LastSeen: c.LastSeen}
}

func newCluster(s ledger.Situation, of situations) Cluster {
	found := Cluster{
		Name: s.Cluster.Name(), Environment: s.Cluster.Group.Environment, Type: s.Type, Standing: s.Class.String(), Why: explainSituation(s, of),
		MovedFrom: newMovedFrom(s.Cluster), Word: causeWords[s.Reason.Cause.String()],
		Revision: s.Platform.Revision, Attempted: s.Platform.Attempted, Since: s.Since, FirstSeen: s.Cluster.FirstSeen, LastSeen: s.Cluster.LastSeen,
	}
	found.HasNewest = s.Class == ledger.ClassReady || s.Platform.Phase == ledger.Ready && !s.Cluster.Applies(s.Object.Name) && (s.Class == ledger.ClassFailed || s.Class == ledger.ClassProgressing)
	found.Base, found.AttemptedBase = of.findBase(found.Revision), of.findBase(found.Attempted)
	if s.Cluster.HeldUp != "" {
		found.HeldUp = &HeldUp{s.Cluster.HeldUp, s.Cluster.HeldUpSeen}
	}
	if s.Contest != nil {
		found.Contest = &Contest{UID: s.Contest.UID, Rival: s.Contest.Rival, Object: s.Contest.Object, Adoptable: s.Contest.IsAdoptable}
	}
	return found
}

// findBase returns the commit of the base that a revision was rendered from; "" if it is not known.
func (of situations) findBase(revision string) string {
	output, _ := of.wants.Outputs.Find(revision)
	return of.wants.Bases[output.Revision]
}

// findLeft returns the place in an environment that a cluster has lately left, and false if it has left none, or
// belongs there again.
func findLeft(c *ledger.Cluster, environment string, now time.Time) (ledger.Place, bool) {
	for _, p := range slices.Backward(c.Places()) {
		if p.Group.Environment == environment && c.Group.Environment != environment {
			return p, now.Sub(p.Until) <= movedShown
		}
	}
	return ledger.Place{}, false
}

// newMoved returns a cluster as it is shown where it has been.
func newMoved(c *ledger.Cluster, left ledger.Place) Cluster {
	return Cluster{
		Name: c.Name(), Environment: left.Group.Environment, Type: left.Group.ClusterType, Standing: Moved, FirstSeen: c.FirstSeen, LastSeen: c.LastSeen,
		Why: describeMove(c, left.Until),
	}
}

// describeMove returns where a cluster belongs since it was moved.
func describeMove(c *ledger.Cluster, since time.Time) string {
	if c.Group.Environment == "" {
		return "it has left at " + since.Format(time.RFC3339) + ", and belongs to no environment"
	}
	return fmt.Sprintf("it belongs to %s, type %s, since %s", c.Group.Environment, c.Group.ClusterType, since.Format(time.RFC3339))
}

// newMovedFrom returns where a cluster belonged before; nil if it was nowhere else.
func newMovedFrom(c *ledger.Cluster) *MovedFrom {
	all := c.Places()
	if len(all) == 0 {
		return nil
	}
	last := all[len(all)-1]
	return &MovedFrom{last.Group.Environment, last.Group.ClusterType, last.Until}
}

// situations are how the clusters of an environment stand at a time, and to what.
type situations struct {
	all   []ledger.Situation
	wants ledgerdb.Wants
	now   time.Time
	moved map[string]string // why clusters that are expected by name belong elsewhere
}

// findSituations returns how the clusters of an environment stand to its newest output.
func (v *View) findSituations(ctx context.Context, environment string) (situations, error) {
	wants, err := v.findWants(ctx, environment)
	if err != nil {
		return situations{}, err
	}
	w := ledger.Wanted{Environment: environment, Output: wants.Newest, Expected: wants.Expected, Listed: v.Ledger.FindListed(environment), AllObjects: true}
	all := v.Ledger.FindSituations(w, &wants.Outputs)
	return situations{all, wants, v.Now(), v.findMoved(all, environment)}, nil
}

// findMoved returns why clusters that an environment expects by name, and does not have, belong elsewhere.
func (v *View) findMoved(all []ledger.Situation, environment string) map[string]string {
	missing := slices.ContainsFunc(all, func(s ledger.Situation) bool { return s.Listed != "" })
	if !missing {
		return nil
	}
	why := map[string]string{}
	for _, c := range v.Ledger.Clusters() {
		if c.Group.Environment != "" && c.Group.Environment != environment {
			since := c.LastMoved()
			if since.IsZero() {
				since = c.FirstSeen
			}
			why[c.Name()] = describeMove(&c, since)
		}
	}
	return why
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
	for _, environment := range v.Ledger.FindEnvironments() {
		for name, clusterType := range v.Ledger.FindListed(environment) {
			names, types = append(names, name), append(types, clusterType)
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
	known := append(ledger.ClassNames(), Retired, Moved, Excluded)
	if named != "" && !slices.Contains(known, named) {
		return &UnknownError{"standing", named, known}
	}
	return nil
}
