package stack

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// Path identifies the component among all components, as "team/environment/component".
func (c *Component) Path() string { return c.Stack.Path() + "/" + c.Name }

// StateName is the name under which a root module reads the state that the output is in. No component has a name with
// an underscore.
func (o *OutputRef) StateName() string {
	if o.Stack == "" {
		return o.Component
	}
	return o.Stack + "_" + o.Component
}

// FindActive returns the name of the active stack of a blueprint; "" if the blueprint names none.
func FindActive(m *model.Model, blueprint string) string {
	for _, b := range m.Stacks.Blueprints {
		if b.Name == blueprint {
			return b.Annotations[model.ActiveAnnotation]
		}
	}
	return ""
}

// linkReads sets which components of other stacks each component reads, and which stacks are active. It reports
// outputs that cannot be read, and the destruction of what is read or active.
func (r *resolver) linkReads(stacks []*Stack) {
	for _, s := range stacks {
		if s.Blueprint == nil {
			continue
		}
		if active := FindActive(r.model, s.Blueprint.Name); active != "" {
			s.Switch, s.Active = s.Blueprint.Name, active == s.Name
		}
	}
	for _, s := range stacks {
		for _, c := range s.Components {
			for _, v := range c.Variables {
				if v.From != nil && v.From.Stack != "" {
					linkRead(r, stacks, c, v.From)
				}
			}
			slices.SortFunc(c.Reads, func(a, b *Component) int { return strings.Compare(a.Path(), b.Path()) })
			c.Reads = slices.Compact(c.Reads)
		}
	}
	for _, s := range stacks {
		checkRead(r, stacks, s)
		if reaches(s, s, map[*Stack]bool{}) {
			r.addf(s, s.Pos.Line, "have one of them read nothing of the others", "the stack %s reads what reads it: none of them could be made first", s.Path())
		}
	}
}

// linkRead finds the output of another stack: the one of that name, or the active one of a blueprint.
func linkRead(r *resolver, stacks []*Stack, c *Component, ref *OutputRef) {
	name := cmp.Or(FindActive(r.model, ref.Stack), ref.Stack)
	i := slices.IndexFunc(stacks, func(s *Stack) bool { return s.Name == name })
	switch {
	case i < 0:
		names := list.Convert(stacks, func(s *Stack) string { return s.Name })
		r.addf(c.Stack, ref.Line, cmp.Or(problem.DidYouMean(name, names), "the stacks are "+strings.Join(names, ", ")),
			"component %s: valueFrom names the stack %s, which is not in this environment", c.Name, name)
		return
	case stacks[i] == c.Stack:
		r.addf(c.Stack, ref.Line, "write it as "+ref.Component+"."+ref.Output, "component %s: valueFrom names its own stack", c.Name)
		return
	case c.Type != Terraform || c.IsCopied():
		r.addf(c.Stack, ref.Line, "have a component of type terraform of this stack read it, and take an output of that",
			"component %s: outputs of other stacks are read by root modules that Fairlead generates, and by nothing else", c.Name)
		return
	}
	from := stacks[i].FindComponent(ref.Component)
	checkOutput(r, c, ref, stacks[i], from)
	if from == nil {
		return
	}
	ref.Of = from
	c.Reads = append(c.Reads, from)
	if from.Destroyed && !c.Destroyed {
		r.addf(c.Stack, ref.Line, "name a stack that is not torn down", "component %s reads the component %s, which is destroyed", c.Name, from.Path())
	}
}

// checkRead reports that a stack is torn down which is the active one, or that a component is destroyed which another
// stack reads.
func checkRead(r *resolver, stacks []*Stack, s *Stack) {
	if s.Active && s.Teardown {
		r.addf(s, s.Pos.Line, "name another stack in the annotation "+model.ActiveAnnotation+" of the blueprint first", "the stack %s is the active one of the blueprint %s, and cannot be torn down", s.Path(), s.Switch)
		return
	}
	for _, other := range stacks {
		for _, reader := range other.Components {
			i := slices.IndexFunc(reader.Reads, func(c *Component) bool { return c.Stack == s && c.Destroyed })
			if i >= 0 && !reader.Destroyed {
				r.addf(s, s.Pos.Line, "have it read something else first", "the component %s cannot be destroyed: %s reads it", reader.Reads[i].Name, reader.Path())
				return
			}
		}
	}
}

// CheckReaders reports the stacks that read one which claims of another environment stop: under its name they would
// read what the other environment has made.
func CheckReaders(m *model.Model, claimed problem.List) problem.List {
	r := &resolver{model: m}
	stacks, _ := Resolve(m) // rendering reports its problems
	for _, s := range stacks {
		for _, c := range s.Components {
			for _, v := range c.Variables {
				if v.From != nil && v.From.Of != nil && v.From.Of.Stack != s && claimed.StopsStack(v.From.Of.Stack.Path()) && !claimed.StopsStack(s.Path()) {
					r.addf(s, v.From.Line, "it goes on once that stack does", "component %s reads the component %s, which another environment has", c.Name, v.From.Of.Path())
				}
			}
		}
	}
	return r.problems
}

func reaches(from, to *Stack, seen map[*Stack]bool) bool {
	for _, c := range from.Components {
		for _, read := range c.Reads {
			if read.Stack == to {
				return true
			}
			if !seen[read.Stack] {
				seen[read.Stack] = true
				if reaches(read.Stack, to, seen) {
					return true
				}
			}
		}
	}
	return false
}
