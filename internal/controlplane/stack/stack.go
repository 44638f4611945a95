// Package stack resolves the stacks of an environment: which components there are, which others
// each of them needs, which of them are destroyed, and what they inherit.
//
// A stack is what CloudKnit calls an environment. Its components need each other, and never in a
// circle: they are made in that order, and destroyed in the opposite one.
//
// What the package keeps true:
//   - A stack that is returned without problems has a graph without circles, and everything that a
//     component refers to is a component that it needs.
//   - A component that is protected is never destroyed, and neither is what it needs: CloudKnit
//     destroys the network under a protected cluster.
//   - What CloudKnit does and Fairlead does not do yet is a problem that stops the stack, and never a
//     component that is left out.
//   - The names of objects are names that Kubernetes takes, and no two objects have the same one.
package stack

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// Stack is one stack of an environment.
type Stack struct {
	*model.Stack
	Team, Env string
	Company   string // "" if nothing names it
	Namespace string // of its objects
	// Switch is the blueprint that it takes, if that names the stack that is active; "" if it does not.
	Switch string
	Active bool
	// Components are sorted by name.
	Components []*Component
}

// Path identifies the stack among all stacks, as "team/environment".
func (s *Stack) Path() string { return s.Team + "/" + s.Env }

// The types of components.
const (
	Terraform = "terraform"
	Helm      = "helm"
	ArgoCD    = "argocd"
)

// Component is one component of a stack.
type Component struct {
	*model.StackComponent
	Stack *Stack
	Name  string
	Type  string
	// ObjectName is the name of its objects.
	ObjectName string
	// Needs are the components that it depends on, and NeededBy those that depend on it, sorted by
	// name.
	Needs, NeededBy []*Component
	// Reads are the components of other stacks whose outputs it reads, sorted by path.
	Reads []*Component
	// AutoApprove has plans applied without a person.
	AutoApprove bool
	// Protected is true if the component must not be destroyed, or one that needs it must not.
	Protected bool
	// ProtectedByTeam is true if nothing but its Team protects it.
	ProtectedByTeam bool
	// protector is why: itself, or a protected one that needs it, directly or not.
	protector *Component
	// Destroyed is true if what the component made is to be destroyed.
	Destroyed bool
	// Skipped is true if selectiveReconcile leaves the component out: it stays as it is on the
	// cluster, and those that need it do not wait for it.
	Skipped bool
	// keptFor is a component that is left out of a teardown and needs this one; nil if there is none.
	keptFor *Component
	// DriftInterval is how often drift is looked for; 0 for as often as the settings say.
	DriftInterval time.Duration
	Variables     []Variable
	Tags          map[string]string
}

// IsCopied reports whether the root module of the component is one that people wrote, and that is
// copied as it is.
func (c *Component) IsCopied() bool { return c.Type == Terraform && c.Subtype.Text == copiedSubtype }

// The subtypes of components of Terraform: a root module that is copied, and one that is generated,
// as without a subtype.
const (
	copiedSubtype    = "config"
	generatedSubtype = "il"
)

// After returns the components that must be ready before this one, sorted by name: those that it needs. A component
// that is destroyed waits for those that need it and are destroyed too; what is kept may change, and goes first.
func (c *Component) After() []*Component {
	var after []*Component
	for _, n := range c.Needs {
		if !n.Destroyed || !c.Destroyed {
			after = append(after, n)
		}
	}
	if c.Destroyed {
		for _, user := range c.NeededBy {
			if user.Destroyed {
				after = append(after, user)
			}
		}
	}
	slices.SortFunc(after, compareNames)
	return after
}

