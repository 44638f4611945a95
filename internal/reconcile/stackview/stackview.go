// Package stackview tells how the stacks of an environment stand: what its output does with their
// components, and what clusters report of these.
//
// What the package keeps true: the daemon and the commands say the same of a stack; what no cluster has
// reported is not known; and nothing is read or written.
package stackview

import (
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
)

// Stack is a stack, and the environment that it is in.
type Stack struct {
	Environment string `json:"environment"`
	stackfiles.Summary
	// Stopped is the first problem that stops the stack; "" if none does. The output keeps what it has of it.
	Stopped string `json:"stopped,omitempty"`
	// Problems are all that concern the stack, if one stops it.
	Problems problem.List `json:"-"`
}

// ListStacks returns the stacks of an output, and those of which it has nothing because problems stop them.
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

// Known is a stack as the daemon knows it.
type Known struct {
	Stack
	// Merged reports that the output branch has the stack: then its components are what clusters have. Else
	// they are what is proposed.
	Merged bool
	// Leaves reports that the output branch has it, and what is proposed has not.
	Leaves bool
	// Written is where its file is; zero if it has none.
	Written problem.Pos
}

// NewKnown returns the stacks of an environment: those of what it is rendered to, and those that its output
// branch has, of which the components count. m is what people write; nil if it is not known.
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
