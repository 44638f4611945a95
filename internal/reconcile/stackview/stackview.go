// Package stackview describes the stacks of an environment: what the output does with their
// components, and what clusters report about them.
//
// The daemon and the commands report the same. Unreported state is unknown. The package reads and
// writes nothing.
package stackview

import (
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
)

// Stack is a stack and its environment.
type Stack struct {
	Environment string `json:"environment"`
	stackfiles.Summary
	// Stopped is the first problem that stops the stack; "" for none. The output keeps its old
	// state.
	Stopped string `json:"stopped,omitempty"`
	// Problems has all problems of a stopped stack.
	Problems problem.List `json:"-"`
}

// ListStacks returns the stacks of an output, and stopped stacks without output.
func ListStacks(environment string, output tree.Tree, problems problem.List) ([]Stack, error) {
	stacks, err := stackfiles.Summarize(output)
	if err != nil {
		return nil, err
	}
	var all []Stack
	for _, one := range stacks {
		s := Stack{Environment: environment, Summary: one}
		for _, p := range problems {
			if of := (problem.List{p}); p.Stack != "" && of.StopsStack(one.Stack) {
				s.Problems = append(s.Problems, p)
			}
		}
		if len(s.Problems) > 0 {
			s.Stopped = s.Problems[0].String()
		}
		all = append(all, s)
	}
	for _, p := range problems.StoppedStacks() {
		isOfIt := func(q problem.Problem) bool { return q.Stack == p.Stack }
		if slices.ContainsFunc(all, func(s Stack) bool { return slices.ContainsFunc(s.Problems, isOfIt) }) {
			continue
		}
		mine := slices.DeleteFunc(slices.Clone(problems), func(q problem.Problem) bool { return q.Stack != p.Stack })
		all = append(all, Stack{Environment: environment, Summary: stackfiles.Summary{Stack: p.Stack, Components: []stackfiles.ComponentSummary{}}, Stopped: p.String(), Problems: mine})
	}
	return all, nil
}

// Known is the daemon's view of a stack.
type Known struct {
	Stack
	// Merged is set if the output branch has the stack, so that clusters have its components.
	Merged bool
	// Leaves is set if the proposed output removes the stack.
	Leaves bool
	// Written is the position of its file; zero for none.
	Written problem.Pos
}

// NewKnown merges rendered stacks with those of the output branch, whose components win. m may be
// nil.
func NewKnown(environment string, rendered []Stack, merged []stackfiles.Summary, m *model.Model) []Known {
	all := []Known{}
	for _, s := range rendered {
		known := Known{Stack: s}
		if i := slices.IndexFunc(merged, func(one stackfiles.Summary) bool { return one.Stack == s.Summary.Stack }); i >= 0 {
			known.Merged, known.Summary = true, merged[i]
		}
		all = append(all, known)
	}
	for _, one := range merged {
		if !slices.ContainsFunc(all, func(k Known) bool { return k.Summary.Stack == one.Stack }) {
			all = append(all, Known{Stack: Stack{Environment: environment, Summary: one}, Merged: true, Leaves: true})
		}
	}
	if m == nil {
		return all
	}
	for i := range all {
		for _, s := range m.Stacks.List {
			if s.Path() == all[i].Summary.Stack {
				all[i].Written = s.Pos
			}
		}
	}
	return all
}
