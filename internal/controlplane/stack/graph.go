package stack

import (
	"cmp"
	"maps"
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
	open := map[*Component]bool{} // not in an order, so far
	for _, c := range s.Components {
		open[c] = true
	}
	for {
		removeOrdered(open)
		if len(open) == 0 {
			return
		}
		cycle := findCycle(open)
		names := make([]string, 0, len(cycle)+1)
		for _, c := range cycle {
			names = append(names, c.Name)
			delete(open, c)
		}
		first := cycle[0]
		r.addf(s, first.StackComponent.Name.Line, "remove one of the entries of dependsOn", "components depend on each other in a circle: %s",
			strings.Join(append(names, first.Name), " -> "))
	}
}

// removeOrdered removes the components that need none of the others, until each needs one.
func removeOrdered(open map[*Component]bool) {
	for removed := true; removed; {
		removed = false
		for c := range open {
			if !slices.ContainsFunc(c.Needs, func(n *Component) bool { return open[n] }) {
				delete(open, c)
				removed = true
			}
		}
	}
}

// findCycle returns a circle among components of which each needs another one, from its first name
// on. It is the same one whatever the order of the map.
func findCycle(open map[*Component]bool) []*Component {
	c := slices.MinFunc(slices.Collect(maps.Keys(open)), compareNames)
	var walked []*Component
	for !slices.Contains(walked, c) {
		walked = append(walked, c)
		next := slices.IndexFunc(c.Needs, func(n *Component) bool { return open[n] })
		c = c.Needs[next]
	}
	cycle := walked[slices.Index(walked, c):]
	first := slices.Index(cycle, slices.MinFunc(cycle, compareNames))
	return slices.Concat(cycle[first:], cycle[:first])
}

// decideDestruction decides which components of a stack are destroyed.
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

// warnOfProtected warns of a component that was to be destroyed, and is protected.
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
// before it. In a circle, which is a problem, that is no more than there are nodes.
func Depths[N comparable](all []N, before func(N) []N) map[N]int {
	depths := map[N]int{}
	for range all { // no chain is longer
		for _, n := range all {
			for _, b := range before(n) {
				depths[n] = max(depths[n], min(depths[b]+1, len(all)))
			}
		}
	}
	return depths
}
