package explain

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/schedule"
	"github.com/fairlead-io/fairlead/internal/controlplane/values"
)

func onClusterType(n values.Need, c *model.ClusterType) bool {
	value, ok := n.OfClusterType(c)
	return ok && value == n.Value
}

func onTarget(n values.Need, t *model.Target) bool {
	value, ok := n.OfTarget(t)
	return ok && value == n.Value
}

// lackOf explains a missing label; ok is false if the assignment has it.
func lackOf(n values.Need, a schedule.Assignment) (l Lack, ok bool) {
	if onClusterType(n, a.ClusterType) || onTarget(n, a.Target) {
		return Lack{}, false
	}
	var has []string
	if value, ok := n.OfClusterType(a.ClusterType); ok {
		has = append(has, "the cluster type has "+n.Key+"="+value)
	}
	if value, ok := n.OfTarget(a.Target); ok {
		has = append(has, "the target has "+n.Key+"="+value)
	}
	if has == nil {
		has = []string{"neither side has the label " + n.Key}
	}
	return Lack{n.String(), strings.Join(has, ", ")}, true
}

// Exclusion is a config, or key of an App configuration, that does not apply to an
// assignment.
type Exclusion struct {
	Config Object   `json:"config" yaml:"config"`
	Keys   []string `json:"keys,omitempty" yaml:"keys,omitempty"`
	Lacks  []Lack   `json:"lacks,omitempty" yaml:"lacks,omitempty"`
}

// Lack is a missing label.
type Lack struct {
	Needs string `json:"needs" yaml:"needs"` // "region=west"
	Has   string `json:"has" yaml:"has"`     // "the cluster type has region=east"
}

func (q *explainer) excludedConfigs(a schedule.Assignment) []Exclusion {
	var out []Exclusion
	for _, c := range q.model.Configs {
		for _, r := range values.RulesOf(c) {
			e := Exclusion{Config: objectOf(c)}
			for _, v := range r.Values {
				e.Keys = append(e.Keys, v.Key)
			}
			if c.App && len(r.Values) > 0 {
				e.Config.At = r.Values[0].Pos
			}
			for _, n := range r.Needs {
				if l, ok := lackOf(n, a); ok {
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
