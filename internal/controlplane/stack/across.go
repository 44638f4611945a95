package stack

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// Claims are the stacks of an environment, as they are compared with those of others.
type Claims struct {
	Environment string
	Bucket      string         // of their state; "" if it is not known
	Written     []*model.Stack // those that have a file
	Output      []string       // the paths of those that its output has, as far as that is known
}

// NewClaims returns the stacks that an environment has files of.
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
	})
}

// claim is one stack of an environment: it has a file, or the output has it, or both.
type claim struct {
	environment, bucket string
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

// CheckEnvironments reports stacks that an earlier environment has too, with their state in the same bucket:
// two clusters would run one state.
func CheckEnvironments(models []*model.Model) map[string]problem.List {
	return CheckClaims(list.Convert(models, NewClaims))
}

// CheckClaims reports the stacks that two environments have, with their state in the same bucket, by the name
// of the environment that cannot have it. One whose output has the stack goes on, also if that tears the
// stack down; of several, or none, the first one.
func CheckClaims(all []Claims) map[string]problem.List {
	claims, found := map[string][]*claim{}, map[string]problem.List{}
	for _, c := range all {
		mine := map[string]*claim{}
		at := func(path string) *claim {
			path = strings.ToLower(path)
			if mine[path] == nil {
				mine[path] = &claim{environment: c.Environment, bucket: c.Bucket}
				claims[path] = append(claims[path], mine[path])
			}
			return mine[path]
		}
		for _, s := range c.Written {
			at(s.Path()).written = s
		}
		for _, path := range c.Output {
			at(path).isOutput = true
		}
	}
	for _, same := range claims {
		for _, c := range same {
			others := slices.DeleteFunc(slices.Clone(same), func(o *claim) bool { return o.bucket != c.bucket && o.bucket != "" })
			first := slices.MaxFunc(others, func(a, b *claim) int { return cmp.Compare(a.rank(), b.rank()) }) // the first of several
			if c.written != nil && first.environment != c.environment {
				found[c.environment] = append(found[c.environment], c.refuse(first))
			}
		}
	}
	return found
}

// refuse returns the problem that stops a stack which another environment has.
func (c *claim) refuse(first *claim) problem.Problem {
	s := c.written
	p := problem.Problem{Pos: s.PositionAt(s.EnvName.Line), Subject: s.Subject(), Stack: s.Path()}
	if first.written == nil {
		p.Hint = "it goes on once that output has it no more; to move a stack, see docs/how-to/from-cloudknit.md"
		p.Summary = "the output of environment " + first.environment + " still has the stack " + s.Path() + ": they would share their state"
		return p
	}
	p.Hint = "give it another envName, or its environment another bucket; to move a stack, see docs/how-to/from-cloudknit.md"
	p.Summary = "environment " + first.environment + " has the stack " + s.Path() + " too, at " + first.written.Pos.String() + ": they would share their state"
	return p
}