// Resolve returns the stacks of a model, sorted by team and environment. If a problem stops one, or
// the environment, it serves only to find more problems.
func Resolve(m *model.Model) ([]*Stack, problem.List) {
	r := resolver{model: m}
	stacks := make([]*Stack, 0, len(m.Stacks.List))
	for _, s := range m.Stacks.List {
		stacks = append(stacks, r.resolveStack(s))
	}
	slices.SortStableFunc(stacks, func(a, b *Stack) int {
		return cmp.Or(strings.Compare(a.Team, b.Team), strings.Compare(a.Env, b.Env))
	})
	r.linkReads(stacks)
	r.checkUnique(stacks)
	r.checkCompanies()
	r.warnOfBaseTeams()
	r.warnOfTeams()
	r.warnOfKubeconfig(stacks)
	return stacks, r.problems
}

// resolver collects the problems of the stacks of a model.
type resolver struct {
	model    *model.Model
	problems problem.List
}

func (r *resolver) resolveStack(written *model.Stack) *Stack {
	s := &Stack{Stack: written, Team: written.TeamName.Text, Env: written.EnvName.Text, Company: r.findCompany(written)}
	s.Namespace = ShortenName(strings.Trim(s.Company+"-"+s.Team+"-"+s.Env, "-"), maxNamespace)
	if len(written.Components) == 0 {
		r.addf(s, written.Pos.Line, "", "a stack has at least one component")
	}
	r.checkIdentity(s)
	r.checkNamespace(s)
	r.checkWorkspace(s)
	locals := r.readLocals(s)
	for i, c := range written.Components {
		if c == nil {
			r.addf(s, written.Pos.Line, "write it, or remove it", "spec.components[%d] is null", i)
			continue
		}
		r.addComponent(s, c, locals)
	}
	slices.SortFunc(s.Components, func(a, b *Component) int { return strings.Compare(a.Name, b.Name) })
	r.linkComponents(s)
	for _, c := range s.Components {
		r.checkComponent(c)
	}
	r.checkSelection(s)
	r.decideDestruction(s, r.isTeamProtected(s))
	return s
}

// checkIdentity reports a team or an environment that cannot be one. Nothing says which output the stack has,
// and stackfiles keeps each that may be this one.
func (r *resolver) checkIdentity(s *Stack) {
	r.checkName(s, "spec.teamName", s.TeamName)
	r.checkName(s, "spec.envName", s.EnvName)
}

func (r *resolver) addComponent(s *Stack, written *model.StackComponent, locals locals) {
	name := written.Name
	if !r.checkName(s, "the name of a component", name) {
		return
	}
	for _, other := range s.Components {
		switch {
		case other.Name == name.Text:
			r.addf(s, name.Line, "give one of them another name", "two components are named %s, the first one at line %d", name.Text, other.StackComponent.Name.Line)
			return
		case strings.EqualFold(other.Name, name.Text):
			r.addf(s, name.Line, "the names of Kubernetes objects are in lower case: give one of them another name",
				"the names of the components %s and %s differ in case only", other.Name, name.Text)
			return
		}
	}
	c := &Component{
		StackComponent: written, Stack: s, Name: name.Text, Type: written.Type.Text, AutoApprove: s.AutoApprove,
		ObjectName: ShortenName(s.Team+"-"+s.Env+"-"+name.Text, maxObjectName),
	}
	if written.AutoApprove != nil {
		c.AutoApprove = *written.AutoApprove
	}
	c.Variables, c.Tags = r.readVariables(c, locals), r.readTags(c, locals)
	c.Skipped, c.DriftInterval = isSkipped(c, locals), r.readSchedule(c)
	s.Components = append(s.Components, c)
}

func (r *resolver) addf(s *Stack, line int, hint, format string, args ...any) {
	var found problem.List
	found.Addf(s.PositionAt(line), s.Subject(), hint, format, args...)
	r.problems = append(r.problems, found.StoppingStack(s.Path())...)
}

func (r *resolver) warnf(s *Stack, line int, hint, format string, args ...any) {
	r.problems.Warnf(s.PositionAt(line), s.Subject(), hint, format, args...)
}

