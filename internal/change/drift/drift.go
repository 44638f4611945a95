// Package drift says what differs between two environments, and why.
//
// It compares what the environments were made from, not what came of it: another commit
// of the base; cluster types, deployment targets, policies, templates and configs that one
// of them has, or has otherwise; assignments that one of them makes, with what the policies
// of the other say of them; and values, with the configs that set them. What is the same
// change in many places is one [Finding] with a count.
//
// What the package keeps true: the same two sides give the same [Report]; the other way
// round it says the same with the sides exchanged; equal sides give an empty one; and
// whatever differs has a reason that names where it is written.
//
// An assignment is compared with the one of the same names: a deployment target that one
// environment calls otherwise is another one. Files are counted only; package impact says
// what their differences mean.
package drift

import (
	"cmp"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// Side is an environment as it was read and rendered.
type Side struct {
	Model *model.Model
	Tree  tree.Tree
	Base  string // the commit of the base; "" if that is not known
	// Ahead has the commits that lead to Base and not to that of the other side, newest
	// first.
	Ahead []Commit
}

func (s Side) name() string { return s.Model.Environment }

// Commit is a commit of the base.
type Commit struct {
	ID    string `json:"id"`
	Title string `json:"title"`
}

// Report is what differs. The zero Report, but for its names, is of no difference.
type Report struct {
	From string `json:"from"`
	To   string `json:"to"`
	Base *Base  `json:"base,omitempty"` // nil if both have the same commit
	// Topics has those in which something differs, from causes to effects.
	Topics []Topic `json:"topics"`
	// Shared counts the assignments that both have, and Same those of them whose files
	// are the same.
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
	Count int    `json:"count"` // of the findings together
	// Findings are sorted: what is in one environment only, then what is in both; each
	// by falling count.
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
	// Only is the environment that has it; "" if both have, and differ.
	Only string `json:"only,omitempty"`
	// Change says how they differ, as in "reconciler: flux → argocd"; "" with Only.
	Change string `json:"change,omitempty"`
	// Because is why, in one sentence without a full stop; "" where Change says it all.
	Because string `json:"because,omitempty"`
	Count   int    `json:"count"`
	// Names are of what differs, sorted, at most 20 of them.
	Names []string `json:"names,omitempty"`
}

// Empty reports whether nothing differs.
func (r Report) Empty() bool { return r.Base == nil && len(r.Topics) == 0 }

// Of says what differs between two environments.
func Of(from, to Side) Report {
	c := comparison{from: from, to: to}
	r := Report{From: from.name(), To: to.name(), Topics: []Topic{}}
	if from.Base != to.Base {
		r.Base = &Base{from.Base, to.Base, append([]Commit{}, from.Ahead...), append([]Commit{}, to.Ahead...)}
	}
	for _, t := range []struct {
		name string
		find func(*findings)
	}{
		{ClusterTypes, c.clusterTypes}, {Targets, c.targets}, {Policies, c.policies}, {Templates, c.templates}, {Configs, c.configs},
		{Assignments, c.assignments}, {Values, c.values},
	} {
		var found findings
		if t.find(&found); len(found.list) > 0 {
			r.Topics = append(r.Topics, found.topic(t.name, r))
		}
	}
	r.Shared, r.Same = c.shared()
	return r
}

// comparison is of two sides.
type comparison struct{ from, to Side }

// maxNames bounds the names of a finding.
const maxNames = 20

// findings are those of a topic.
type findings struct {
	list []*Finding
	at   map[[3]string]*Finding // by all but the places
}

// add notes that something differs in one more place.
func (f *findings) add(what Finding, name string) {
	if f.at == nil {
		f.at = map[[3]string]*Finding{}
	}
	key := [3]string{what.Only, what.Change, what.Because}
	known := f.at[key]
	if known == nil {
		known = &Finding{Only: what.Only, Change: what.Change, Because: what.Because}
		f.at[key] = known
		f.list = append(f.list, known)
	}
	known.Count++
	if name != "" && len(known.Names) < maxNames {
		known.Names = append(known.Names, name)
	}
}

func (f *findings) topic(name string, r Report) Topic {
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
