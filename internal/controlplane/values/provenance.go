package values

import (
	"maps"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/schedule"
)

// Provenance is the value of one key and its configs.
type Provenance struct {
	Key   string
	Value any
	// By has the merged sources in order: the last one wins, unless lists or mappings
	// are joined.
	By []Source
}

// Source is one config that sets a key.
type Source struct {
	Config *model.Config
	Value  any
	Pos    problem.Pos
	// Labels are the required labels as "key=value"; none means all assignments.
	Labels []string
}

// ExplainValues returns the provenance of every value of an assignment, sorted by key.
func (r *Resolver) ExplainValues(clusterType, target int) []Provenance {
	data := r.ValuesOf(clusterType, target).Data
	both := schedule.NewSet(len(r.index))
	both.Union(r.clusterTypes.list[clusterType].satisfied)
	both.Union(r.targets.list[target].satisfied)
	by := map[string][]Source{}
	for i, needs := range r.ruleNeeds {
		if !isSubset(both, needs) {
			continue
		}
		rule := r.rules[i]
		var labels []string
		for _, n := range rule.Needs {
			labels = append(labels, n.String())
		}
		for _, s := range rule.Values {
			by[s.Key] = append(by[s.Key], Source{rule.config, s.Value, s.Pos, labels})
		}
	}
	var out []Provenance
	for _, key := range slices.Sorted(maps.Keys(by)) {
		out = append(out, Provenance{key, data[key], by[key]})
	}
	return out
}

// SourceOf returns the last config that sets a key of an assignment; false for none.
func (r *Resolver) SourceOf(clusterType, target int, key string) (Source, bool) {
	for _, p := range r.ExplainValues(clusterType, target) {
		if p.Key == key {
			return p.By[len(p.By)-1], true
		}
	}
	return Source{}, false
}
