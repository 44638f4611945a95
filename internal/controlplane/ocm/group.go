package ocm

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
)

// DecisionGroup is some of the clusters of a decision, sorted by name. The rest has no name; several have one name if they
// are divided by size.
type DecisionGroup struct {
	Name     string
	Clusters []string
}

// Divide returns the groups of the clusters that a Placement has selected, as OCM makes them (generateDecisionGroups of its
// scheduling controller); nil if its decisionStrategy says nothing. The error is a [*MisconfiguredError].
func (o *Objects) Divide(p *Placement, selected []string) ([]DecisionGroup, error) {
	strategy := &p.Spec.DecisionStrategy.GroupStrategy
	if len(strategy.DecisionGroups) == 0 && strategy.ClustersPerDecisionGroup == nil {
		return nil, nil
	}
	size, err := groupSize(strategy.ClustersPerDecisionGroup, len(selected))
	if err != nil {
		return nil, err
	}
	var groups []DecisionGroup
	add := func(name string, clusters []string) {
		slices.Sort(clusters)
		for part := range slices.Chunk(clusters, size) {
			groups = append(groups, DecisionGroup{name, part})
		}
	}
	left := map[string]bool{}
	for _, name := range selected {
		left[name] = true
	}
	for i := range strategy.DecisionGroups {
		group := &strategy.DecisionGroups[i]
		s, err := group.ClusterSelector.parse()
		if err != nil {
			return nil, err
		}
		var matched []string
		for _, c := range o.Clusters {
			if left[c.Metadata.Name] && s.matches(c) {
				matched = append(matched, c.Metadata.Name)
				delete(left, c.Metadata.Name)
			}
		}
		add(group.GroupName, matched)
	}
	rest := slices.DeleteFunc(slices.Clone(selected), func(name string) bool { return !left[name] })
	add("", rest)
	return groups, nil
}

// groupSize returns the most clusters of a group, at least 1. As in OCM, a size of no clusters or of more than there are is
// that of all.
func groupSize(written *intstr.IntOrString, all int) (int, error) {
	size := all
	switch {
	case written == nil:
	case written.Type == intstr.Int:
		size = written.IntValue()
	default:
		percent, isPercent := strings.CutSuffix(written.StrVal, "%")
		part, err := strconv.ParseFloat(percent, 64)
		if !isPercent || err != nil {
			return 0, &MisconfiguredError{fmt.Sprintf("clustersPerDecisionGroup %q is no percentage", written.StrVal), "write a number, or a part such as 25%"}
		}
		size = int(math.Ceil(part / 100 * float64(all)))
	}
	if size <= 0 || size > all {
		size = all
	}
	return max(size, 1), nil
}
