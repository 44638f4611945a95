package ledger

import (
	"cmp"
	"slices"
	"time"
	"unique"
)

// Runs counts an environment's clusters that run a revision of an object.
type Runs struct {
	Object, Environment, Revision string
	App                           string
	Clusters, Ready               int
}

// FindRuns returns the runs of two environments by object, environment and revision, without
// platform objects.
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

// VisitObjects calls visit for an environment's objects, cluster by cluster, without platform
// objects and sources. visit must not keep the cluster.
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
