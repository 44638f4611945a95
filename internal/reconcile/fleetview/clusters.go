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

// Cluster is a cluster and its status.
type Cluster struct {
	Name        string `json:"name"`
	Environment string `json:"environment"`
	Type        string `json:"clusterType"`
	// Standing is a class of the ledger, or "retired", "moved" or "excluded".
	Standing string `json:"standing"`
	Why      string `json:"why,omitempty"`
	// Message is the whole message of the object that failed, if Why has only its cause.
	Message string `json:"message,omitempty"`
	// Revision is the running one, and Attempted what it works on, if it differs.
	Revision  string    `json:"revision,omitempty"`
	Attempted string    `json:"attempted,omitempty"`
	Since     time.Time `json:"since,omitzero"` // start of this state
	FirstSeen time.Time `json:"firstSeen,omitzero"`
	LastSeen  time.Time `json:"lastSeen,omitzero"`
	// MovedFrom is the previous place, if any.
	MovedFrom *MovedFrom `json:"movedFrom,omitempty"`
	// Contest is set if two clusters report under the name.
	Contest *Contest `json:"contest,omitempty"`
	// HeldUp is the last object that finished an older health check first, if any.
	HeldUp *HeldUp `json:"heldUp,omitempty"`
	// HasNewest is set if it applied the newest output, whatever its other objects report.
	HasNewest bool `json:"-"`
	// Word replaces Standing for people if it waits for approval or drifted; "" otherwise.
	Word string `json:"-"`
	// Base and AttemptedBase are the base commits of Revision and Attempted; "" if unknown.
	Base          string `json:"-"`
	AttemptedBase string `json:"-"`
	order         int    // of its environment
}

// Contest describes two clusters that report under one name.
type Contest struct {
	// UID is the uid of the name's owner, and Rival that of the other cluster; with events, they
	// are uids of Object.
	UID    string `json:"uid"`
	Rival  string `json:"rival"`
	Object string `json:"object"`
	// Adoptable is true if the owner is silent, so that the other cluster can be adopted.
	Adoptable bool `json:"adoptable"`
}

// HeldUp is an object whose controller finished an older health check first.
type HeldUp struct {
	Object string    `json:"object"`
	Seen   time.Time `json:"seen"` // last time it was seen
}

// MovedFrom is a previous place of a cluster.
type MovedFrom struct {
	Environment string    `json:"environment"`
	Type        string    `json:"clusterType"`
	Until       time.Time `json:"until"`
}

const (
	// Retired is the standing of a cluster that is no longer expected.
	Retired = "retired"
	// Moved is the standing in an environment that a cluster recently left.
	Moved = "moved"
	// Excluded is the standing in an environment where a cluster may not count.
	Excluded = "excluded"
)

const movedShown = 7 * 24 * time.Hour

func (c Cluster) key() string { return fmt.Sprintf("%04d %s", c.order, c.Name) }

// FindClusters returns clusters by environment and name.
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
			case s.Listed != "" && found.moved[s.Listed] == "": // a moved one is listed below
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

func (q Query) selects(clusterType, name, standing string) bool {
	return (q.Type == "" || q.Type == clusterType) && (q.Cluster == "" || q.Cluster == name) && (q.Standing == "" || q.Standing == standing)
}

func newRetired(c ledger.Cluster) Cluster {
	return Cluster{
		Name: c.Name(), Environment: c.Group.Environment, Type: c.Group.ClusterType, Standing: Retired, FirstSeen: c.FirstSeen, LastSeen: c.LastSeen,
		Why: "it was last in touch at " + c.LastSeen.Format(time.RFC3339) + ", and is no longer expected",
	}
}

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
	if object := s.Reason.Object.Name; s.Reason.Cause == ledger.CauseFailed && found.Why != object+" failed: "+s.Reason.Message {
		found.Message = object + ": " + s.Reason.Message
	}
	if s.Cluster.HeldUp != "" {
		found.HeldUp = &HeldUp{s.Cluster.HeldUp, s.Cluster.HeldUpSeen}
	}
	if s.Contest != nil {
		found.Contest = &Contest{UID: s.Contest.UID, Rival: s.Contest.Rival, Object: s.Contest.Object, Adoptable: s.Contest.IsAdoptable}
	}
	return found
}

func (of situations) findBase(revision string) string {
	output, _ := of.wants.Outputs.Find(revision)
	return of.wants.Bases[output.Revision]
}

func findLeft(c *ledger.Cluster, environment string, now time.Time) (ledger.Place, bool) {
	for _, p := range slices.Backward(c.Places()) {
		if p.Group.Environment == environment && c.Group.Environment != environment {
			return p, now.Sub(p.Until) <= movedShown
		}
	}
	return ledger.Place{}, false
}

func newMoved(c *ledger.Cluster, left ledger.Place) Cluster {
	return Cluster{
		Name: c.Name(), Environment: left.Group.Environment, Type: left.Group.ClusterType, Standing: Moved, FirstSeen: c.FirstSeen, LastSeen: c.LastSeen,
		Why: describeMove(c, left.Until),
	}
}

func describeMove(c *ledger.Cluster, since time.Time) string {
	if c.Group.Environment == "" {
		return "it has left at " + since.Format(time.RFC3339) + ", and belongs to no environment"
	}
	return fmt.Sprintf("it belongs to %s, type %s, since %s", c.Group.Environment, c.Group.ClusterType, since.Format(time.RFC3339))
}

func newMovedFrom(c *ledger.Cluster) *MovedFrom {
	all := c.Places()
	if len(all) == 0 {
		return nil
	}
	last := all[len(all)-1]
	return &MovedFrom{last.Group.Environment, last.Group.ClusterType, last.Until}
}

type situations struct {
	all   []ledger.Situation
	wants ledgerdb.Wants
	now   time.Time
	moved map[string]string // why listed clusters belong elsewhere, by name
}

func (v *View) findSituations(ctx context.Context, environment string) (situations, error) {
	wants, err := v.findWants(ctx, environment)
	if err != nil {
		return situations{}, err
	}
	w := ledger.Wanted{Environment: environment, Output: wants.Newest, Expected: wants.Expected, Listed: v.Ledger.FindListed(environment), AllObjects: true}
	all := v.Ledger.FindSituations(w, &wants.Outputs)
	return situations{all, wants, v.Now(), v.findMoved(all, environment)}, nil
}

// findMoved returns why missing listed clusters belong elsewhere.
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

func (v *View) findWants(ctx context.Context, environment string) (wants ledgerdb.Wants, err error) {
	revisions, types := v.Ledger.FindTargets(environment)
	err = v.Ask(ctx, func(s *ledgerdb.Store) (err error) {
		wants, err = s.FindWants(ctx, environment, revisions, types)
		return err
	})
	return wants, err
}

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

func (v *View) checkStanding(named string) error {
	known := append(ledger.ClassNames(), Retired, Moved, Excluded)
	if named != "" && !slices.Contains(known, named) {
		return &UnknownError{"standing", named, known}
	}
	return nil
}
