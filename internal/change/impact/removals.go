package impact

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/provision"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
)

// Removals counts what a change removes. The zero Removals removes nothing.
type Removals struct {
	Assignments  Share
	ClusterTypes Share // whose folder or last assignment is removed
	// Namespaces counts assignments that lose their namespace, by removal or rename.
	Namespaces Share
	// Components counts components of stacks that are destroyed, approved to be or
	// removed undestroyed.
	Components Share
	// Stacks lose their last component that was not destroyed. The list is sorted.
	Stacks []string
	// Clusters are destroyed or detached from their cluster type. The list is sorted.
	Clusters []string
	// Destroyed are the targets whose infrastructure Terraform destroys without a plan,
	// sorted. Steps is the rest of a sentence: the order to remove them one by one.
	Destroyed []string
	Steps     string
	// Remade are the components and targets whose state moves without approval, sorted.
	Remade []string
	// Objects counts those that the moved sources hold. Stateful names those of them that are
	// removed with their data, sorted.
	Objects  Share
	Stateful []string
	Unsure   []string // may be removed: what replaces them is unknown
	// Workloads lose their last assignment. A target of no known workload counts as
	// one. The list is sorted.
	Workloads []string
	// Emptied are cluster types that lose their last assignment, sorted.
	Emptied []string

	removedTypes   []string            // cluster types whose whole folder is removed, sorted
	removedTargets map[string][]string // its former targets
	lostTargets    map[string]bool     // targets that are removed from other cluster types
	losingTypes    []string
	lostComponents []string
	losingStacks   []string
	otherObjects   int // without data
}

// Share is a part of the things that existed before.
type Share struct {
	Removed int `json:"removed"`
	Before  int `json:"before"`
}

// Exceeds reports whether more than percent of the things are removed.
func (s Share) Exceeds(percent int) bool { return s.Removed*100 > percent*s.Before }

// IsEmpty reports whether nothing is removed.
func (r Removals) IsEmpty() bool {
	return len(r.Clusters) == 0 && len(r.Destroyed) == 0 && len(r.Remade) == 0 && r.Objects.Removed == 0 && r.Components.Removed == 0 && r.Assignments.Removed == 0 && r.ClusterTypes.Removed == 0 && r.Namespaces.Removed == 0
}

// RemovalsOf returns what the change with this report removes. It reads the names of
// all assignments in new, unless nothing is removed.
func RemovalsOf(old, new tree.Tree, report Report, opt Options) Removals {
	r := Removals{removedTargets: map[string][]string{}, lostTargets: map[string]bool{}}
	removesTypes := false
	for _, g := range report.Groups {
		if slices.Contains(g.Classes, NamespaceRemoved) || slices.Contains(g.Classes, NamespaceRenamed) {
			r.Namespaces.Removed += g.Count
		}
		removesTypes = removesTypes || slices.Contains(g.Classes, ClusterTypeRemoved)
	}
	r.countComponents(old, new, report)
	r.Clusters = findEmptied(report)
	r.countTerraform(report)
	r.countObjects(report)
	if report.Assignments.Removed == 0 && !removesTypes && r.Namespaces.Removed == 0 {
		return r
	}
	assignments, left := countAfter(new, opt)
	workloads := r.collectLost(old, new, opt)
	for _, e := range old.Entries() {
		if isClusterType(e) && !isOfNoType(e.Name, old, new) {
			r.ClusterTypes.Before++
		}
	}
	r.Assignments.Removed = report.Assignments.Removed
	r.Assignments.Before = assignments + report.Assignments.Removed - report.Assignments.Added
	r.Namespaces.Removed += report.Assignments.Removed
	r.Namespaces.Before = r.Assignments.Before
	for _, name := range slices.Sorted(maps.Keys(workloads)) {
		if !left[name] {
			r.Workloads = append(r.Workloads, name)
		}
	}
	return r
}

