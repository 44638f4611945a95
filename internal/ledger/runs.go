package ledger

import (
	"cmp"
	"slices"
	"time"
	"unique"
)

// Runs is how many clusters of an environment run a revision of an object.
type Runs struct {
	Object, Environment, Revision string
	App                           string // see State
	Clusters, Ready               int
}

// FindRuns returns what the objects of two environments run, by object, environment and revision.
// Platform objects are left out.
func (l *Ledger) FindRuns(environment, other string) []Runs {
	type run struct {
		object                unique.Handle[string]
		environment, revision string
	}
	counts := map[run]*Runs{}
	for _, c := range l.roster.clusters {
		in := c.Group.Environment
		if in != environment && in != other {
			continue
		}
		for _, known := range l.book.clusters[c.ID] {
			if c.Applies(known.name.Value()) {
				continue
			}
			state := known.state()
			found := run{known.name, in, state.Revision}
			count := counts[found]
			if count == nil {
				count = &Runs{Object: known.name.Value(), Environment: in, Revision: state.Revision}
				counts[found] = count
			}
			count.Clusters++
			count.App = max(count.App, state.App)
			if state.Phase == Ready {
				count.Ready++
			}
		}
	}
	var all []Runs
	for _, count := range counts {
		all = append(all, *count)
	}
	slices.SortFunc(all, func(a, b Runs) int {
		return cmp.Or(cmp.Compare(a.Object, b.Object), cmp.Compare(a.Environment, b.Environment), cmp.Compare(a.Revision, b.Revision))
	})
	return all
}

// VisitObjects calls visit with what each object of the clusters of an environment says, and since when, cluster by
// cluster. Platform objects, and those that fetch what others apply, are left out. visit must not keep the cluster.
func (l *Ledger) VisitObjects(environment string, visit func(c *Cluster, object string, s State, since time.Time)) {
	for _, c := range l.roster.clusters {
		if c.Group.Environment != environment {
			continue
		}
		for _, known := range l.book.clusters[c.ID] {
			name := known.name.Value()
			if !c.Applies(name) && !IsSourceKind(Object{Name: name}.Kind()) {
				visit(c, name, l.book.explained(Object{c.ID, name}, known), timeOf(known.open.since))
			}
		}
	}
}
