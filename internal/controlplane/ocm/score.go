package ocm

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// The prioritizers that OCM has. Spread is in its API, and is not one of them.
const (
	balance = "Balance"
	steady  = "Steady"
	cpu     = "ResourceAllocatableCPU"
	memory  = "ResourceAllocatableMemory"
)

// maxScore is what the best cluster is given by a prioritizer.
const maxScore = 100

// key is what the weights of prioritizers are written by: a later one of the same key counts.
func (c coordinate) key() string {
	if c.AddOn != nil {
		return "AddOn/" + c.AddOn.ResourceName + "/" + c.AddOn.ScoreName
	}
	return c.Type + "/" + c.BuiltIn
}

func (p prioritizerPolicy) weights() ([]weighted, error) {
	all := map[string]weighted{}
	switch p.Mode {
	case "Exact":
	case "", "Additive":
		for _, name := range []string{balance, steady} {
			c := coordinate{Type: "BuiltIn", BuiltIn: name}
			all[c.key()] = weighted{c, 1}
		}
	default:
		return nil, &MisconfiguredError{fmt.Sprintf("the mode %q of prioritizerPolicy is not known", p.Mode), "it is Additive or Exact"}
	}
	for _, config := range p.Configurations {
		if config.ScoreCoordinate == nil {
			return nil, &MisconfiguredError{"a configuration of prioritizerPolicy has no scoreCoordinate", ""}
		}
		c := *config.ScoreCoordinate
		c.Type = cmp.Or(c.Type, "BuiltIn")
		all[c.key()] = weighted{c, config.Weight}
	}
	var counting []weighted
	for _, key := range slices.Sorted(maps.Keys(all)) {
		w := all[key]
		switch c := w.prioritizer; {
		case w.weight == 0:
			continue
		case c.Type != "BuiltIn" && c.AddOn == nil:
			return nil, &MisconfiguredError{"a scoreCoordinate of the type AddOn has no addOn", ""}
		case c.Type == "BuiltIn" && !slices.Contains([]string{balance, steady, cpu, memory}, c.BuiltIn):
			return nil, &MisconfiguredError{fmt.Sprintf("the prioritizer %q does not exist", c.BuiltIn), "it is " + balance + ", " + steady + ", " + cpu + " or " + memory}
		}
		counting = append(counting, w)
	}
	return counting, nil
}

// score returns -100 to 100 points by cluster; a cluster without points has none.
func (c coordinate) score(s *scheduler, clusters []*Cluster, decided Decisions) map[string]int64 {
	switch {
	case c.Type != "BuiltIn":
		return s.addOnScores(*c.AddOn)
	case c.BuiltIn == balance:
		return balanceScores(s.key, clusters, decided)
	case c.BuiltIn == steady:
		points := map[string]int64{}
		for _, name := range decided[s.key] {
			points[name] = maxScore
		}
		return points
	case c.BuiltIn == cpu:
		return allocatableScores("cpu", clusters)
	default:
		return allocatableScores("memory", clusters)
	}
}

func (s *scheduler) addOnScores(of addOnCoordinate) map[string]int64 {
	points := map[string]int64{}
	for _, said := range s.scores {
		if said.Metadata.Name != of.ResourceName {
			continue
		}
		for _, score := range said.Status.Scores {
			if score.Name == of.ScoreName {
				points[said.Metadata.Namespace] = score.Value
			}
		}
	}
	return points
}

// balanceScores gives the fewer points to a cluster, the more other Placements have selected it.
func balanceScores(key string, clusters []*Cluster, decided Decisions) map[string]int64 {
	count, most := map[string]int{}, 0
	for other, names := range decided {
		if other == key {
			continue
		}
		for _, name := range names {
			count[name]++
			most = max(most, count[name])
		}
	}
	points := map[string]int64{}
	for _, c := range clusters {
		points[c.Metadata.Name] = maxScore
		if n := count[c.Metadata.Name]; n > 0 {
			points[c.Metadata.Name] = 2 * int64(maxScore*(0.5-float64(n)/float64(most))) // cut off before it is doubled, as OCM does
		}
	}
	return points
}

// allocatableScores gives the more points to a cluster, the more of a resource it has. One that does not say so has
// none.
func allocatableScores(name string, clusters []*Cluster) map[string]int64 {
	amounts := map[string]float64{}
	for _, c := range clusters {
		amount, has := c.Status.Allocatable[name]
		if _, whole := c.Status.Capacity[name]; has && whole {
			amounts[c.Metadata.Name] = amount.AsApproximateFloat64()
		}
	}
	if len(amounts) == 0 {
		return nil
	}
	all := slices.Collect(maps.Values(amounts))
	least, most := slices.Min(all), slices.Max(all)
	points := map[string]int64{}
	for cluster, amount := range amounts {
		points[cluster] = maxScore
		if most > least {
			points[cluster] = int64(((amount-least)/(most-least) - 0.5) * 2 * maxScore)
		}
	}
	return points
}
