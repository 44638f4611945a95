// Package impact summarizes the change from one output tree to another: how many
// clusters and workloads it touches, its kinds of change, and what it deletes on
// clusters.
//
// The unit of counting is an assignment, the folder `<cluster type>/<target>`. In the
// folders of stacks it is a component; other files outside of cluster types count per
// file. Units that change in the same way share a [Group]: the same lines under the
// same keys, with a unit's own names as placeholders. Only one unit of a group is
// decoded, so the cost grows with the number of different changes.
//
// A table classifies changes (rules.go). A change that no row matches is
// "unclassified": the package never guesses.
//
// Equal inputs have equal reports. Every unit that differs is in exactly one group, and
// details are true for all its units. Text from the trees cannot break out of a
// terminal or Markdown. Mappings must not have duplicate keys; such outputs are not
// published.
package impact

import (
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/change/inside"
)

// Options has facts that the trees do not contain.
type Options struct {
	// Workload returns the workload of a target's folder, or "": then the target counts
	// as one. If Workload is nil, workloads are not counted.
	Workload func(target string) string
	// Chosen reports whether a policy chooses the target's cluster types, so that it
	// can move. nil means never.
	Chosen func(target string) bool
	// Contents has what the sources of assignments hold, if those move; nil if nobody looked.
	Contents map[inside.Place]inside.Contents
}

// Report summarizes a change. The zero Report means no change.
type Report struct {
	// ClusterTypes counts those with a change in their folder.
	ClusterTypes int `json:"clusterTypes"`
	Targets      int `json:"targets"`
	// Workloads is 0 if unknown.
	Workloads int `json:"workloads"`
	// Assignments counts folders of targets on cluster types.
	Assignments Counts `json:"assignments"`
	Stacks      int    `json:"stacks,omitempty"`
	Components  Counts `json:"components,omitzero"`
	// Files includes files outside of cluster types.
	Files Counts `json:"files"`
	// Groups is sorted by falling risk and count.
	Groups []Group `json:"groups"`
	// StackChanges is sorted by stack.
	StackChanges []StackChange `json:"stackChanges,omitempty"`
	// ClusterChanges has one item per manifest.
	ClusterChanges []ClusterChange `json:"clusterChanges,omitempty"`
	// Destructions is caused by the removal of Terraform objects.
	Destructions []Destruction `json:"destructions,omitempty"`
	// Objects counts the objects of sources that move.
	Objects Counts `json:"objects,omitzero"`
	// Touched is sorted by path.
	Touched []TouchedAssignment `json:"-"`

	phrases []phrase
	// remade has the components and targets whose state moves without approval of their
	// plans.
	remade []string
	// objectsBefore counts the objects of sources before they move; stateful has those of them
	// that are removed with their data.
	objectsBefore int
	stateful      []string
	unsure        []string // as stateful, but they may stay
}

// TouchedAssignment is an assignment that differs: added, removed or else changed.
type TouchedAssignment struct {
	ClusterType, Target string
	Added, Removed      bool
}

// Counts is the number of things that differ, by kind of difference.
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
	// Name is the name of one class ("image only") or of several ("image, replicas").
	Name string `json:"name"`
	// Classes is in the order of the table.
	Classes []Class `json:"classes"`
	// Risk is the highest of the classes.
	Risk Risk `json:"risk,omitempty"`
	// Details is true for all units. Their names are placeholders such as "<target>".
	Details []string `json:"details,omitempty"`
	// Uncompared is set if the content is in a chart, an artifact or another
	// repository.
	Uncompared bool `json:"uncompared,omitempty"`
	// Unread says why the content was not compared; nil if nobody looked.
	Unread []inside.Unread `json:"unread,omitempty"`
	// Unit is what Count counts.
	Unit         Unit `json:"unit"`
	Count        int  `json:"count"`
	ClusterTypes int  `json:"clusterTypes"`
	Stacks       int  `json:"stacks,omitempty"`
	// Examples are up to five paths, on different cluster types if possible.
	Examples []string `json:"examples"`
	// Diff is a diff of one unit, possibly cut; "" for whole units.
	Diff string `json:"diff,omitempty"`
}

// Class is a kind of change. The table of rules has the classes of fields and objects.
type Class string

// The classes that other code refers to.
const (
	AssignmentAdded         Class = "assignment added"
	AssignmentRemoved       Class = "assignment removed"
	AssignmentMoved         Class = "assignment moved"
	CRDRemoved              Class = "CRD removed"
	ClusterTypeAdded        Class = "cluster type added"
	ClusterTypeRemoved      Class = "cluster type removed"
	StackAdded              Class = "stack added"
	StackRemoved            Class = "stack removed"
	ComponentAddedClass     Class = "component added"
	ComponentRemovedClass   Class = "component removed"
	ComponentClearedClass   Class = "destroyed component removed"
	NamespaceRemoved        Class = "namespace removed"
	NamespaceRenamed        Class = "namespace renamed"
	InfrastructureDestroyed Class = "infrastructure destroyed"
	DestroyedOnRemoval      Class = "destroyed on removal" // in a later change
	DestructionApproved     Class = "destruction approved"
	StateMoved              Class = "state moved"
	PromotedCommit          Class = "promoted commit"
	Bookkeeping             Class = "bookkeeping"
	OtherFiles              Class = "other files"
	ClusterFiles            Class = "files of clusters"
	OrderOnly               Class = "order only"
	FormattingOnly          Class = "formatting only"
	Unclassified            Class = "unclassified"
	hookClass               Class = "hook"
)

// Risk is the care that a review needs; "" is ordinary.
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

// Compare returns the report of the change from old to new. Its cost grows with the
// difference, not the size.
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
