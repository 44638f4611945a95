// Package drift compares two environments: what differs between them, and why.
//
// It compares what the environments were rendered from, not their output: the commit of the
// base; cluster types, deployment targets, policies, templates and configs that only one of
// them has, or that differ; assignments that only one of them has, with the reasons of the
// other's policies; and values, with the configs that set them. The same change in many
// places is one [Finding] with a count.
//
// What the package keeps true: the same two sides have the same [Report]; with the sides
// exchanged, it has the same content; that of equal sides is empty; and every difference has
// a reason that names where it is written.
//
// Assignments are compared by name: a deployment target with another name is another one.
// Of files the report only counts those that are equal; package impact explains their
// differences.
package drift

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// Side is an environment that was read and rendered.
type Side struct {
	// Name is what the report calls it; "" for the name of the environment.
	Name  string
	Model *model.Model
	Tree  tree.Tree
	Base  string // the commit of the base; "" if that is not known
	// Ahead has the ancestors of Base that the other side's Base does not have, newest
	// first.
	Ahead []Commit
}

func (s Side) name() string { return cmp.Or(s.Name, s.Model.Environment) }

// Commit is a commit of the base.
type Commit struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	// Unrendered reports that it changes nothing that is rendered: it is not among the commits that an
	// environment is behind.
	Unrendered bool `json:"unrendered,omitempty"`
}

// Report is what differs. With only its names set, it is that of no difference.
type Report struct {
	From string `json:"from"`
	To   string `json:"to"`
	Base *Base  `json:"base,omitempty"` // nil if both have the same commit
	// Topics has the topics with differences, from causes to effects.
	Topics []Topic `json:"topics"`
	// Shared counts the assignments that both have, and Same those of them with the same
	// files.
	Shared int `json:"sharedAssignments"`
	Same   int `json:"sameAssignments"`
}

// Base is the commits of the base that two environments have.
type Base struct {
	From     string   `json:"from"`
	To       string   `json:"to"`
	OnlyFrom []Commit `json:"onlyFrom"`
	OnlyTo   []Commit `json:"onlyTo"`
}

// Topic is what differs in one respect.
type Topic struct {
	Name  string `json:"name"`
	Count int    `json:"count"` // the sum of the findings' counts
	// Findings are sorted: those in one environment only, then those in both; each by
	// falling count.
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
)

// Finding is one difference, in Count places.
type Finding struct {
	// Only is the one environment that has it; "" if both have it, and differ.
	Only string `json:"only,omitempty"`
	// Change is how they differ, as in "reconciler: flux → argocd"; "" with Only.
	Change string `json:"change,omitempty"`
	// Because is the reason, in one sentence without a full stop; "" where Change suffices.
	Because string `json:"because,omitempty"`
	Count   int    `json:"count"`
	// Names are those of the objects that differ, sorted, at most 20 of them.
	Names []string `json:"names,omitempty"`
	// Meaning is whether people mean it; "" where [Report.Classify] was not called.
	Meaning Meaning `json:"meaning,omitempty"`
	// Commits are the ids of the commits of the base that change the file which makes it so, of one that is on its
	// way. Compare does not set them.
	Commits []string `json:"commits,omitempty"`

	// Files are the files that make it so, with their layers, where one alone can: "base/configs/a.yaml".
	Files []string `json:"-"`

	own bool // both sides have it from different files
}

// Meaning is whether people mean a difference.
type Meaning string

// The meanings.
const (
	Meant    Meaning = "meant"      // it comes from files that one environment has for itself
	OnItsWay Meaning = "on its way" // it goes away when both have the same commit of the base
	Neither  Meaning = "neither"
)

// Meanings returns all meanings, those that ask most of people first.
func Meanings() []Meaning { return []Meaning{Neither, OnItsWay, Meant} }

// Classify sets what each difference means. same is the report of the two environments with one commit of the
// base: what differs there no more is on its way.
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

// isLike reports whether another finding is about the same field of the same objects, as far as their names
// are known.
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

// TopicNames returns the names of all topics, from causes to effects.
func TopicNames() []string {
	return []string{ClusterTypes, Targets, Policies, Templates, Configs, Assignments, Values}
}

// Compare returns what differs between two environments.
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
		{ClusterTypes, c.compareClusterTypes}, {Targets, c.compareTargets}, {Policies, c.comparePolicies}, {Templates, c.compareTemplates}, {Configs, c.compareConfigs},
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

// comparison compares two sides.
type comparison struct{ from, to Side }

// maxNames bounds the names of a finding.
const maxNames = 20

// findings collects the findings of a topic.
// findingKey is what findings of one object have in common that are one.
type findingKey struct {
	only, change, because string
	own                   bool
}

type findings struct {
	list  []*Finding
	byKey map[findingKey]*Finding
}

// add counts a finding in one more place.
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
