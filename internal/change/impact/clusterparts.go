package impact

import (
	"path"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/clusters"
	"github.com/fairlead-io/fairlead/internal/render/clusterfiles"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
)

// compareParts sets the changes of the parts that tofu-controller runs for the manifest
// in folder.
func (c *ClusterChange) compareParts(folder string, old, new tree.Tree) {
	if path.Base(path.Dir(folder)) != clusters.Tofu {
		return
	}
	before, err := clusterfiles.SummarizeManifest(path.Base(folder), old)
	if err == nil {
		c.parts, err = clusterfiles.SummarizeManifest(path.Base(folder), new)
	}
	if err != nil {
		c.Unknown = err.Error()
		return
	}
	for _, part := range mergeComponents(before, c.parts) {
		was, wasThere := before.FindComponent(part.Name)
		is, isThere := c.parts.FindComponent(part.Name)
		one := ComponentChange{Name: part.Name, After: part.After, Change: partState(was, is, wasThere, isThere)}
		if c.restored && one.Change == ComponentAdded { // restored files do not make an existing part new
			one.Change = ComponentChanged
			if is.Action == stackfiles.Destroy {
				one.Change = ComponentDestroyed
			}
		}
		isApproved := isThere && is.Approval == is.Plan && is.Plan != "" && was.Approval != is.Approval
		switch {
		case isApproved && one.Change == "":
			c.Approved = append(c.Approved, part.Name)
		case one.Change == "":
			continue
		}
		one.Waits = isThere && is.Plan != "" && is.Approval == "" && !is.Unversioned
		c.Parts = append(c.Parts, one)
	}
	c.Parts = slices.DeleteFunc(c.Parts, func(one ComponentChange) bool { return one.Change == "" })
}

// partState returns the change of a part; "" for none. An approval alone is not a
// change.
func partState(was, is stackfiles.ComponentSummary, wasThere, isThere bool) ComponentState {
	switch {
	case !wasThere:
		return ComponentAdded
	case !isThere && was.Action == stackfiles.Destroy:
		return ComponentCleared
	case !isThere && was.Stays:
		return ComponentOrphaned
	case !isThere, is.Action == stackfiles.Destroy && was.Action != stackfiles.Destroy:
		return ComponentDestroyed
	case was.Inputs != is.Inputs || was.Plan != is.Plan:
		return ComponentChanged
	}
	return ""
}

func (c ClusterChange) changedParts() StackChange {
	return StackChange{Stack: c.parts.Stack, Components: c.Parts}
}
