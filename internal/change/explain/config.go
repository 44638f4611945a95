package explain

import (
	"fmt"
	"maps"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/schedule"
	"github.com/fairlead-io/fairlead/internal/controlplane/values"
)

// Config explains the assignments of a config or schema.
type Config struct {
	Config       Object            `json:"config" yaml:"config"`
	Rules        []Rule            `json:"rules,omitempty" yaml:"rules,omitempty"`
	Assignments  int               `json:"assignments" yaml:"assignments"` // to which a rule applies
	ClusterTypes []AssignmentCount `json:"clusterTypes,omitempty" yaml:"clusterTypes,omitempty"`
}

// Rule is a part of a config for assignments with all of its labels. A config has one,
// an App configuration one per key.
type Rule struct {
	Keys        []Key  `json:"keys,omitempty" yaml:"keys,omitempty"` // none for a schema
	Needs       []Need `json:"needs,omitempty" yaml:"needs,omitempty"`
	Assignments int    `json:"assignments" yaml:"assignments"`
}

// Key is one written key of a config.
type Key struct {
	Key   string      `json:"key" yaml:"key"`
	Value string      `json:"value" yaml:"value"`
	At    problem.Pos `json:"at" yaml:"at"`
}

// Need is a required label with the number of objects that have it. Hint is a likely
// correction if none has.
type Need struct {
	Label        string `json:"label" yaml:"label"` // "region=west"
	ClusterTypes int    `json:"clusterTypes" yaml:"clusterTypes"`
	Targets      int    `json:"targets" yaml:"targets"`
	Hint         string `json:"hint,omitempty" yaml:"hint,omitempty"`
}

// AssignmentCount is a cluster type with its number of assignments and the first
// target.
type AssignmentCount struct {
	ClusterType string `json:"clusterType" yaml:"clusterType"`
	Assignments int    `json:"assignments" yaml:"assignments"`
	Example     string `json:"example" yaml:"example"`
}

func (q *explainer) explainConfig(name string) *Config {
	i, _ := model.IndexOf(q.model.Configs, name)
	return q.explainRules(q.model.Configs[i], values.RulesOf(q.model.Configs[i]))
}

func (q *explainer) explainSchema(name string) *Config {
	i, _ := model.IndexOf(q.model.Schemas, name)
	s := q.model.Schemas[i]
	return q.explainRules(s, []*values.Rule{{Needs: values.NeedsOf(s.Labels)}})
}

func (q *explainer) explainRules(o object, rules []*values.Rule) *Config {
	out := &Config{Config: objectOf(o), Rules: make([]Rule, len(rules))}
	having := map[values.Need]schedule.Set{}
	for k, r := range rules {
		for _, n := range r.Needs {
			if having[n] == nil {
				having[n] = q.targetsWith(n)
			}
			out.Rules[k].Needs = append(out.Rules[k].Needs, q.countNeed(n, having[n].Len()))
		}
		for _, v := range r.Values {
			out.Rules[k].Keys = append(out.Rules[k].Keys, Key{v.Key, v.Text, v.Pos})
		}
	}
	for i, c := range q.model.ClusterTypes {
		all := schedule.NewSet(len(q.model.Targets))
		for k, r := range rules {
			on := slices.Clone(q.plan.Targets(i))
			for _, n := range r.Needs {
				if !onClusterType(n, c) {
					on.Intersect(having[n])
				}
			}
			out.Rules[k].Assignments += on.Len()
			all.Union(on)
		}
		for j := range all.All() {
			out.ClusterTypes = append(out.ClusterTypes, AssignmentCount{c.Name, all.Len(), q.model.Targets[j].Name})
			break
		}
		out.Assignments += all.Len()
	}
	return out
}

func (q *explainer) targetsWith(n values.Need) schedule.Set {
	set := schedule.NewSet(len(q.model.Targets))
	for j, t := range q.model.Targets {
		if onTarget(n, t) {
			set.Add(j)
		}
	}
	return set
}

func (q *explainer) countNeed(n values.Need, targets int) Need {
	out := Need{Label: n.String(), Targets: targets}
	for _, c := range q.model.ClusterTypes {
		if onClusterType(n, c) {
			out.ClusterTypes++
		}
	}
	if out.ClusterTypes == 0 && targets == 0 {
		out.Hint = q.needHint(n)
	}
	return out
}

const maxHints = 5

func (q *explainer) needHint(n values.Need) string {
	seen, labels := map[string]bool{}, map[string]string{}
	for _, c := range q.model.ClusterTypes {
		if value, ok := n.OfClusterType(c); ok {
			seen[value] = true
		}
		maps.Copy(labels, ownLabels(c.Labels))
	}
	for _, t := range q.model.Targets {
		if value, ok := n.OfTarget(t); ok {
			seen[value] = true
		}
		maps.Copy(labels, ownLabels(t.Labels))
	}
	there := slices.Sorted(maps.Keys(seen))
	if len(there) == 0 {
		if near := problem.FindNearest(n.Key, slices.Sorted(maps.Keys(labels))); near != "" {
			return fmt.Sprintf("nothing has the label %s; did you mean %s?", n.Key, near)
		}
		return "nothing has the label " + n.Key
	}
	if near := problem.FindNearest(n.Value, there); near != "" {
		return fmt.Sprintf("did you mean %s?", values.Need{Key: n.Key, Value: near})
	}
	return fmt.Sprintf("there is %s %s", n.Key, nameList(there, maxHints))
}
