package stack

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
)

// linkComponents sets what each component of a stack needs and is needed by, and reports what
// cannot be an order.
func (r *resolver) linkComponents(s *Stack) {
	names := s.componentNames()
	for _, c := range s.Components {
		seen := map[string]bool{}
		for _, d := range c.DependsOn {
			needed := s.FindComponent(d.Text)
			switch {
			case d.Text == c.Name:
				r.addf(s, d.Line, "remove it", "component %s depends on itself", c.Name)
			case needed == nil:
				r.addf(s, d.Line, cmp.Or(problem.DidYouMean(d.Text, names), "the components are "+strings.Join(names, ", ")),
					"component %s depends on %s, which is no component of this stack", c.Name, d.Text)
			case seen[d.Text]:
				r.addf(s, d.Line, "remove one of them", "component %s depends on %s twice", c.Name, d.Text)
			default:
				c.Needs, needed.NeededBy = append(c.Needs, needed), append(needed.NeededBy, c)
			}
			seen[d.Text] = true
		}
	}
	for _, c := range s.Components {
		slices.SortFunc(c.Needs, compareNames)
	}
	r.checkCycles(s)
}

func compareNames(a, b *Component) int { return strings.Compare(a.Name, b.Name) }

// checkCycles reports the components that need each other in a circle: no order exists for them.
func (r *resolver) checkCycles(s *Stack) {
	open := newUnordered(s.Components)
	for _, c := range s.Components {
		for open.waits(c) {
			r.reportCycle(s, open.findCycle(c), open)
		}
	}
}

func (r *resolver) reportCycle(s *Stack, cycle []*Component, open unordered) {
	names := make([]string, 0, len(cycle)+1)
	for _, c := range cycle {
		names = append(names, c.Name)
		open.remove(c)
	}
	first := cycle[0]
	r.addf(s, first.StackComponent.Name.Line, "remove one of the entries of dependsOn", "components depend on each other in a circle: %s",
		strings.Join(append(names, first.Name), " -> "))
}

// unordered holds the components that have no place in an order yet, with the number of those among them that each
// needs.
type unordered map[*Component]int

func newUnordered(all []*Component) unordered {
	open := unordered{}
	for _, c := range all {
		open[c] = len(c.Needs)
	}
	for _, c := range all {
		if open.waits(c) && open[c] == 0 {
			open.remove(c)
		}
	}
	return open
}

func (o unordered) waits(c *Component) bool {
	_, waits := o[c]
	return waits
}

func (o unordered) remove(c *Component) {
	if !o.waits(c) {
		return
	}
	delete(o, c)
	for ready := []*Component{c}; len(ready) > 0; {
		c, ready = ready[len(ready)-1], ready[:len(ready)-1]
		for _, user := range c.NeededBy {
			if !o.waits(user) {
				continue
			}
			o[user]--
			if o[user] == 0 {
				delete(o, user)
				ready = append(ready, user)
			}
		}
	}
}

// findCycle returns the circle to which the first needs of c lead, from its first name on.
func (o unordered) findCycle(c *Component) []*Component {
	var walked []*Component
	index := map[*Component]int{}
	for {
		begin, seen := index[c]
		if seen {
			walked = walked[begin:]
			break
		}
		index[c], walked = len(walked), append(walked, c)
		c = c.Needs[slices.IndexFunc(c.Needs, o.waits)]
	}
	first := slices.Index(walked, slices.MinFunc(walked, compareNames))
	return slices.Concat(walked[first:], walked[:first])
}

func (r *resolver) decideDestruction(s *Stack, teamProtects bool) {
	for _, c := range s.Components {
		if c.DestroyProtection {
			protect(c, c)
		}
		if s.Teardown && c.Skipped {
			keepNeeds(c, c)
		}
	}
	for _, c := range s.Components {
		if teamProtects && !c.Protected {
			c.Protected, c.ProtectedByTeam, c.protector = true, true, c
		}
		c.Destroyed = (s.Teardown || c.IsToBeDestroyed()) && !c.Protected && !c.Skipped && c.keptFor == nil
	}
	for _, c := range s.Components {
		line := c.StackComponent.Name.Line
		if (s.Teardown || c.IsToBeDestroyed()) && c.Protected {
			r.warnOfProtected(c, teamProtects)
		}
		if c.keptFor != nil && !c.Protected {
			r.warnf(s, line, "", "component %s is not destroyed: selectiveReconcile leaves out %s, which needs it", c.Name, c.keptFor.Name)
		}
		if c.Destroyed && c.Destroy != nil && !*c.Destroy {
			r.warnf(s, line, "set destroyProtection: true to keep it", "component %s is destroyed: teardown goes before destroy: false, as in CloudKnit", c.Name)
		}
		if c.Destroyed && !s.Teardown {
			for _, user := range c.NeededBy {
				if !user.Destroyed {
					r.warnf(s, line, "destroy "+user.Name+" too, or have it need "+c.Name+" no more", "component %s is to be destroyed while %s needs it: its plan is not approved until then", c.Name, user.Name)
				}
			}
		}
	}
}

// keepNeeds has what a component needs outlive it, directly or not: it is left out, and is not
// destroyed with the stack.
func keepNeeds(c, leftOut *Component) {
	for _, n := range c.Needs {
		if n.keptFor == nil {
			n.keptFor = leftOut
			keepNeeds(n, leftOut)
		}
	}
}

// protect marks a component as protected, with everything that it needs, by one of these that is to
// stay.
func protect(c, by *Component) {
	if c.Protected {
		return
	}
	c.Protected, c.protector = true, by
	for _, n := range c.Needs {
		protect(n, by)
	}
}

func (r *resolver) warnOfProtected(c *Component, teamProtects bool) {
	hint, reason := "remove destroyProtection first, in a change of its own", "it is protected"
	if !c.DestroyProtection {
		reason = c.protector.Name + " needs it, and is protected"
	}
	if teamProtects {
		hint, reason = "remove teardownProtection of the Team first, in a change of its own", "its Team is protected"
	}
	r.warnf(c.Stack, c.StackComponent.Name.Line, hint, "component %s is not destroyed: %s", c.Name, reason)
}

// Depths returns how many nodes of a graph come one after the other before each, by the nodes that come directly
// before it. In a circle, which is a problem, and after one, that is the number of nodes. It calls before once for
// each node.
func Depths[N comparable](all []N, before func(N) []N) map[N]int {
	depths, waiting, after := map[N]int{}, map[N]int{}, map[N][]N{}
	for _, n := range all {
		depths[n] = len(all)
	}
	var ready []N
	for _, n := range all {
		for _, b := range before(n) {
			if _, known := depths[b]; !known {
				depths[b] = 0
				ready = append(ready, b)
			}
			waiting[n]++
			after[b] = append(after[b], n)
		}
		if waiting[n] == 0 {
			ready = append(ready, n)
		}
	}
	for depth := 0; len(ready) > 0; depth++ {
		var next []N
		for _, n := range ready {
			depths[n] = depth
			for _, a := range after[n] {
				waiting[a]--
				if waiting[a] == 0 {
					next = append(next, a)
				}
			}
		}
		ready = next
	}
	return depths
}
