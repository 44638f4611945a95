package ledger

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// Class is how a cluster stands to a wanted output. A cluster is of the first class that fits.
type Class uint8

// The classes.
const (
	ClassContested   Class = iota // two clusters report under the name
	ClassUnheard                  // expected, and never in touch
	ClassUnproven                 // without a credential of its own
	ClassSilent                   // not in touch lately
	ClassFailed                   // it failed at what is wanted
	ClassUnknown                  // at a revision that is no output of ours
	ClassBehind                   // at another folder than the wanted one
	ClassProgressing              // at work on what is wanted
	ClassReady
)

var classNames = [...]string{"contested", "unheard", "unproven", "silent", "failed", "unknown", "behind", "progressing", "ready"}

// String returns the name of a class.
func (c Class) String() string { return classNames[min(int(c), len(classNames)-1)] }

// ClassNames returns the names of all classes.
func ClassNames() []string { return slices.Clone(classNames[:]) }

// Wanted is what the clusters of an environment should run.
type Wanted struct {
	Environment string
	Output      Output
	// Expected are how many clusters of each type there should be; a type that is missing here has
	// those that were in touch and are not retired.
	Expected map[string]int
	// Listed are the types of clusters that are expected by name.
	Listed map[string]string
	// AllObjects is set if not only the platform object must be ready, but all objects.
	AllObjects bool
}

// Standing is how one cluster stands to what is wanted.
type Standing struct {
	Cluster *Cluster // nil for one that is expected, and never in touch
	Listed  string   // the name of such a one; "" if only the number of them is known
	Type    string
	Class   Class
	Object  Object // that decides, for ClassFailed and ClassProgressing
	Message string // of a failure
}

// FindStandings returns how each expected cluster stands to what is wanted, by type and name.
func (l *Ledger) FindStandings(w Wanted, outputs *Outputs, now time.Time) []Standing {
	objects := map[string][]Object{}
	if w.AllObjects {
		objects = l.objectsByCluster()
	}
	var all []Standing
	missing, heard := map[string]int{}, map[string]bool{}
	maps.Copy(missing, w.Expected)
	for _, c := range l.roster.All() {
		_, isListed := w.Listed[c.Name()]
		if c.Group.Environment != w.Environment || l.IsRetired(c, now) && !isListed {
			continue
		}
		heard[c.Name()] = true
		missing[c.Group.ClusterType]--
		s := l.judgePlatform(c, w, outputs, now)
		if s.Class == ClassReady {
			s = l.judgeObjects(s, objects[c.ID], w)
		}
		all = append(all, s)
	}
	for name, clusterType := range w.Listed {
		if !heard[name] {
			missing[clusterType]--
			all = append(all, Standing{Listed: name, Type: clusterType, Class: ClassUnheard})
		}
	}
	for clusterType, n := range missing {
		for range n {
			all = append(all, Standing{Type: clusterType, Class: ClassUnheard})
		}
	}
	slices.SortFunc(all, func(a, b Standing) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.name(), b.name()))
	})
	return all
}

// judgePlatform returns how a cluster stands by its platform object alone.
func (l *Ledger) judgePlatform(c *Cluster, w Wanted, outputs *Outputs, now time.Time) Standing {
	s := Standing{Cluster: c, Type: c.Group.ClusterType, Object: Object{c.ID, c.Platform}}
	platform, known := l.book.Find(s.Object)
	at, ours := outputs.Find(platform.Target())
	switch {
	case c.IsContested(now):
		s.Class = ClassContested
	case c.Unproven:
		s.Class = ClassUnproven
	case c.IsSilent(now):
		s.Class = ClassSilent
	case !known || !ours:
		s.Class = ClassUnknown
	case !at.Holds(w.Output, s.Type):
		s.Class = ClassBehind
	case platform.Phase == Failed:
		s.Class, s.Message = ClassFailed, platform.Message
	case platform.Phase == Ready:
		s.Class = ClassReady
	default:
		s.Class = ClassProgressing
	}
	return s
}

// judgeObjects returns how a cluster stands whose platform object is ready, by its other objects: one
// that has failed since the output was merged fails it, and any other that is not ready keeps it from
// being ready.
func (l *Ledger) judgeObjects(s Standing, objects []Object, w Wanted) Standing {
	for _, o := range objects {
		state, _ := l.book.Find(o)
		since := l.book.findSince(o)
		switch {
		case state.Phase == Ready:
		case state.Phase == Failed && !since.Before(w.Output.Merged):
			return Standing{Cluster: s.Cluster, Type: s.Type, Class: ClassFailed, Object: o, Message: state.Message}
		case s.Class == ClassReady:
			s.Class, s.Object = ClassProgressing, o
		}
	}
	return s
}

func (l *Ledger) objectsByCluster() map[string][]Object {
	all := map[string][]Object{}
	for o := range l.book.All() {
		all[o.Cluster] = append(all[o.Cluster], o)
	}
	for _, objects := range all {
		slices.SortFunc(objects, func(a, b Object) int { return cmp.Compare(a.Name, b.Name) })
	}
	return all
}

// name returns the name of the cluster; "" for one of which only the number is known.
func (s Standing) name() string {
	if s.Cluster == nil {
		return s.Listed
	}
	return s.Cluster.Name()
}
