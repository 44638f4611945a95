package ledger

import (
	"cmp"
	"maps"
	"slices"
	"strings"
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
	Cluster *Cluster // as it was then; nil for one that is expected, and never in touch
	Listed  string   // the name of such a one; "" if only the number of them is known
	Type    string
	Class   Class
	Object  Object // that decides, for ClassFailed and ClassProgressing
	Message string // of a failure
}

// FindStandings returns how each expected cluster stands to what is wanted, by type and name.
func (l *Ledger) FindStandings(w Wanted, outputs *Outputs, now time.Time) []Standing {
	var all []Standing
	for _, s := range l.judgeAll(w, outputs, now) {
		all = append(all, s.Standing)
	}
	return all
}

// judgeAll returns how each expected cluster stands to what is wanted, by type and name, and not why.
func (l *Ledger) judgeAll(w Wanted, outputs *Outputs, now time.Time) []Situation {
	var all []Situation
	for _, e := range l.listExpected(w, now) {
		if e.cluster == nil {
			all = append(all, Situation{Standing: Standing{Listed: e.name, Type: e.clusterType, Class: ClassUnheard}})
			continue
		}
		s := l.judgePlatform(e.cluster, w, outputs, now)
		if w.AllObjects && s.Class == ClassReady {
			s.Standing = l.judgeObjects(s.Standing, w)
		}
		all = append(all, s)
	}
	return all
}

// expected is a cluster that there should be.
type expected struct {
	cluster           *Cluster // nil for one that was never in touch
	clusterType, name string   // the name is "" for one of which only the number is known
}

// listExpected returns the clusters that there should be, by type and name.
func (l *Ledger) listExpected(w Wanted, now time.Time) []expected {
	var all []expected
	missing, heard := map[string]int{}, map[string]bool{}
	maps.Copy(missing, w.Expected)
	for _, c := range l.roster.clusters {
		if c.Group.Environment != w.Environment || c.Excluded != "" && w.Environment == "" {
			continue
		}
		_, isListed := w.Listed[c.Name()]
		if l.IsRetired(c, now) && !isListed {
			continue
		}
		if isListed {
			heard[c.Name()] = true
		}
		missing[c.Group.ClusterType]--
		all = append(all, expected{c, c.Group.ClusterType, c.Name()})
	}
	for name, clusterType := range w.Listed {
		if !heard[name] {
			missing[clusterType]--
			all = append(all, expected{nil, clusterType, name})
		}
	}
	for clusterType, n := range missing {
		for range n {
			all = append(all, expected{nil, clusterType, ""})
		}
	}
	slices.SortFunc(all, func(a, b expected) int {
		byType := strings.Compare(a.clusterType, b.clusterType)
		if byType != 0 {
			return byType
		}
		return strings.Compare(a.name, b.name)
	})
	return all
}

// judgePlatform returns how a cluster stands by what applies the output alone: by the worst of these objects.
func (l *Ledger) judgePlatform(c *Cluster, w Wanted, outputs *Outputs, now time.Time) Situation {
	all := c.Appliers()
	worst := l.judgeApplier(c, all[0], w, outputs, now)
	for _, a := range all[1:] {
		if s := l.judgeApplier(c, a, w, outputs, now); s.Class < worst.Class {
			worst = s
		}
	}
	return worst
}

// judgeApplier returns how a cluster stands by one object that applies a folder of the output.
func (l *Ledger) judgeApplier(c *Cluster, a Applier, w Wanted, outputs *Outputs, now time.Time) Situation {
	s := Situation{Standing: Standing{Cluster: c.Clone(), Type: c.Group.ClusterType, Object: Object{c.ID, a.Object}}}
	known := l.book.find(s.Object)
	if known != nil {
		s.Platform, s.Since = l.book.explained(s.Object, known), timeOf(known.open.since)
	}
	at, ours := outputs.Find(s.Platform.Target())
	lacksSome := len(c.Others) > 0 && a.Folder == "" && !sameFolders(at.Folders, w.Output.Folders)
	switch {
	case c.IsContested(now):
		s.Class = ClassContested
	case c.Unproven:
		s.Class = ClassUnproven
	case c.IsSilent(now):
		s.Class = ClassSilent
	case known == nil || !ours || at.Abandoned[cmp.Or(a.Folder, s.Type)]:
		s.Class = ClassUnknown
	case !at.Holds(w.Output, a.Folder) || lacksSome:
		s.Class = ClassBehind
	case s.Platform.Phase.IsFailure():
		s.Class, s.Message = ClassFailed, s.Platform.Message
	case s.Platform.Phase == Ready:
		s.Class = ClassReady
	default:
		s.Class = ClassProgressing
	}
	return s
}

// judgeObjects returns how a cluster stands whose platform object is ready, by its other objects: one
// that has failed since the output was merged fails it, and any other that is not ready keeps it from
// being ready. What waits for a person to approve a plan has not failed.
func (l *Ledger) judgeObjects(s Standing, w Wanted) Standing {
	for _, name := range l.book.names(s.Cluster.ID) {
		o := Object{s.Cluster.ID, name}
		known := l.book.find(o)
		state := l.book.explained(o, known)
		switch {
		case state.Phase == Ready, state.Phase == Unknown && state.Target() == "": // it says nothing of any revision
		case state.Phase.IsFailure() && !timeOf(known.open.since).Before(w.Output.Merged):
			return Standing{Cluster: s.Cluster, Type: s.Type, Class: ClassFailed, Object: o, Message: state.Message}
		case s.Class == ClassReady:
			s.Class, s.Object = ClassProgressing, o
		}
	}
	return s
}
