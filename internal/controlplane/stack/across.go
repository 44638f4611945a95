package stack

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// Claims are the stacks of an environment, as they are compared with those of others.
type Claims struct {
	Environment string
	Bucket      string         // of their state; "" if it is not known
	Written     []*model.Stack // those that have a file
	States      []State        // of their components
	Output      []string       // the paths of those that its output has, as far as that is known
	Named       []State        // those that its output names
}

// State is where a component of a stack has its state.
type State struct {
	Stack, Component string
	ID               string // two components with one have one state
}

// NewClaims returns the stacks that an environment has files of, without the states of their components.
func NewClaims(m *model.Model) Claims {
	c := Claims{Environment: m.Environment}
	if len(m.Stacks.Settings) > 0 { // or else that is reported
		c.Bucket, c.Written = m.Stacks.Settings[0].State.Bucket, m.Stacks.List
	}
	return c
}

// Adds reports whether there is a stack that was not there before, or has its state elsewhere.
func (c Claims) Adds(before Claims) bool {
	return len(c.Written) > 0 && c.Bucket != before.Bucket || slices.ContainsFunc(c.Written, func(s *model.Stack) bool {
		return !slices.ContainsFunc(before.Written, func(b *model.Stack) bool { return strings.EqualFold(b.Path(), s.Path()) })
	}) || slices.ContainsFunc(c.States, func(s State) bool { return !slices.Contains(before.States, s) })
}

// claim is one stack of an environment, or the state of one of its components: it has a file, or the output has
// it, or both.
type claim struct {
	environment, bucket string
	state               State // zero for a stack
	written             *model.Stack
	isOutput            bool
}

// rank is higher for a claim that comes first: clusters run what the output has.
func (c *claim) rank() int {
	switch {
	case c.isOutput && c.written != nil:
		return 2
	case c.isOutput:
		return 1
	}
	return 0
}

type claimList map[string][]*claim

func (l claimList) add(what string, c claim) *claim {
	i := slices.IndexFunc(l[what], func(o *claim) bool { return o.environment == c.environment && o.state == c.state })
	if i < 0 {
		i, l[what] = len(l[what]), append(l[what], &c)
	}
	return l[what][i]
}

// CheckClaims reports the stacks that two environments have, with their state in the same bucket, and those
// with a component whose state is that of one in another environment: two clusters would run one state. The
// problems are by the name of the environment that cannot have it. One whose output has it goes on, also if
// that tears the stack down; of several, or none, the first one.
func CheckClaims(all []Claims) map[string]problem.List {
	stacks, states, found := claimList{}, claimList{}, map[string]problem.List{}
	for _, c := range all {
		files := map[string]*model.Stack{}
		for _, s := range c.Written {
			files[s.Path()] = s
			stacks.add(strings.ToLower(s.Path()), claim{environment: c.Environment, bucket: c.Bucket}).written = s
		}
		for _, path := range c.Output {
			stacks.add(strings.ToLower(path), claim{environment: c.Environment, bucket: c.Bucket}).isOutput = true
		}
		for _, s := range c.States {
			states.add(s.ID, claim{environment: c.Environment, state: s}).written = files[s.Stack]
		}
		for _, s := range c.Named {
			states.add(s.ID, claim{environment: c.Environment, state: s}).isOutput = true
		}
	}
	stacks.check(found)
	states.check(found)
	return found
}

func (l claimList) check(found map[string]problem.List) {
	more := map[string]problem.List{}
	for _, same := range l {
		for _, c := range same {
			others := slices.DeleteFunc(slices.Clone(same), func(o *claim) bool { return o.bucket != c.bucket && o.bucket != "" })
			first := slices.MaxFunc(others, func(a, b *claim) int { return cmp.Compare(a.rank(), b.rank()) }) // the first of several
			if c.written != nil && first.environment != c.environment && !found[c.environment].StopsStack(c.written.Path()) {
				more[c.environment] = append(more[c.environment], c.refuse(first))
			}
		}
	}
	for environment, problems := range more {
		found[environment] = append(found[environment], problems...)
	}
}

func (c *claim) position() problem.Pos {
	for _, component := range c.written.Components {
		if component != nil && component.Name.Text == c.state.Component {
			return c.written.PositionAt(component.Name.Line)
		}
	}
	return c.written.Pos
}

func (c *claim) refuse(first *claim) problem.Problem {
	const move = "; to move a stack, see docs/how-to/from-cloudknit.md"
	s := c.written
	p := problem.Problem{Pos: s.PositionAt(s.EnvName.Line), Subject: s.Subject(), Stack: s.Path()}
	isState, isGone := c.state != State{}, first.written == nil
	if isState {
		p.Pos = c.position()
	}
	of := fmt.Sprintf("the component %s of the stack %s", first.state.Component, first.state.Stack)
	switch {
	case isGone && isState:
		p.Summary = fmt.Sprintf("component %s: the output of environment %s still has its state, for %s: each would destroy what the other has made", c.state.Component, first.environment, of)
	case isGone:
		p.Summary = "the output of environment " + first.environment + " still has the stack " + s.Path() + ": they would share their state"
	case isState:
		p.Hint = "give the backend of its root module another key" + move
		p.Summary = fmt.Sprintf("component %s: its state is that of %s in environment %s, at %s: each would destroy what the other has made", c.state.Component, of, first.environment, first.position())
	default:
		p.Hint = "give it another envName, or its environment another bucket" + move
		p.Summary = "environment " + first.environment + " has the stack " + s.Path() + " too, at " + first.written.Pos.String() + ": they would share their state"
	}
	if isGone {
		p.Hint = "it goes on once that output has it no more" + move
	}
	return p
}
