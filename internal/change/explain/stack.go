package explain

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/stack"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
)

// Stack explains a stack: its components, their order and protection.
type Stack struct {
	Stack     Object `json:"stack" yaml:"stack"`
	Path      string `json:"path" yaml:"path"` // as "team/environment"
	Namespace string `json:"namespace" yaml:"namespace"`
	// Teardown reports that the components are destroyed, in reverse order.
	Teardown bool `json:"teardown,omitempty" yaml:"teardown,omitempty"`
	// Stopped is the problem that stops the stack, or "".
	Stopped string `json:"stopped,omitempty" yaml:"stopped,omitempty"`
	// Team is nil if no Team is written.
	Team      *Object `json:"team,omitempty" yaml:"team,omitempty"`
	Protected bool    `json:"protected,omitempty" yaml:"protected,omitempty"` // by the Team
	// Components are in order of creation or destruction.
	Components []StackComponent `json:"components" yaml:"components"`
	Reads      []Read           `json:"reads,omitempty" yaml:"reads,omitempty"`
}

// StackComponent is one component of a stack.
type StackComponent struct {
	Name     string      `json:"name" yaml:"name"`
	At       problem.Pos `json:"at" yaml:"at"`
	Type     string      `json:"type" yaml:"type"`
	From     string      `json:"from,omitempty" yaml:"from,omitempty"` // module or chart
	WaitsFor []string    `json:"waitsFor,omitempty" yaml:"waitsFor,omitempty"`
	// Notes are special properties, such as protection.
	Notes []string `json:"notes,omitempty" yaml:"notes,omitempty"`
}

func (q *explainer) explainStack(name string) *Stack {
	stacks, _ := stack.Resolve(q.model) // rendering reports its problems
	s := stacks[slices.IndexFunc(stacks, func(s *stack.Stack) bool { return s.Path() == name || s.Name == name })]
	file := q.explainStackFile(path.Join(stackfiles.ObjectsFolder, s.Path()), s, nil)
	out := &Stack{Stack: objectOf(s.Stack), Path: s.Path(), Namespace: s.Namespace, Teardown: s.Teardown, Reads: file.Reads}
	if file.Stopped {
		out.Stopped = file.WhyNot
	}
	for _, t := range q.model.Stacks.Teams {
		if t.TeamName.Text == s.Team {
			team := objectOf(t)
			out.Team, out.Protected = &team, out.Protected || t.TeardownProtection
		}
	}
	for _, c := range sortByOrder(s.Components) {
		out.Components = append(out.Components, q.explainComponent(s, c))
	}
	return out
}

func sortByOrder(all []*stack.Component) []*stack.Component {
	depths := stack.Depths(all, (*stack.Component).After)
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(a, b *stack.Component) int { return cmp.Compare(depths[a], depths[b]) })
	return sorted
}

func (q *explainer) explainComponent(s *stack.Stack, c *stack.Component) StackComponent {
	out := StackComponent{Name: c.Name, At: s.PositionAt(c.StackComponent.Name.Line), Type: c.Type}
	switch {
	case c.Module != nil:
		out.From = strings.TrimSuffix(c.Module.Source.Text+" "+cmp.Or(c.Module.Name, c.Module.Path), " ")
	case c.Source != nil:
		out.From = strings.TrimSuffix(c.Source.Repo.Text+" "+cmp.Or(c.Source.Chart, c.Source.Path), " ")
	}
	for _, before := range c.After() {
		out.WaitsFor = append(out.WaitsFor, before.Name)
	}
	add := func(is bool, note string) {
		if is {
			out.Notes = append(out.Notes, note)
		}
	}
	approved := slices.ContainsFunc(q.model.Stacks.Approvals, func(a *model.PlanApproval) bool { return a.Stack == s.Path() && a.Component == c.Name })
	add(c.Destroyed, "is destroyed")
	add(c.Skipped, "is left as it is: selectiveReconcile leaves it out")
	add(c.DestroyProtection, "destroyProtection")
	add(c.Protected && !c.DestroyProtection && !c.ProtectedByTeam, "protected: a component that needs it is")
	add(c.Type == stack.Terraform && c.AutoApprove, "plans need no approval")
	add(c.Type == stack.Terraform && !c.AutoApprove && approved, "a plan is approved")
	return out
}

