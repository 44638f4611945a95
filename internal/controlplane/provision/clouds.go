package provision

import (
	"maps"
	"slices"
	"strings"
)

// CloudCount counts the nodes in one cloud. Autoscaled pools have bounds only.
type CloudCount struct {
	Cloud  string `json:"cloud" yaml:"-"` // the type of the provider, or Static
	Fewest int    `json:"fewest" yaml:"fewest"`
	Most   int    `json:"most" yaml:"most"`
}

// Static is the cloud of machines that exist already.
const Static = "static"

// CountClouds counts the nodes of a state by cloud, sorted.
func CountClouds(s *State) []CloudCount {
	x := newStateIndex(s)
	counts := map[string]CloudCount{}
	for _, ref := range x.poolReferences() {
		cloud := x.findCloud(ref.pool)
		fewest, most := 0, 0
		if p := x.static[ref.pool]; p != nil {
			fewest, most = len(p.Nodes), len(p.Nodes)
		} else if p := x.dynamic[ref.pool]; p != nil {
			fewest, most = p.CountNodes()
		}
		c := counts[cloud]
		counts[cloud] = CloudCount{cloud, c.Fewest + fewest, c.Most + most}
	}
	return slices.SortedFunc(maps.Values(counts), func(a, b CloudCount) int { return strings.Compare(a.Cloud, b.Cloud) })
}

func (x *stateIndex) findCloud(pool string) string {
	p := x.dynamic[pool]
	switch {
	case p == nil:
		return Static
	case x.providers[p.ProviderSpec.Name] == nil:
		return p.ProviderSpec.Name
	}
	return x.providers[p.ProviderSpec.Name].Type
}