func findEmptied(report Report) []string {
	var all []string
	for _, c := range report.ClusterChanges {
		for _, s := range c.Steps {
			if s.Kind == provision.DestroyCluster || s.Kind == provision.DetachClusterType {
				all = append(all, s.Cluster)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (r *Removals) countTerraform(report Report) {
	for _, d := range report.Destructions {
		r.Destroyed = append(r.Destroyed, d.Target)
	}
	slices.Sort(r.Destroyed)
	r.Destroyed = slices.Compact(r.Destroyed)
	r.Steps = report.destructionSteps(printableText)
	r.Remade = slices.Sorted(slices.Values(report.remade))
}

func (r *Removals) countComponents(old, new tree.Tree, report Report) {
	for _, s := range report.StackChanges {
		var lost []string
		approved := 0 // countLiving(old) does not count these
		for _, c := range s.Components {
			if c.Change.isLost() {
				lost = append(lost, c.Name)
			}
			if c.Change == ComponentApproved {
				approved++
			}
		}
		if len(lost) == 0 {
			continue
		}
		r.Components.Removed += len(lost)
		r.lostComponents, r.losingStacks = append(r.lostComponents, lost...), append(r.losingStacks, s.Stack)
		r.Components.Before += approved
		if len(lost) > approved && countLiving(new, s.Stack) == 0 {
			r.Stacks = append(r.Stacks, s.Stack)
		}
	}
	if r.Components.Removed > 0 {
		r.Components.Before += countLiving(old, "")
		slices.Sort(r.lostComponents)
		r.lostComponents = slices.Compact(r.lostComponents)
	}
}

// CountComponents returns the number of stack components that are not destroyed.
func CountComponents(output tree.Tree) int { return countLiving(output, "") }

func countLiving(output tree.Tree, stack string) (n int) {
	all, _ := stackfiles.Summarize(output) // an unreadable stack has no components, and its change is unclassified
	for _, s := range all {
		for _, c := range s.Components {
			if (stack == "" || s.Stack == stack) && c.Action != stackfiles.Destroy {
				n++
			}
		}
	}
	return n
}

func countAfter(new tree.Tree, opt Options) (assignments int, workloads map[string]bool) {
	workloads, targets := map[string]bool{}, map[string]bool{}
	for _, e := range new.Entries() {
		if !isClusterType(e) || isOfNoType(e.Name, new, tree.Tree{}) {
			continue
		}
		for _, t := range e.Tree().Entries() {
			if !t.IsDir() {
				continue
			}
			assignments++
			if !targets[t.Name] {
				targets[t.Name], workloads[opt.workloadOf(t.Name)] = true, true
			}
		}
	}
	return assignments, workloads
}

func (r *Removals) collectLost(old, new tree.Tree, opt Options) map[string]bool {
	workloads := map[string]bool{}
	for was, is := range tree.ZipChanged(old, new) {
		if !isClusterType(was) || isOfNoType(was.Name, old, new) {
			continue
		}
		clusterType, after := was.Name, is.Tree()
		lost := targetsLost(was.Tree(), after)
		for _, target := range lost {
			workloads[opt.workloadOf(target)] = true
		}
		emptied := len(lost) > 0 && !slices.ContainsFunc(after.Entries(), tree.Entry.IsDir)
		if emptied {
			r.Emptied = append(r.Emptied, clusterType)
		}
		if emptied || after.IsEmpty() {
			r.ClusterTypes.Removed++
		}
		switch {
		case after.IsEmpty():
			r.removedTypes, r.removedTargets[clusterType] = append(r.removedTypes, clusterType), lost
		case len(lost) > 0:
			r.losingTypes = append(r.losingTypes, clusterType)
			for _, target := range lost {
				r.lostTargets[target] = true
			}
		}
	}
	return workloads
}

func targetsLost(before, after tree.Tree) []string {
	var lost []string
	for was, is := range tree.ZipChanged(before, after) {
		if was.IsDir() && !was.Tree().IsEmpty() && is.Tree().IsEmpty() {
			lost = append(lost, was.Name)
		}
	}
	return lost
}

// CountAssignments returns the number of assignments in an output.
func CountAssignments(t tree.Tree) int {
	assignments, _ := countAfter(t, Options{})
	return assignments
}

func isClusterType(e tree.Entry) bool { return e.IsDir() && !strings.HasPrefix(e.Name, ".") }

func (o Options) workloadOf(target string) string {
	if o.Workload == nil {
		return target
	}
	return cmp.Or(o.Workload(target), target)
}

// String returns a phrase: "hello-web from cloud and edge"; "" for nothing.
func (r Removals) String() string {
	var parts []string
	if len(r.removedTypes) > 0 {
		part := countedNames("cluster type", r.removedTypes)
		var along []string
		for _, name := range r.removedTypes {
			along = append(along, r.removedTargets[name]...)
		}
		slices.Sort(along)
		along = slices.Compact(along)
		if len(along) > 0 {
			part += " with " + listNames("deployment target", along)
		}
		parts = append(parts, part)
	}
	if len(r.lostTargets) > 0 {
		parts = append(parts, fmt.Sprintf("%s from %s", listNames("deployment target", slices.Sorted(maps.Keys(r.lostTargets))), listNames("cluster type", r.losingTypes)))
	}
	if n := r.Namespaces.Removed - r.Assignments.Removed; n > 0 {
		parts = append(parts, fmt.Sprintf("the namespaces of %d of %d assignments", n, r.Namespaces.Before))
	}
	if r.Components.Removed > 0 {
		parts = append(parts, listNames("component", r.lostComponents)+" of "+listNames("stack", r.losingStacks))
	}
	if len(r.Destroyed) > 0 {
		parts = append(parts, "what Terraform made of "+listNames("deployment target", r.Destroyed))
	}
	if len(r.Remade) > 0 {
		parts = append(parts, "the state of "+listNames("Terraform object", r.Remade)+" from where it is")
	}
	parts = append(parts, r.describeObjects()...)
	if len(r.Clusters) > 0 {
		parts = append(parts, "what runs on "+countedNames("cluster", r.Clusters))
	}
	return strings.Join(parts, "; ")
}

// Reasons returns a phrase for each exceeded limit, which needs an approval. Up to few
// removals may exceed percent. last permits the removal of last assignments.
func (r Removals) Reasons(percent, few int, last bool) []string {
	var reasons []string
	if !last && len(r.Workloads) > 0 {
		reasons = append(reasons, "the last assignment of "+countedNames("workload", r.Workloads))
	}
	if !last && len(r.Stacks) > 0 {
		reasons = append(reasons, "the last component of "+countedNames("stack", r.Stacks))
	}
	if !last && len(r.Clusters) > 0 {
		reasons = append(reasons, "all of "+countedNames("cluster", r.Clusters))
	}
	if !last && len(r.Destroyed) > 0 {
		reasons = append(reasons, "Terraform destroys infrastructure as soon as clusters get this, without asking for approval of a plan"+r.Steps)
	}
	if !last && len(r.Remade) > 0 {
		reasons = append(reasons, "Terraform makes again what is not in the new state, and no person approves its plan")
	}
	if !last && len(r.Stateful) > 0 {
		reasons = append(reasons, map[bool]string{true: "its data may go with it", false: "their data may go with them"}[len(r.Stateful) == 1])
	}
	if !last && len(r.Unsure) > 0 {
		reasons = append(reasons, "what becomes of "+text.Count(len(r.Unsure), "object")+" with data is unknown")
	}
	if !last && len(r.Emptied) > 0 {
		reasons = append(reasons, "the last assignment of "+countedNames("cluster type", r.Emptied))
	}
	for _, kind := range []struct {
		share Share
		unit  string
	}{{r.Assignments, "assignments"}, {r.ClusterTypes, "cluster types"}, {r.Namespaces, "namespaces"}, {r.Components, "components"}, {r.Objects, "objects inside of sources"}} {
		if s := kind.share; s.Removed > few && s.Exceeds(percent) {
			reasons = append(reasons, fmt.Sprintf("%d of %d %s, and the limit is %d%%", s.Removed, s.Before, kind.unit, percent))
		}
	}
	return reasons
}

const mostListed = 3

func listNames(unit string, names []string) string {
	if len(names) > mostListed {
		return text.Count(len(names), unit)
	}
	return text.Join(list.Convert(names, printableText), " and ")
}

func countedNames(unit string, names []string) string {
	switch {
	case len(names) > mostListed:
		return listNames(unit, names)
	case len(names) > 1:
		return unit + "s " + listNames(unit, names)
	}
	return unit + " " + listNames(unit, names)
}
