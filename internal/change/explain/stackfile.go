package explain

import (
	"path"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/stack"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
)

// Kinds of stacks; Environment is CloudKnit's.
const (
	stackKind    = "Environment"
	teamKind     = "Team"
	settingsKind = "StackSettings"
)

func stackNames(m *model.Model) []string {
	names := list.Convert(m.Stacks.List, func(s *model.Stack) string { return s.Name })
	for _, s := range m.Stacks.List {
		names = append(names, s.Path())
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// resolveStack resolves team/environment and team/environment/component. It returns no
// answer for an unknown stack or a cluster type.
func resolveStack(m *model.Model, query string) (subject, error) {
	first, _, _ := strings.Cut(query, "/")
	if m.ClusterType(first) != nil {
		return subject{}, nil
	}
	for _, s := range m.Stacks.List {
		if query == s.Path() {
			return subject{stackKind + "/" + query, func(q *explainer, a *Answer) { a.Stack = q.explainStack(query) }}, nil
		}
		if strings.HasPrefix(query, s.Path()+"/") {
			return resolveStackPath(m, path.Join(stackfiles.ObjectsFolder, query))
		}
	}
	return subject{}, nil
}

func resolveStackPath(m *model.Model, query string) (subject, error) {
	stacks, _ := stack.Resolve(m) // rendering reports its problems
	for _, s := range stacks {
		for _, folder := range []string{path.Join(stackfiles.ObjectsFolder, s.Path()), path.Join(stackfiles.ModulesFolder, s.Team+stackfiles.TeamSuffix, s.Env+stackfiles.EnvSuffix)} {
			rest, inside := strings.CutPrefix(query+"/", folder+"/")
			if !inside {
				continue
			}
			name, _, _ := strings.Cut(rest, "/")
			c := s.FindComponent(name)
			if c == nil && name != "" && name != "kustomization.yaml" && name != stackfiles.NamespaceFile {
				names := list.Convert(s.Components, func(c *stack.Component) string { return c.Name })
				return subject{}, queryErrorf(problem.DidYouMean(name, names), "the stack %s has no component %s; its components are %s", s.Path(), name, strings.Join(names, ", "))
			}
			return subject{query, func(q *explainer, a *Answer) { a.File = q.explainStackFile(query, s, c) }}, nil
		}
	}
	names := list.Convert(stacks, func(s *stack.Stack) string { return s.Path() })
	return subject{}, queryErrorf("the stacks are "+strings.Join(names, ", "), "%s is not of a stack that environment %s describes", query, m.Environment)
}

func (q *explainer) explainStackFile(query string, s *stack.Stack, c *stack.Component) *File {
	f := &File{Path: query}
	files, problems := stackfiles.Render(q.model)
	first, stops := slices.Concat(q.model.Stacks.Stopped, problems).FindStopping(s.Path()).FirstStopping()
	f.Exists = hasPath(files, query)
	switch {
	case stops:
		f.Exists, f.Stopped = false, true
		f.WhyNot = "the stack " + s.Path() + " is stopped, and what the output has of it stays as it is: " + first.String()
	case !f.Exists:
		f.WhyNot = "the stack has no such file"
	}
	fields := []string{"spec.teamName", "spec.envName", "spec.description", "spec.teardown"}
	if c != nil {
		fields = []string{"spec.components[" + c.Name + "]"}
		for _, need := range c.After() {
			fields = append(fields, "spec.components["+need.Name+"] is waited for")
		}
	}
	f.Reads = append(f.Reads, Read{objectOf(s.Stack), fields})
	f.Reads = append(f.Reads, q.findApplications(query, c)...)
	for _, settings := range q.model.Stacks.Settings {
		f.Reads = append(f.Reads, Read{objectOf(settings), []string{"spec"}})
	}
	for _, t := range q.model.Stacks.Teams {
		if t.TeamName.Text == s.Team {
			f.Reads = append(f.Reads, Read{objectOf(t), []string{"spec.configRepo", "spec.teardownProtection"}})
		}
	}
	i := slices.IndexFunc(q.model.Stacks.Approvals, func(a *model.PlanApproval) bool {
		return c != nil && a.Stack == s.Path() && a.Component == c.Name
	})
	if i >= 0 {
		f.Reads = append(f.Reads, Read{objectOf(q.model.Stacks.Approvals[i]), []string{"spec.plan", "spec.inputs", "spec.output"}})
	}
	return f
}

func hasPath(t tree.Tree, name string) bool {
	_, ok := t.Lookup(name)
	return ok || !t.Sub(name).IsEmpty()
}
