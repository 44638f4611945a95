package source

import (
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/stack"
	"github.com/fairlead-io/fairlead/internal/render/rootmodule"
)

func stackPath(s *model.Stack) string { return s.TeamName.Text + "/" + s.EnvName.Text }

// copyStacks returns copies of the stacks that an ephemeral environment has, none if it ends. Their
// names end in its own, so that they have a state, objects and a branch of root modules of their own,
// and nothing protects them: they are there for a time. What approves plans of the stacks that they are
// copies of, or asks for them, is none of theirs.
func (e *Ephemeral) copyStacks(all model.Stacks, ending bool) model.Stacks {
	if len(e.Spec.Stacks) == 0 {
		return model.Stacks{}
	}
	c := all
	c.List, c.Settings, c.Teams = nil, nil, nil
	isOther := func(stack string) bool {
		name, own := strings.CutSuffix(stack, "-"+e.Name)
		return !own || !slices.Contains(e.Spec.Stacks, name)
	}
	c.Approvals = slices.DeleteFunc(slices.Clone(all.Approvals), func(a *model.PlanApproval) bool { return isOther(a.Stack) })
	c.Requests = slices.DeleteFunc(slices.Clone(all.Requests), func(q *model.PlanRequest) bool { return isOther(q.Stack) })
	c.Stopped = slices.Clone(all.Stopped)
	for _, p := range all.Stopped {
		if slices.Contains(e.Spec.Stacks, p.Stack) {
			p.Stack += "-" + e.Name
			c.Stopped = append(c.Stopped, p)
		}
	}
	if ending {
		c.Unread, c.Stopped = nil, nil
	}
	for _, s := range all.List {
		if !ending && slices.Contains(e.Spec.Stacks, stackPath(s)) {
			c.List = append(c.List, e.copyStack(s))
		}
	}
	for _, s := range all.Settings {
		own := *s
		own.Modules.Branch = "fairlead-modules-" + e.Name
		c.Settings = append(c.Settings, &own)
	}
	for _, t := range all.Teams {
		own := *t
		own.TeardownProtection = false
		c.Teams = append(c.Teams, &own)
	}
	return c
}

func (e *Ephemeral) copyStack(s *model.Stack) *model.Stack {
	c := *s
	c.Name += "-" + e.Name
	c.EnvName.Text += "-" + e.Name
	c.Components = nil
	for _, component := range s.Components {
		if component != nil {
			own := *component
			own.DestroyProtection = false
			component = &own
		}
		c.Components = append(c.Components, component)
	}
	return &c
}

// checkCopy reports a copy of a stack that would have the state of another stack: both would run it, and the
// end of the ephemeral environment would destroy it.
func (e *Ephemeral) checkCopy(m *model.Model, s *model.Stack) problem.List {
	var problems problem.List
	name := stackPath(s) + "-" + e.Name
	for _, other := range m.Stacks.List {
		if strings.EqualFold(stackPath(other), name) {
			problems.Addf(e.Spec.Pos, "Ephemeral/"+e.Name, "use another name for the environment", "its copy of the stack %s would be the stack %s, which is at %s", stackPath(s), name, other.Pos)
		}
	}
	resolved, _ := stack.Resolve(m) // rendering reports its problems
	for _, one := range resolved {
		for _, c := range one.Components {
			if one.Stack == s && rootmodule.NamesState(m, c) {
				problems.Addf(e.Spec.Pos, "Ephemeral/"+e.Name, "leave the stack out of spec.stacks", "the stack %s cannot be copied: the backend of the component %s is in its root module, so that the copy would have its state", stackPath(s), c.Name)
			}
		}
	}
	return problems
}

// CheckStacks reports names in spec.stacks that no stack has, and warns if there are stacks and
// spec.stacks is empty; and copies that cannot be.
func (e *Ephemeral) CheckStacks(m *model.Model) problem.List {
	var problems problem.List
	var known []string
	for _, s := range m.Stacks.List {
		known = append(known, stackPath(s))
	}
	for _, name := range e.Spec.Stacks {
		if !slices.Contains(known, name) {
			hint := problem.DidYouMean(name, known)
			if hint == "" && len(known) > 0 {
				hint = "the stacks are " + strings.Join(known, ", ")
			}
			problems.Addf(e.Spec.Pos, "Ephemeral/"+e.Name, hint, "there is no stack %s that it could have a copy of", name)
		}
	}
	for _, s := range m.Stacks.List {
		if slices.Contains(e.Spec.Stacks, stackPath(s)) {
			problems = append(problems, e.checkCopy(m, s)...)
		}
	}
	if len(e.Spec.Stacks) == 0 && len(m.Stacks.List) > 0 {
		first := m.Stacks.List[0]
		problems.Warnf(first.Pos, first.Subject(), "write it into spec.stacks of the Ephemeral, as "+stackPath(first), "the stack %s is no part of the ephemeral environment: its state is that of another one", stackPath(first))
	}
	return problems
}
