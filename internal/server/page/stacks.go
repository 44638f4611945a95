package page

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/change/impact"
	"github.com/fairlead-io/fairlead/internal/reconcile/stackview"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
	"github.com/fairlead-io/fairlead/internal/server/answer"
	"github.com/fairlead-io/fairlead/internal/server/picture"
)

// Stacks is the page of stacks: the answer, and how it was asked for.
type Stacks struct {
	answer.Stacks
	Filter       answer.StackFilter
	Environments []string
}

// ParseStackFilter returns the filter that the parameters of an address mean.
func ParseStackFilter(query url.Values) answer.StackFilter {
	page, _ := strconv.Atoi(query.Get("page")) // another text is the first page
	return answer.StackFilter{Text: query.Get("q"), Environment: query.Get("env"), State: query.Get("state"), Page: page}
}

// StateChoices returns the states that may be asked for.
func (v Stacks) StateChoices() []choice { return toneChoices(v.Filter.State) }

// Pager returns the way to other stacks.
func (v Stacks) Pager() pager {
	return newListPager("stacks", v.Page, v.Found, url.Values{"q": {v.Filter.Text}, "env": {v.Filter.Environment}, "state": {v.Filter.State}})
}

func stackPath(environment, stack string) string {
	team, name := splitStack(stack)
	return "stacks/" + team + "/" + name + "?" + url.Values{"env": {environment}}.Encode()
}

func splitStack(stack string) (team, name string) {
	team, name, _ = strings.Cut(stack, "/")
	return url.PathEscape(team), url.PathEscape(name)
}

// leverPath returns the address of a lever for what needs a person, from the root of the site.
func leverPath(name string, n answer.Need) string {
	if n.Stack != "" && n.Component == "" { // its page has one for each component
		return stackPath(n.Environment, n.Stack)
	}
	values := url.Values{"env": {n.Environment}}
	if n.Component != "" {
		values["stack"], values["component"], values["inputs"] = []string{n.Stack}, []string{n.Component}, []string{n.Inputs}
	}
	if n.Wave != "" {
		values["wave"], values["commit"] = []string{n.Wave}, []string{n.Advance}
	}
	return "levers/" + name + "?" + values.Encode()
}

// PlanNeed returns what waits until the plan of a component is approved.
func (v stackView) PlanNeed(c answer.StackComponent) answer.Need {
	return answer.Need{Environment: v.Environment, Stack: v.StackPart.Stack, Component: c.Name, Inputs: c.Inputs}
}

// stackView is the data of stack.html.
type stackView struct {
	answer.Stack
	// Graph is the picture of the components; nil where a list says as much.
	Graph *graphView
	// Levers are what the reader may do, Written the commit that the reader has just written, and Opened
	// the number of the pull request that the reader has just opened.
	Levers  []LeverLink
	Written string
	Opened  int
}

// Lever returns what the reader may do by a lever; nil where the page is only read.
func (v stackView) Lever(name string) *LeverLink {
	for _, l := range v.Levers {
		if l.Lever == name {
			return &l
		}
	}
	return nil
}

func newStackView(a answer.Stack, f Frame) stackView {
	v := stackView{Stack: a, Levers: f.StackLevers[a.Environment], Written: f.Written, Opened: f.Proposed}
	if len(a.Parts) < 2 || len(a.Parts) > maxDrawn {
		return v
	}
	nodes := make([]picture.Node, len(a.Parts))
	for i, c := range a.Parts {
		nodes[i] = picture.Node{Name: c.Name, After: c.After}
	}
	p := picture.NewPicture(nodes)
	v.Graph = &graphView{Picture: p, Label: "The order of the components"}
	for i, b := range p.Boxes {
		c := a.Parts[i]
		box := boxView{Box: b, State: answer.State{Tone: answer.Unknown}, TextX: b.X + 12, MarkX: b.X + b.Width - 26, MarkY: b.Y + 12}
		box.Title, box.Word = text.Limit(c.Name, maxTitle), text.Limit(componentWord(c), maxLine)
		box.Anchor, box.Has = componentAnchor(c.Name), text.Limit(strings.TrimSuffix(c.Type+", "+approvalWord(c), ", "), 22)
		if c.Run != nil {
			box.Has = c.Run.Short()
		}
		if c.State != nil {
			box.State = *c.State
			box.Word = text.Limit(c.State.Word, maxLine)
		}
		if len(c.WaitsFor) > 0 {
			box.Word = text.Limit("waits for "+strings.Join(c.WaitsFor, ", "), maxLine)
		}
		v.Graph.Boxes = append(v.Graph.Boxes, box)
	}
	v.Graph.addArrows(p)
	return v
}

func componentAnchor(name string) string { return "component-" + name }

func componentWord(c answer.StackComponent) string {
	switch c.Action {
	case stackfiles.Destroy:
		if c.State != nil && c.State.Word == stackview.Destroyed {
			return c.State.Word
		}
		return "to be destroyed"
	case stackfiles.Suspend:
		return "suspended"
	}
	return "wanted"
}

func approvalWord(c answer.StackComponent) string {
	switch {
	case c.Plan == "":
		return ""
	case c.Approval == "auto":
		return "by itself"
	case c.Approval != "":
		return "approved"
	}
	return "by approval"
}

func changeState(c impact.ComponentChange) answer.State {
	tone := answer.Busy
	switch c.Change {
	case impact.ComponentDestroyed, impact.ComponentApproved, impact.ComponentOrphaned, impact.ComponentUninstalled, impact.ComponentCleared:
		tone = answer.Bad
	case impact.ComponentAdded, impact.ComponentChanged, impact.ComponentKept, impact.ComponentReinstalled, impact.ComponentResumed:
	}
	return answer.State{Tone: tone, Word: string(c.Change)}
}
