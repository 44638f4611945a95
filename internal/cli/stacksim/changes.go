package stacksim

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// findChange returns a plan's action for a component, in Terraform's word ("" for none), and the
// inputs before and after.
func (t *terraform) findChange() (action string, before, after map[string]string) {
	before, after = map[string]string{}, t.want.inputs
	if t.made != nil {
		before = t.made.inputs
	}
	destroys := t.isLeaving || t.begun != nil && t.begun.spec.Destroy
	switch {
	case destroys && t.made == nil:
		return "", nil, nil
	case destroys:
		return "delete", before, map[string]string{}
	case t.made != nil && t.made.digest == t.want.digest && t.drift == "" && !t.isPartial:
		return "", nil, nil
	case t.made != nil:
		return "update", before, after
	}
	return "create", before, after
}

func (t *terraform) describePlan() string {
	action, before, after := t.findChange()
	verb, counts := "created", "1 to add, 0 to change, 0 to destroy"
	switch action {
	case "":
		return ""
	case "delete":
		verb, counts = "destroyed", "0 to add, 0 to change, 1 to destroy"
	case "update":
		verb, counts = "updated in-place", "0 to add, 1 to change, 0 to destroy"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "  # module.%s will be %s\n", path.Base(t.component()), verb)
	names := maps.Clone(before)
	maps.Copy(names, after)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		switch old, now := before[name], after[name]; {
		case old == now:
		case old == "":
			fmt.Fprintf(&b, "  + %s = %s\n", name, now)
		case now == "":
			fmt.Fprintf(&b, "  - %s = %s\n", name, old)
		default:
			fmt.Fprintf(&b, "  ~ %s = %s -> %s\n", name, old, now)
		}
	}
	if t.drift != "" && action == "update" {
		fmt.Fprintf(&b, "  # module.%s has changed: %s\n", path.Base(t.component()), t.drift)
	}
	fmt.Fprintf(&b, "\nPlan: %s.\n", counts)
	return b.String()
}