// FindComponent returns the component of that name; nil if there is none.
func (s *Stack) FindComponent(name string) *Component {
	i, found := slices.BinarySearchFunc(s.Components, name, func(c *Component, name string) int { return strings.Compare(c.Name, name) })
	if !found {
		return nil
	}
	return s.Components[i]
}

func (s *Stack) componentNames() []string {
	names := make([]string, len(s.Components))
	for i, c := range s.Components {
		names[i] = c.Name
	}
	return names
}

// findCompany returns the company of a stack: that of the settings or of a Company, or what is
// before "-config" in the namespace, as CloudKnit wants it.
func (r *resolver) findCompany(s *model.Stack) string {
	if name, ok := r.sharedCompany(); ok {
		return name
	}
	company, _ := strings.CutSuffix(s.Namespace, "-config")
	if company == s.Namespace {
		return ""
	}
	return company
}

// sharedCompany returns the company of all stacks; false if each names its own.
func (r *resolver) sharedCompany() (string, bool) {
	for _, settings := range r.model.Stacks.Settings {
		if settings.Company != "" {
			return settings.Company, true
		}
	}
	for _, c := range r.model.Stacks.Companies {
		return c.CompanyName.Text, true
	}
	return "", false
}

func (r *resolver) checkCompanies() {
	for _, c := range r.model.Stacks.Companies {
		if err := checkCompany(c.CompanyName.Text); err != nil {
			pos := problem.Pos{Layer: c.Pos.Layer, File: c.Pos.File, Line: cmp.Or(c.CompanyName.Line, c.Pos.Line)}
			r.problems.Addf(pos, c.Subject(), companyHint+"; or set spec.company of the StackSettings", "spec.companyName: %v", err)
		}
	}
}

// isTeamProtected reports whether the team of a stack protects all its components. A team that is
// missing among those that are written is a problem.
func (r *resolver) isTeamProtected(s *Stack) bool {
	var names []string
	for _, t := range r.model.Stacks.Teams {
		if t.TeamName.Text == s.Team {
			return FindProtectingTeam(r.model, s.Team) != nil
		}
		names = append(names, t.TeamName.Text)
	}
	if len(names) > 0 && s.Team != "" {
		r.addf(s, s.TeamName.Line, cmp.Or(problem.DidYouMean(s.Team, names), "the teams are "+strings.Join(names, ", ")), "there is no Team with spec.teamName %s", s.Team)
	}
	return false
}

// FindProtectingTeam returns the Team of that name that protects its stacks; nil if there is none.
func FindProtectingTeam(m *model.Model, name string) *model.Team {
	for _, t := range m.Stacks.Teams {
		if t.TeamName.Text == name && t.TeardownProtection {
			return t
		}
	}
	return nil
}

// checkUnique reports stacks that would have the same state or the same objects. It stops both: the
// output may have either.
func (r *resolver) checkUnique(sorted []*Stack) {
	byPath, byNamespace := map[string]*Stack{}, map[string]*Stack{}
	for _, s := range sorted {
		if s.Team == "" || s.Env == "" { // it was reported
			continue
		}
		path := strings.ToLower(s.Path())
		const hint = "give one of them another envName"
		first, beside := byPath[path], byNamespace[s.Namespace]
		switch {
		case first != nil:
			r.addf(s, s.EnvName.Line, hint, "the team %s has another stack %s, at %s: they would share their state", s.Team, s.Env, first.Pos)
		case beside != nil:
			first = beside
			r.addf(s, s.EnvName.Line, hint, "the objects of this stack and of %s, at %s, would be in one namespace, %s", first.Path(), first.Pos, s.Namespace)
		}
		if first != nil && first.Path() != s.Path() {
			r.addf(first, first.EnvName.Line, hint, "the objects of this stack and of %s, at %s, would be in one namespace", s.Path(), s.Pos)
		}
		byPath[path], byNamespace[s.Namespace] = s, s
	}
}
