package impact

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/tree"
)

// survey walks two trees. Units are visited in the order of their paths and not kept.
type survey struct {
	opt             Options
	report          Report
	targets         map[string]string // to their workloads
	moves           map[string]*moves
	workloads       map[string]bool
	groups          map[string]*group
	shapes          map[digest]*shape
	inspectionsLeft int
	needs           map[location][]string // dependencies of removed targets
	signer          signer
	changes         []tree.Change // of the current unit
}

const trackingFile = ".github/tracking/Promoted_Commit_Id"

func (s *survey) visitRoot(old, new tree.Tree) {
	stacks := false
	for was, is := range tree.ZipChanged(old, new) {
		name := cmp.Or(was.Name, is.Name)
		if isOfStacks(name, old, new) {
			stacks = true
			continue
		}
		if (was.IsDir() || is.IsDir()) && !strings.HasPrefix(name, ".") && !isOfClusters(name, old, new) {
			s.visitClusterType(name, was.Tree(), is.Tree())
			continue
		}
		class := OtherFiles
		if isOfClusters(name, old, new) {
			class = ClusterFiles
		}
		for c := range tree.Diff(singleEntryTree(was), singleEntryTree(is)) {
			s.visitFile(c, class)
		}
	}
	if stacks {
		s.visitStacks(old, new)
	}
}

func (s *survey) visitClusterType(name string, old, new tree.Tree) {
	s.report.ClusterTypes++
	switch {
	case old.IsEmpty():
		s.wholeGroup(ClusterType, "", ClusterTypeAdded).add(name, name)
	case new.IsEmpty():
		s.wholeGroup(ClusterType, "", ClusterTypeRemoved).add(name, name)
	}
	for was, is := range tree.ZipChanged(old, new) {
		entry, isWhole := cmp.Or(was.Name, is.Name), old.IsEmpty() || new.IsEmpty()
		if was.IsDir() || is.IsDir() {
			s.visitAssignment(location{clusterType: name, target: entry}, was.Tree(), is.Tree(), isWhole)
			continue
		}
		change := tree.Change{Path: entry, Old: was, New: is}
		s.countFile(change)
		if !isWhole {
			s.recordChange(location{clusterType: name}, File, []tree.Change{change})
		}
	}
}

// visitAssignment groups added and removed assignments by cause: their cluster type or
// target.
func (s *survey) visitAssignment(at location, old, new tree.Tree, withClusterType bool) {
	if _, known := s.targets[at.target]; !known {
		s.targets[at.target] = ""
		if s.opt.Workload != nil {
			s.targets[at.target] = s.opt.workloadOf(at.target)
			s.workloads[s.targets[at.target]] = true
		}
	}
	s.report.Touched = append(s.report.Touched, TouchedAssignment{at.clusterType, at.target, old.IsEmpty(), new.IsEmpty()})
	cause := printableText("target " + at.target)
	isMoved := s.takeMove(at.target, old.IsEmpty(), new.IsEmpty())
	if withClusterType && !isMoved {
		cause = printableText("with cluster type " + at.clusterType)
	}
	switch {
	case old.IsEmpty():
		s.report.Assignments.Added++
		s.report.Files.Added += new.Count()
		class := AssignmentAdded
		if isMoved {
			class = AssignmentMoved
		}
		s.wholeGroup(Assignment, cause, class).add(at.clusterType, at.path())
	case new.IsEmpty():
		s.report.Assignments.Removed++
		class := AssignmentRemoved
		if isMoved {
			class = AssignmentMoved
		}
		s.visitRemoved(at, old, cause, class)
	default:
		s.report.Assignments.Changed++
		s.changes = slices.AppendSeq(s.changes[:0], tree.Diff(old, new))
		for _, c := range s.changes {
			s.countFile(c)
		}
		if rest := withoutSeals(s.changes); len(rest) < len(s.changes) {
			at.seals, s.changes = findSeals(s.changes), rest
		}
		s.visitTerraforms(at, list.Convert(s.changes, func(c tree.Change) tree.Entry { return c.Old }), list.Convert(s.changes, func(c tree.Change) tree.Entry { return c.New }))
		at.look = s.visitContents(at)
		s.recordChange(at, Assignment, s.changes)
	}
}

func (s *survey) visitRemoved(at location, old tree.Tree, cause string, class Class) {
	classes := []Class{class}
	var files []tree.Entry
	for _, e := range old.Walk() {
		files = append(files, e)
		s.report.Files.Removed++
		if bytes.Contains(e.Data, []byte("CustomResourceDefinition")) {
			classes = []Class{CRDRemoved, class}
		}
	}
	s.noteNeeds(at, files)
	if modules := s.visitTerraforms(at, files, nil); len(modules) > 0 {
		classes = append([]Class{InfrastructureDestroyed}, classes...)
		cause += ": Terraform destroys what " + joinSome(list.Convert(modules, printableText), "module") + " made"
	}
	s.wholeGroup(Assignment, cause, classes...).add(at.clusterType, at.path())
}

func (s *survey) countFile(c tree.Change) {
	switch {
	case c.Added():
		s.report.Files.Added++
	case c.Removed():
		s.report.Files.Removed++
	default:
		s.report.Files.Changed++
	}
}

func (s *survey) visitFile(c tree.Change, class Class) {
	s.countFile(c)
	detail := ""
	switch {
	case c.Path == trackingFile:
		class, detail = PromotedCommit, promotedCommit(c.Old)+" -> "+promotedCommit(c.New)
	case strings.HasPrefix(c.Path, ".fairlead/"):
		class = Bookkeeping
	}
	s.wholeGroup(File, detail, class).add("", c.Path)
}

func promotedCommit(e tree.Entry) string {
	return cmp.Or(printableText(strings.TrimSpace(string(e.Data))), "none")
}

// location locates a unit. Files and folders of the cluster type itself have no target.
// With stack, the names are of a stack and a component. titled means that a phrase of
// its own describes the change.
type location struct {
	clusterType, target string
	stack               bool
	seals               [2]string
	titled              bool
	look                *look
}

func (p location) path() string {
	return strings.TrimSuffix(p.clusterType+"/"+p.target, "/")
}

func singleEntryTree(e tree.Entry) tree.Tree {
	if e.Name == "" {
		return tree.Tree{}
	}
	return tree.FromEntries([]tree.Entry{e})
}
