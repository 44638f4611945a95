// Package impact summarizes the change from one output tree to another: how many
// clusters and workloads it touches, which kinds of change it consists of, and
// which of them delete things on clusters.
//
// The unit of counting is an assignment, the folder `<cluster type>/<target>`.
// Units that change in the same way share a [Group]: the same lines under the
// same keys of the same object, where an assignment's own names (cluster type,
// target, workload) count as equal. Only one unit of a group is decoded and
// looked into, so the cost grows with the number of different changes; the rest
// is line diffs. A change that many units have with different values (a
// checksum, for example) is one group as well, which names the fields and no values.
//
// A table decides what a change is called (rules.go). A unit to which several rows
// apply is of several classes, and a change that matches no row is "unclassified":
// the package never guesses. The groups are sorted by risk first.
//
// The package assumes that no mapping has a key twice: that is a problem, which
// keeps an output from being published.
//
// What the package keeps true: the same two trees have the same [Report]; that of
// two equal trees is empty; every unit that differs is in exactly one group; a
// detail of a group is true for all its members; and text from the trees cannot
// break out of the format that it is shown in (terminal, Markdown).
//
// The folders of stacks are of no cluster type: there, the unit is a component with its objects and
// its root module. What follows from the change of a root module, as the commit that it is pinned to,
// is no change of its own.
//
// Folders of the root whose names begin with a dot, and files of the root, are
// not of a cluster type: they are counted per file.
package impact

import (
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/tree"
)

// Options has what the trees do not contain.
type Options struct {
	// Workload returns the workload that a deployment target's folder belongs to;
	// "" if that is not known, and then the target counts as a workload. If it is
	// nil, workloads are not counted.
	Workload func(target string) string
	// Chosen reports whether a policy chooses the cluster types of a deployment target: where one of its
	// folders is removed and another one added, it has moved. nil if there are no such policies.
	Chosen func(target string) bool
}

// Report summarizes a change. The zero Report is that of no change.
type Report struct {
	// ClusterTypes counts those with a change in their folder.
	ClusterTypes int `json:"clusterTypes"`
	// Targets counts the deployment targets with a change on any cluster type.
	Targets int `json:"targets"`
	// Workloads counts the workloads of these targets; 0 if that is not known.
	Workloads int `json:"workloads"`
	// Assignments counts the folders of targets on cluster types.
	Assignments Counts `json:"assignments"`
	// Stacks counts the stacks with a change, and Components their components.
	Stacks     int    `json:"stacks,omitempty"`
	Components Counts `json:"components,omitzero"`
	// Files counts all files, also those outside of cluster types.
	Files Counts `json:"files"`
	// Groups is sorted by risk, highest first, and then by falling count.
	Groups []Group `json:"groups"`
	// StackChanges are the stacks with a change, sorted by name.
	StackChanges []StackChange `json:"stackChanges,omitempty"`
	// ClusterChanges are the manifests whose clusters change.
	ClusterChanges []ClusterChange `json:"clusterChanges,omitempty"`
	// Destructions are the deployment targets of which Terraform destroys what it made, because the objects
	// that run it are removed.
	Destructions []Destruction `json:"destructions,omitempty"`
	// Touched are all assignments that differ, by their paths.
	Touched []TouchedAssignment `json:"-"`

	phrases []phrase // of the title
	// remade are the components and targets whose state moves while no person approves their plans.
	remade []string
}

// TouchedAssignment is an assignment that differs between the trees: one of Added and Removed is set, or it
// has changed.
type TouchedAssignment struct {
	ClusterType, Target string
	Added, Removed      bool
}

// Counts is how many of a thing differ between the trees.
type Counts struct {
	Added   int `json:"added"`
	Changed int `json:"changed"`
	Removed int `json:"removed"`
}

// Total returns the number of things that differ.
func (c Counts) Total() int { return c.Added + c.Changed + c.Removed }

// IsEmpty reports whether nothing changes.
func (r Report) IsEmpty() bool { return len(r.Groups) == 0 }

// Deletes reports whether the change deletes things on clusters.
func (r Report) Deletes() bool {
	return slices.ContainsFunc(r.Groups, func(g Group) bool { return g.Risk == Deletes })
}

