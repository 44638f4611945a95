// Package drift compares two environments: what differs between them, and why.
//
// It compares inputs instead of output: base commits, objects that one environment has
// or that differ, assignments with the reasons of policies, and values with their
// configs. The same change in many places is one [Finding] with a count.
//
// Equal inputs have equal reports, exchanged sides have the same content, and equal
// sides have an empty report. Every difference has a reason that names where it is
// written. Assignments are compared by name. Files are only counted; package impact
// explains their differences.
package drift

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// Side is a rendered environment.
type Side struct {
	// Name is the name in the report; "" means the environment's.
	Name  string
	Model *model.Model
	Tree  tree.Tree
	Base  string // base commit; "" if unknown
	// Ahead has the ancestors of Base that the other side's Base lacks, newest first.
	Ahead []Commit
}

func (s Side) name() string { return cmp.Or(s.Name, s.Model.Environment) }

// Commit is a commit of the base.
type Commit struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	// Unrendered reports that it changes nothing that is rendered: environments do not
	// count as behind it.
	Unrendered bool `json:"unrendered,omitempty"`
}

// Report is the difference. With names only, it is empty.
type Report struct {
	From string `json:"from"`
	To   string `json:"to"`
	Base *Base  `json:"base,omitempty"` // nil if both have the same commit
	// Topics has the topics with differences, from causes to effects.
	Topics []Topic `json:"topics"`
	// Shared counts shared assignments, and Same those with the same files.
	Shared int `json:"sharedAssignments"`
	Same   int `json:"sameAssignments"`
}

// Base has the base commits of two environments.
type Base struct {
	From     string   `json:"from"`
	To       string   `json:"to"`
	OnlyFrom []Commit `json:"onlyFrom"`
	OnlyTo   []Commit `json:"onlyTo"`
}

// Topic is the difference in one respect.
type Topic struct {
	Name  string `json:"name"`
	Count int    `json:"count"` // sum of the findings' counts
	// Findings are sorted: those of one environment first, each by falling count.
	Findings []Finding `json:"findings"`
}

// The names of topics.
const (
	ClusterTypes = "cluster types"
	Targets      = "deployment targets"
	Policies     = "policies"
	Assignments  = "assignments"
	Templates    = "templates"
	Configs      = "configs"
	Values       = "values"
	Stacks       = "stacks"
)

// Finding is one difference, in Count places.
type Finding struct {
	// Only is the one environment that has it; "" if both do.
	Only string `json:"only,omitempty"`
	// Change is the difference, such as "reconciler: flux → argocd"; "" with Only.
	Change string `json:"change,omitempty"`
	// Because is the reason, in one sentence without a full stop; "" if Change
	// suffices.
	Because string `json:"because,omitempty"`
	Count   int    `json:"count"`
	// Names are the names of up to 20 differing objects, sorted.
	Names []string `json:"names,omitempty"`
	// Meaning is whether the difference is intended; "" before [Report.Classify].
	Meaning Meaning `json:"meaning,omitempty"`
	// Commits are the ids of base commits that change the responsible file, if
	// the difference is on its way. Compare does not set them.
	Commits []string `json:"commits,omitempty"`

	// Files are the responsible files with their layers, if single:
	// "base/configs/a.yaml".
	Files []string `json:"-"`

	own bool // both sides have it from different files
}

// Meaning says whether a difference is intended.
type Meaning string

// The meanings.
const (
	Meant    Meaning = "meant"      // from files that one environment has for itself
	OnItsWay Meaning = "on its way" // disappears once both have the same base commit
	Neither  Meaning = "neither"
)

// Meanings returns all meanings; those that need most attention come first.
func Meanings() []Meaning { return []Meaning{Neither, OnItsWay, Meant} }

