package ledger

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
)

// Class is a cluster's status against a wanted output: the first that applies.
type Class uint8

// The classes, worst first.
const (
	ClassContested Class = iota // two clusters report under the name
	ClassUnheard                // expected, but never in touch
	ClassUnproven               // without a credential of its own
	ClassSilent                 // not in touch recently
	ClassFailed                 // it failed with the wanted output
	ClassUnknown                // at a revision that is not an output
	ClassBehind                 // at another folder than the wanted one
	ClassProgressing
	ClassReady
)

var classNames = [...]string{"contested", "unheard", "unproven", "silent", "failed", "unknown", "behind", "progressing", "ready"}

// String returns the name of a class.
func (c Class) String() string { return classNames[min(int(c), len(classNames)-1)] }

// ClassNames returns the names of all classes.
func ClassNames() []string { return slices.Clone(classNames[:]) }

// Wanted is what an environment's clusters should run.
type Wanted struct {
	Environment string
	Output      Output
	// Expected counts clusters by type; a missing type expects the known ones that are not retired.
	Expected map[string]int
	// Listed has the types of clusters expected by name.
	Listed map[string]string
	// AllObjects requires all objects to be ready.
	AllObjects bool
}

// Standing is one cluster's status against what is wanted.
type Standing struct {
	Cluster *Cluster // a copy; nil if never in touch
	Listed  string   // name if never in touch; "" if unknown
	Type    string
	Class   Class
	Object  Object // deciding, for ClassFailed and ClassProgressing
	Message string
}

// FindStandings returns the standings of expected clusters, by type and name.
func (l *Ledger) FindStandings(w Wanted, outputs *Outputs, now time.Time) []Standing {
	var all []Standing
	for _, s := range l.judgeAll(w, outputs, now) {
		all = append(all, s.Standing)
	}
	return all
}

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

type expected struct {
	cluster           *Cluster
	clusterType, name string
}

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

// judgeObjects applies if the platform object is ready. A failure since the merge fails the
// cluster; other unready objects make it progressing.
func (l *Ledger) judgeObjects(s Standing, w Wanted) Standing {
	for _, name := range l.book.names(s.Cluster.ID) {
		o := Object{s.Cluster.ID, name}
		known := l.book.find(o)
		state := l.book.explained(o, known)
		switch {
		case state.Phase == Ready, state.Phase == Unknown && state.Target() == "": // it reports no revision
		case state.Phase.IsFailure() && !timeOf(known.open.since).Before(w.Output.Merged):
			return Standing{Cluster: s.Cluster, Type: s.Type, Class: ClassFailed, Object: o, Message: state.Message}
		case s.Class == ClassReady:
			s.Class, s.Object = ClassProgressing, o
		}
	}
	return s
}
