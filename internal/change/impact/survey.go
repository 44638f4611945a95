package impact

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/tree"
)

// survey is a walk over two trees, with its findings so far. Units are visited in
// the order of their paths, and are not kept.
type survey struct {
	opt       Options
	report    Report
	targets   map[string]string // to their workloads
	workloads map[string]bool
	groups    map[string]*group // of units whose files are not inspected
	shapes    map[digest]*shape
	looks     int // how many changes may still be inspected
	signer    signer
	changes   []tree.Change // of the unit at hand
}

const trackingFile = ".github/tracking/Promoted_Commit_Id"

func (s *survey) root(old, new tree.Tree) {
	for was, is := range tree.Pairs(old, new) {
		name := cmp.Or(was.Name, is.Name)
		if (was.IsDir() || is.IsDir()) && !strings.HasPrefix(name, ".") {
			s.clusterType(name, was.Tree(), is.Tree())
			continue
		}
		for c := range tree.Diff(alone(was), alone(is)) {
			s.file(c)
		}
	}
}

func (s *survey) clusterType(name string, old, new tree.Tree) {
	s.report.ClusterTypes++
	switch {
	case old.IsEmpty():
		s.whole(ClusterType, "", ClusterTypeAdded).add(name, name)
	case new.IsEmpty():
		s.whole(ClusterType, "", ClusterTypeRemoved).add(name, name)
	}
	for was, is := range tree.Pairs(old, new) {
		entry, isWhole := cmp.Or(was.Name, is.Name), old.IsEmpty() || new.IsEmpty()
		if was.IsDir() || is.IsDir() {
			s.assignment(place{name, entry}, was.Tree(), is.Tree(), isWhole)
			continue
		}
		change := tree.Change{Path: entry, Old: was, New: is}
		s.count(change)
		if !isWhole {
			s.change(place{name, ""}, File, []tree.Change{change})
		}
	}
}

// assignment records an assignment that differs. Those that are added or removed
// are grouped by the cause: their cluster type, or their target.
func (s *survey) assignment(at place, old, new tree.Tree, withClusterType bool) {
	s.addTarget(at.target)
	cause := printable("target " + at.target)
	if withClusterType {
		cause = printable("with cluster type " + at.clusterType)
	}
	switch {
	case old.IsEmpty():
		s.report.Assignments.Added++
		s.report.Files.Added += new.Count()
		s.whole(Assignment, cause, AssignmentAdded).add(at.clusterType, at.path())
	case new.IsEmpty():
		s.report.Assignments.Removed++
		classes := []Class{AssignmentRemoved}
		if s.countRemoved(old) {
			classes = []Class{CRDRemoved, AssignmentRemoved}
		}
		s.whole(Assignment, cause, classes...).add(at.clusterType, at.path())
	default:
		s.report.Assignments.Changed++
		s.changes = slices.AppendSeq(s.changes[:0], tree.Diff(old, new))
		for _, c := range s.changes {
			s.count(c)
		}
		s.change(at, Assignment, s.changes)
	}
}

// countRemoved counts the files of a folder that is removed, and reports whether it
// defines custom resources.
func (s *survey) countRemoved(old tree.Tree) (definesResources bool) {
	for _, e := range old.Walk() {
		s.report.Files.Removed++
		definesResources = definesResources || bytes.Contains(e.Data, []byte("CustomResourceDefinition"))
	}
	return definesResources
}

func (s *survey) count(c tree.Change) {
	switch {
	case c.Added():
		s.report.Files.Added++
	case c.Removed():
		s.report.Files.Removed++
	default:
		s.report.Files.Changed++
	}
}

// file records a file outside of cluster types.
func (s *survey) file(c tree.Change) {
	s.count(c)
	class, detail := OtherFiles, ""
	switch {
	case c.Path == trackingFile:
		class, detail = PromotedCommit, commit(c.Old)+" -> "+commit(c.New)
	case strings.HasPrefix(c.Path, ".fairlead/"):
		class = Bookkeeping
	}
	s.whole(File, detail, class).add("", c.Path)
}

// commit returns the commit in the tracking file.
func commit(e tree.Entry) string {
	return cmp.Or(printable(strings.TrimSpace(string(e.Data))), "none")
}

func (s *survey) addTarget(target string) {
	if _, known := s.targets[target]; known {
		return
	}
	s.targets[target] = ""
	if s.opt.Workload != nil {
		s.targets[target] = cmp.Or(s.opt.Workload(target), target)
		s.workloads[s.targets[target]] = true
	}
}

// place is the location of a unit. Files and folders of the cluster type itself
// have no target.
type place struct{ clusterType, target string }

func (p place) path() string {
	return strings.TrimSuffix(p.clusterType+"/"+p.target, "/")
}

// alone returns a tree with only that entry; an empty one for the zero Entry.
func alone(e tree.Entry) tree.Tree {
	if e.Name == "" {
		return tree.Tree{}
	}
	return tree.FromEntries([]tree.Entry{e})
}
