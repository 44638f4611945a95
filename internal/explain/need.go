package explain

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/model"
	"github.com/fairlead-io/fairlead/internal/schedule"
)

// Labels of a config that ask for a name, and those that ask for nothing. The rules
// are those of package values, which does not say why a config does not apply; a
// test holds the two together.
const (
	clusterTypeLabel      = "cluster-type"
	deploymentTargetLabel = "deployment-target"
	workloadLabel         = "workload"
	platformConfigLabel   = "platform-config"
	ownerLabelPrefix      = "kustomize.toolkit.fluxcd.io/"
)

// need is a label that an assignment must have on one of its sides.
type need struct{ key, value string }

func (n need) String() string { return n.key + "=" + n.value }

// clusterTypeHas and targetHas give what a side has for the key of the need.
func (n need) clusterTypeHas(c *model.ClusterType) (value string, ok bool) {
	switch n.key {
	case clusterTypeLabel:
		return c.Name, true
	case deploymentTargetLabel, workloadLabel:
		return "", false
	}
	value, ok = c.Labels[n.key]
	return value, ok
}

func (n need) targetHas(t *model.Target) (value string, ok bool) {
	switch n.key {
	case clusterTypeLabel:
		return "", false
	case deploymentTargetLabel:
		return t.Name, true
	case workloadLabel:
		return t.Workload, true
	}
	value, ok = t.Labels[n.key]
	return value, ok
}

func (n need) onClusterType(c *model.ClusterType) bool {
	value, ok := n.clusterTypeHas(c)
	return ok && value == n.value
}

func (n need) onTarget(t *model.Target) bool {
	value, ok := n.targetHas(t)
	return ok && value == n.value
}

// lack says what an assignment has instead of the label that it needs; ok is false
// if it lacks nothing.
func (n need) lack(a schedule.Assignment) (l Lack, ok bool) {
	if n.onClusterType(a.ClusterType) || n.onTarget(a.Target) {
		return Lack{}, false
	}
	var has []string
	if value, ok := n.clusterTypeHas(a.ClusterType); ok {
		has = append(has, "the cluster type has "+need{n.key, value}.String())
	}
	if value, ok := n.targetHas(a.Target); ok {
		has = append(has, "the target has "+need{n.key, value}.String())
	}
	if has == nil {
		has = []string{"neither side has the label " + n.key}
	}
	return Lack{n.String(), strings.Join(has, ", ")}, true
}

// rule is some labels of a config or a schema, and the values that it sets for the
// assignments that have them. An App configuration has a rule for each key.
type rule struct {
	object *model.Object
	needs  []need
	keys   []string // that it sets, in order
	values []model.Value
}

func rulesOf(c *model.Config) []rule {
	if !c.App {
		r := rule{object: &c.Object, needs: needsOf(c.Labels), values: c.Values}
		for _, v := range c.Values {
			r.keys = append(r.keys, v.Key)
		}
		return []rule{r}
	}
	var rules []rule
	for _, v := range c.Values {
		parts := strings.Split(v.Key, ".")
		if len(parts)%2 == 0 || slices.Contains(parts, "") {
			continue // a problem, which those who check report
		}
		r := rule{object: &c.Object, keys: parts[len(parts)-1:], values: []model.Value{v}}
		for i := 0; i+1 < len(parts); i += 2 {
			r.needs = append(r.needs, need{parts[i], parts[i+1]})
		}
		rules = append(rules, r)
	}
	return rules
}

func needsOf(labels map[string]string) []need {
	var needs []need
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		if key != platformConfigLabel && !strings.HasPrefix(key, ownerLabelPrefix) {
			needs = append(needs, need{key, labels[key]})
		}
	}
	return needs
}

// Exclusion is a config that does not apply to an assignment; of an App
// configuration, one key.
type Exclusion struct {
	Config Object   `json:"config" yaml:"config"`
	Keys   []string `json:"keys,omitempty" yaml:"keys,omitempty"` // that it would set
	Lacks  []Lack   `json:"lacks,omitempty" yaml:"lacks,omitempty"`
}

// Lack is a label that keeps a config out.
type Lack struct {
	Needs string `json:"needs" yaml:"needs"` // "region=west"
	Has   string `json:"has" yaml:"has"`     // "the cluster type has region=east"
}

// exclusions gives the configs that do not apply to an assignment, those that lack
// the fewest labels first.
func (q *asker) exclusions(a schedule.Assignment) []Exclusion {
	var out []Exclusion
	for _, c := range q.model.Configs {
		for _, r := range rulesOf(c) {
			e := Exclusion{Config: objectOf(r.object), Keys: r.keys}
			if c.App {
				e.Config.At = r.values[0].Pos
			}
			for _, n := range r.needs {
				if l, ok := n.lack(a); ok {
					e.Lacks = append(e.Lacks, l)
				}
			}
			if e.Lacks != nil {
				out = append(out, e)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Exclusion) int { return cmp.Compare(len(a.Lacks), len(b.Lacks)) })
	return out
}