func (s *Stack) writePage(p *page, env string) {
	state := ""
	if s.Teardown {
		state = ", which is torn down"
	}
	p.writeTitle("stack %s in environment %s%s", s.Path, env, state)
	team := []any{"team", "no Team is written"}
	if s.Team != nil {
		team = []any{"team", s.Team.cell(), s.Team.At}
	}
	if s.Protected {
		team = append(team, "teardownProtection: the stack is not destroyed")
	}
	p.writeTable(1, [][]any{{"stack", s.Stack, s.Stack.At}, team, {"namespace", s.Namespace, ""}})
	if s.Stopped != "" {
		p.writeSection("stopped")
		p.writeLine(1, s.Stopped)
	}
	if s.Teardown {
		p.writeSection("components, in the order in which they are destroyed: %d", len(s.Components))
	} else {
		p.writeSection("components, in the order in which they are made: %d", len(s.Components))
	}
	p.writeTable(1, list.Convert(s.Components, func(c StackComponent) []any {
		after := "first"
		if len(c.WaitsFor) > 0 {
			after = "after " + nameList(c.WaitsFor, maxNames)
		}
		name := Cell{Text: c.Name, Query: path.Join(stackfiles.ObjectsFolder, s.Path, c.Name)}
		return []any{name, c.Type, c.At, after, c.From, strings.Join(c.Notes, "; ")}
	}))
	writeReads(p, s.Reads)
	if len(s.Components) > 0 {
		ask := path.Join(stackfiles.ObjectsFolder, s.Path, s.Components[0].Name)
		p.writeSection("ask next")
		p.writeTable(1, [][]any{{Cell{Text: fmt.Sprintf("fairlead explain -e %s %s", env, ask), Query: ask}, "what a component is made from"}, {fmt.Sprintf("fairlead stack show -e %s %s", env, s.Path), "what the output does with it"}})
	}
}

// StackObject explains a Team or the StackSettings.
type StackObject struct {
	Object Object   `json:"object" yaml:"object"`
	Facts  []Fact   `json:"facts" yaml:"facts"`
	Stacks []string `json:"stacks,omitempty" yaml:"stacks,omitempty"`
}

// Fact is a field or its effect.
type Fact struct {
	Name  string `json:"name" yaml:"name"`
	Value string `json:"value" yaml:"value"`
}

func (q *explainer) explainTeam(name string) *StackObject {
	i, _ := model.IndexOf(q.model.Stacks.Teams, name)
	t := q.model.Stacks.Teams[i]
	from := "the branch of the environment"
	if slices.Contains(stack.FollowedTeams(q.model), t) {
		from = strings.TrimSuffix(t.ConfigRepo.Source+" "+t.ConfigRepo.Path, " ")
	}
	protects := "no"
	if t.TeardownProtection {
		protects = "yes: none of its stacks is destroyed, also if their files are deleted"
	}
	return &StackObject{objectOf(t), []Fact{{"spec.teamName", t.TeamName.Text}, {"its stacks are read from", from}, {"spec.teardownProtection", protects}},
		q.stacksOf(func(s *model.Stack) bool { return s.TeamName.Text == t.TeamName.Text })}
}

func (q *explainer) explainSettings(name string) *StackObject {
	i, _ := model.IndexOf(q.model.Stacks.Settings, name)
	s := q.model.Stacks.Settings[i]
	modules := stack.ResolveModules(q.model, func(string, string, ...any) {}) // rendering reports its problems
	follows := "on servers that the settings or the control plane name"
	if read, decided := stack.FollowsModules(q.model); decided {
		follows = fmt.Sprint(read)
	}
	return &StackObject{objectOf(s), []Fact{
		{"state", fmt.Sprintf("bucket %s, region %s", s.State.Bucket, s.State.Region)},
		{"root modules", fmt.Sprintf("%s, branch %s", modules.Repo, modules.Branch)},
		{"stacks are read in repositories of Teams", fmt.Sprint(s.Follow.Teams)},
		{"modules are read, and pinned", follows},
		{"plans are compared at", cmp.Or(s.Plans.Webhook, "nowhere")},
	}, q.stacksOf(func(*model.Stack) bool { return true })}
}

func (q *explainer) stacksOf(is func(*model.Stack) bool) []string {
	var names []string
	for _, s := range q.model.Stacks.List {
		if is(s) {
			names = append(names, s.Path())
		}
	}
	slices.Sort(names)
	return names
}

func (o *StackObject) writePage(p *page, env string) {
	p.writeTitle("%s in environment %s", o.Object.subject(), env)
	rows := [][]any{{"written at", o.Object.At}}
	p.writeTable(1, append(rows, list.Convert(o.Facts, func(f Fact) []any { return []any{f.Name, f.Value} })...))
	p.writeSection("stacks: %d", len(o.Stacks))
	p.writeRows(1, list.Convert(o.Stacks, func(name string) []any {
		return []any{Cell{Text: name, Query: stackKind + "/" + name}}
	}))
}
