package model

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/kubename"
)

// Groups divide the cluster types that a policy has chosen, as decision groups of Open Cluster Management do: first those
// that have a name, then the rest.
type Groups struct {
	Named []NamedGroup
	// Decided are those that a Placement of Open Cluster Management has made, in place of the others; nil for none.
	Decided []DecidedGroup
	// Size is the most cluster types of a group, or Percent of all that are chosen, rounded up; no limit if both are 0.
	Size, Percent int
}

// NamedGroup takes the cluster types that it selects and that no group before it has.
type NamedGroup struct {
	Name         string
	ClusterTypes Selector
}

// DecidedGroup is a group of a decision; the rest has no name. Several have one name if they are divided by size.
type DecidedGroup struct {
	Name         string   `yaml:"name,omitempty"`
	ClusterTypes []string `yaml:"clusterTypes,flow"`
}

// groupPrefix begins the name of the label by which a wave selects the cluster types of a group.
const groupPrefix = "group."

func groupLabel(name string) string { return OwnGroup + "/" + groupPrefix + name }

// GroupLabels returns the labels of a cluster type, with one for each group of a decision that has it.
func (m *Model) GroupLabels(t *ClusterType) map[string]string {
	labels := t.Labels
	for _, d := range m.Decisions {
		for _, g := range d.Groups {
			if g.Name == "" || !slices.Contains(g.ClusterTypes, t.Name) {
				continue
			}
			more := map[string]string{groupLabel(g.Name): ""}
			maps.Copy(more, labels)
			labels = more
		}
	}
	return labels
}

// Divide returns the groups of the cluster types that are chosen, each sorted by name.
func (g *Groups) Divide(chosen []*ClusterType) []DecidedGroup {
	if g == nil {
		return nil
	}
	left := slices.SortedFunc(slices.Values(chosen), func(a, b *ClusterType) int { return cmp.Compare(a.Name, b.Name) })
	size := cmp.Or(g.Size, (g.Percent*len(left)+99)/100, len(left))
	var all []DecidedGroup
	take := func(name string, takes func(t *ClusterType) bool) {
		var names []string
		left = slices.DeleteFunc(left, func(t *ClusterType) bool {
			taken := takes(t)
			if taken {
				names = append(names, t.Name)
			}
			return taken
		})
		for part := range slices.Chunk(names, max(size, 1)) {
			all = append(all, DecidedGroup{name, part})
		}
	}
	for _, group := range g.Decided {
		take(group.Name, func(t *ClusterType) bool { return slices.Contains(group.ClusterTypes, t.Name) })
	}
	for _, group := range g.Named {
		take(group.Name, func(t *ClusterType) bool { return group.ClusterTypes.Matches(t.Labels) })
	}
	take("", func(*ClusterType) bool { return true })
	return all
}

type groupsSpec struct {
	Named []groupSpec  `yaml:"named"`
	Size  verbatimText `yaml:"size"`
}

type groupSpec struct {
	Name         string       `yaml:"name" required:"true"`
	ClusterTypes selectorSpec `yaml:"clusterTypes" required:"true"`
}

func (s *groupsSpec) parse(a annotationText) *Groups {
	if s == nil {
		return nil
	}
	if len(s.Named) > maxChoiceItems {
		a.addAt("groups", "", "%s.groups has %d names, and %d is the limit", a.path, len(s.Named), maxChoiceItems)
		return nil
	}
	g := &Groups{}
	for _, one := range s.Named {
		if err := kubename.CheckLabelValue(groupPrefix + one.Name); err != nil || one.Name == "" {
			a.addAt("groups", "write a name such as canary", "%s.groups cannot have the name %q", a.path, one.Name)
		}
		if slices.ContainsFunc(g.Named, func(before NamedGroup) bool { return before.Name == one.Name }) {
			a.addAt("groups", "write one group with a selector for both", "%s.groups has the name %s twice", a.path, one.Name)
		}
		g.Named = append(g.Named, NamedGroup{one.Name, a.selector("groups", one.ClusterTypes)})
	}
	if s.Size == "" {
		return g
	}
	digits, isPercent := strings.CutSuffix(string(s.Size), "%")
	n, err := strconv.Atoi(digits)
	if err != nil || n < 1 || n > maxPick || isPercent && n > 100 {
		a.addAt("groups", "write a number such as 5, or a part such as 25%", "%s.groups cannot have the size %q", a.path, s.Size)
		return g
	}
	if isPercent {
		g.Percent = n
	} else {
		g.Size = n
	}
	return g
}