// Classify sets the meaning of each difference. same is the report of both environments
// at one base commit: what it lacks is on its way.
func (r Report) Classify(same Report) {
	for _, t := range r.Topics {
		var left []Finding
		for _, other := range same.Topics {
			if other.Name == t.Name {
				left = other.Findings
			}
		}
		for i := range t.Findings {
			f := &t.Findings[i]
			at := slices.IndexFunc(left, f.isLike)
			switch {
			case at < 0:
				f.Meaning = OnItsWay
			case f.Only != "", left[at].own:
				f.Meaning = Meant
			default:
				f.Meaning = Neither
			}
		}
	}
}

// isLike reports whether another finding is about the same field of the same objects,
// as far as known.
func (f Finding) isLike(other Finding) bool {
	field, _, _ := strings.Cut(f.Change, ": ")
	otherField, _, _ := strings.Cut(other.Change, ": ")
	if f.Only != other.Only || field != otherField {
		return false
	}
	if f.Count > len(f.Names) || other.Count > len(other.Names) { // not all are named
		return true
	}
	return slices.ContainsFunc(f.Names, func(name string) bool { return slices.Contains(other.Names, name) })
}

// IsEmpty reports whether nothing differs.
func (r Report) IsEmpty() bool { return r.Base == nil && len(r.Topics) == 0 }

// Select returns the differences in one topic alone.
func (r Report) Select(topic string) Report {
	r.Topics = slices.DeleteFunc(slices.Clone(r.Topics), func(t Topic) bool { return t.Name != topic })
	if len(r.Topics) == 0 {
		r.Base = nil
	}
	return r
}

// TopicNames returns the names of all topics, from causes to effects.
func TopicNames() []string {
	return []string{ClusterTypes, Targets, Policies, Templates, Configs, Stacks, Assignments, Values}
}

// Compare returns the differences of two environments.
func Compare(from, to Side) Report {
	c := comparison{from: from, to: to}
	r := Report{From: from.name(), To: to.name(), Topics: []Topic{}}
	if from.Base != to.Base {
		r.Base = &Base{from.Base, to.Base, append([]Commit{}, from.Ahead...), append([]Commit{}, to.Ahead...)}
	}
	for _, t := range []struct {
		name string
		find func(*findings)
	}{
		{ClusterTypes, c.compareClusterTypes}, {Targets, c.compareTargets}, {Policies, c.comparePolicies}, {Templates, c.compareTemplates}, {Configs, c.compareConfigs}, {Stacks, c.compareStacks},
		{Assignments, c.compareAssignments}, {Values, c.compareValues},
	} {
		var found findings
		t.find(&found)
		if len(found.list) > 0 {
			r.Topics = append(r.Topics, found.sortedTopic(t.name, r))
		}
	}
	r.Shared, r.Same = c.countShared()
	return r
}

type comparison struct{ from, to Side }

// maxNames bounds the names of a finding.
const maxNames = 20

// findingKey has what makes findings equal.
type findingKey struct {
	only, change, because string
	own                   bool
}

type findings struct {
	list  []*Finding
	byKey map[findingKey]*Finding
}

func (f *findings) add(what Finding, name string) {
	if f.byKey == nil {
		f.byKey = map[findingKey]*Finding{}
	}
	key := findingKey{what.Only, what.Change, what.Because, what.own}
	known := f.byKey[key]
	if known == nil {
		known = &Finding{Only: what.Only, Change: what.Change, Because: what.Because, Files: what.Files, own: what.own}
		f.byKey[key] = known
		f.list = append(f.list, known)
	}
	known.Count++
	if name != "" && len(known.Names) < maxNames {
		known.Names = append(known.Names, name)
	}
}

func (f *findings) sortedTopic(name string, r Report) Topic {
	t := Topic{Name: name}
	for _, one := range f.list {
		slices.Sort(one.Names)
		t.Count += one.Count
		t.Findings = append(t.Findings, *one)
	}
	rank := map[string]int{r.From: 0, r.To: 1, "": 2}
	slices.SortFunc(t.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(rank[a.Only], rank[b.Only]), cmp.Compare(b.Count, a.Count), cmp.Compare(a.Change, b.Change), cmp.Compare(a.Because, b.Because))
	})
	return t
}