// Group is one change, made in Count places.
type Group struct {
	// Name is what the change is: a class ("image only", "namespace removed"), or
	// several of them joined ("image, replicas").
	Name string `json:"name"`
	// Classes are the classes that the change is of, in the order of the table.
	Classes []Class `json:"classes"`
	// Risk is the highest of the classes' risks.
	Risk Risk `json:"risk,omitempty"`
	// Details describe what changes, as far as it is the same everywhere in the
	// group. Names of the assignment are placeholders, such as "<target>".
	Details []string `json:"details,omitempty"`
	// Uncompared is set if the content that changes is in a chart, an artifact or another repository, and was not
	// compared.
	Uncompared bool `json:"uncompared,omitempty"`
	// Unit is what Count counts.
	Unit  Unit `json:"unit"`
	Count int  `json:"count"`
	// ClusterTypes counts the cluster types that the units are on.
	ClusterTypes int `json:"clusterTypes"`
	// Stacks counts the stacks that the units are in.
	Stacks int `json:"stacks,omitempty"`
	// Examples are paths of up to five units, on different cluster types if
	// there are.
	Examples []string `json:"examples"`
	// Diff is the unified diff of one unit, cut if it is long; "" if whole units
	// are added or removed.
	Diff string `json:"diff,omitempty"`
}

// Class is a kind of change. The classes of fields and objects are in the table of
// rules.
type Class string

// The classes that code outside of the table refers to.
const (
	AssignmentAdded    Class = "assignment added"
	AssignmentRemoved  Class = "assignment removed"
	AssignmentMoved    Class = "assignment moved"
	CRDRemoved         Class = "CRD removed"
	ClusterTypeAdded   Class = "cluster type added"
	ClusterTypeRemoved Class = "cluster type removed"
	StackAdded         Class = "stack added"
	StackRemoved       Class = "stack removed"
	// The classes of whole components are named apart from their states.
	ComponentAddedClass     Class = "component added"
	ComponentRemovedClass   Class = "component removed"
	ComponentClearedClass   Class = "destroyed component removed"
	NamespaceRemoved        Class = "namespace removed"
	NamespaceRenamed        Class = "namespace renamed"
	InfrastructureDestroyed Class = "infrastructure destroyed"
	DestroyedOnRemoval      Class = "destroyed on removal" // from now on, once it is removed
	DestructionApproved     Class = "destruction approved"
	StateMoved              Class = "state moved"
	PromotedCommit          Class = "promoted commit"
	Bookkeeping             Class = "bookkeeping"
	OtherFiles              Class = "other files"
	ClusterFiles            Class = "files of clusters"
	OrderOnly               Class = "order only"
	FormattingOnly          Class = "formatting only"
	Unclassified            Class = "unclassified"
)

// Risk is how closely a change has to be reviewed. The zero Risk is no particular one.
type Risk string

// The risks above none.
const (
	Deletes Risk = "deletes" // the change deletes things on clusters
	Unknown Risk = "unknown" // the change is unclassified
)

func (r Risk) rank() int { return slices.Index([]Risk{"", Unknown, Deletes}, r) }

// Unit is what a group counts.
type Unit string

// The units.
const (
	Assignment  Unit = "assignment"
	ClusterType Unit = "cluster type"
	File        Unit = "file"
	Stack       Unit = "stack"
	Component   Unit = "component" // of a stack
)

// Compare returns the report of the change from old to new. Its cost grows with what
// differs, not with the size of the trees.
func Compare(old, new tree.Tree, opt Options) Report {
	s := survey{
		opt: opt, targets: map[string]string{}, workloads: map[string]bool{},
		groups: map[string]*group{}, shapes: map[digest]*shape{}, inspectionsLeft: maxInspections, needs: map[location][]string{},
	}
	s.findMoves(old, new)
	s.visitRoot(old, new)
	s.report.Targets, s.report.Workloads = len(s.targets), len(s.workloads)
	s.finishGroups()
	s.orderDestructions()
	s.report.phrases = insertPhrases(phraseStacks(s.report.StackChanges), s.report.phrases)
	s.report.ClusterChanges = CompareClusters(old, new)
	s.report.phrases = addPhrases(phraseClusters(s.report.ClusterChanges), s.report.phrases)
	return s.report
}
