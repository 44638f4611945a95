package stack

import "slices"

// isSkipped reports whether selectiveReconcile leaves a component out. With skipMode it leaves out
// those that have the tag, and without it all others: one without tags is an other.
func isSkipped(c *Component, all locals) bool {
	selection := c.Stack.SelectiveReconcile
	if selection == nil {
		return false
	}
	for _, t := range c.StackComponent.Tags {
		value := all.expand(t.Value, func(string) {}) // readTags has reported it
		if t.Name.Text == selection.TagName.Text && slices.Contains(selection.TagValues, value) {
			return selection.SkipMode
		}
	}
	return !selection.SkipMode
}

func (r *resolver) checkSelection(s *Stack) {
	if s.SelectiveReconcile == nil || len(s.Components) == 0 {
		return
	}
	line, first := s.SelectiveReconcile.TagName.Line, s.Components[0].Skipped
	if slices.ContainsFunc(s.Components, func(c *Component) bool { return c.Skipped != first }) {
		return
	}
	if first {
		r.warnf(s, line, "", "spec.selectiveReconcile leaves out all components")
		return
	}
	r.warnf(s, line, "", "spec.selectiveReconcile leaves out no component")
}
