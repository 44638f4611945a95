package values

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

const (
	clusterTypeLabel      = "cluster-type"
	deploymentTargetLabel = "deployment-target"
	workloadLabel         = "workload"
	platformConfigLabel   = "platform-config"
)

// Need is a label that an assignment's cluster type or target must have.
type Need struct{ Key, Value string }

// String returns the need as "region=west".
func (n Need) String() string { return n.Key + "=" + n.Value }

// OfClusterType returns the value of the need's key on a cluster type; false if absent.
// Three keys mean names, not labels. Unlike in Kalypso, an absent label is not an empty
// one (Q11).
func (n Need) OfClusterType(c *model.ClusterType) (value string, ok bool) {
	switch n.Key {
	case clusterTypeLabel:
		if n.Value == c.Type {
			return c.TypeName(), true
		}
		return c.Name, true
	case deploymentTargetLabel, workloadLabel:
		return "", false
	}
	value, ok = c.Labels[n.Key]
	return value, ok
}

// OfTarget returns the value of the need's key on a target; see OfClusterType.
func (n Need) OfTarget(t *model.Target) (value string, ok bool) {
	switch n.Key {
	case clusterTypeLabel:
		return "", false
	case deploymentTargetLabel:
		return t.Name, true
	case workloadLabel:
		return t.Workload, true
	}
	value, ok = t.Labels[n.Key]
	return value, ok
}

func satisfiedBy(labels map[string]string, names ...Need) []Need {
	satisfied := slices.Grow(names, len(labels))
	for key, value := range labels {
		switch key {
		case clusterTypeLabel, deploymentTargetLabel, workloadLabel:
		default:
			satisfied = append(satisfied, Need{key, value})
		}
	}
	return satisfied
}

// NeedsOf returns the needs of a config's or schema's labels, sorted by key.
func NeedsOf(labels map[string]string) []Need {
	var needs []Need
	for key, value := range labels {
		if key != platformConfigLabel && !strings.HasPrefix(key, model.OwnerLabelPrefix) {
			needs = append(needs, Need{key, value})
		}
	}
	slices.SortFunc(needs, func(a, b Need) int { return cmp.Compare(a.Key, b.Key) })
	return needs
}

// Rule is some values of a config and the needs of their assignments.
type Rule struct {
	Needs  []Need
	Values []Setting

	config *model.Config
	serial int // unique for the life of the Cache
}

// Setting is one key of a rule.
type Setting struct {
	Key, Text string
	Value     any // text, or the structure in it
	Pos       problem.Pos
}

// RulesOf returns the rules of a config. It skips malformed keys of app configurations,
// which are problems.
func RulesOf(c *model.Config) []*Rule {
	p := parseConfig(c)
	return append(p.ordinary, p.app...)
}

type parsedConfig struct {
	ordinary []*Rule
	app      []*Rule // short keys first, so that longer ones win
	problems problem.List
}

func parseConfig(c *model.Config) *parsedConfig {
	p := &parsedConfig{}
	parsed := map[string]any{}
	for _, v := range c.Values {
		value := parseValue(v.Text)
		p.reportValue(c, v, value)
		parsed[v.Key] = value.value
	}
	if c.App {
		p.app = p.appRules(c, parsed)
	}
	if !c.Platform {
		return p
	}
	r := &Rule{config: c, Needs: NeedsOf(c.Labels)}
	for _, v := range c.Values {
		r.Values = append(r.Values, Setting{v.Key, v.Text, parsed[v.Key], v.Pos})
	}
	p.ordinary = []*Rule{r}
	return p
}

func (p *parsedConfig) reportValue(c *model.Config, v model.Value, read parsedValue) {
	const quote = "put it in single quotes to say that it is text"
	switch {
	case read.bomb:
		p.problems.Addf(v.Pos, c.Subject(), "write it out", "the YAML aliases of %s expand to too much", v.Key)
	case read.kept != "":
		p.problems.Warnf(v.Pos, c.Subject(), quote, "%s looks like YAML but is kept as text: %s", v.Key, read.kept)
	case read.comments:
		p.problems.Warnf(v.Pos, c.Subject(), quote, "%s is read as YAML, so its comments are not part of the value", v.Key)
	}
}

// appRules reads app configuration keys, (label.value.)*name, one rule each. Keys of
// equal length are in byte order.
func (p *parsedConfig) appRules(c *model.Config, parsed map[string]any) []*Rule {
	var rules []*Rule
	keys := slices.Clone(c.Values)
	slices.SortFunc(keys, func(a, b model.Value) int {
		return cmp.Or(cmp.Compare(len(a.Key), len(b.Key)), cmp.Compare(a.Key, b.Key))
	})
	for _, v := range keys {
		parts := strings.Split(v.Key, ".")
		if len(parts)%2 == 0 || slices.Contains(parts, "") {
			p.problems.Addf(v.Pos, c.Subject(), "write it as label.value.NAME, with as many pairs as are needed",
				"the key %q does not have the form label.value.NAME", v.Key)
			continue
		}
		r := &Rule{config: c, Values: []Setting{{parts[len(parts)-1], v.Text, parsed[v.Key], v.Pos}}}
		needs := map[string]string{} // the last of duplicate labels counts
		for i := 0; i+1 < len(parts); i += 2 {
			needs[parts[i]] = parts[i+1]
		}
		for _, key := range slices.Sorted(maps.Keys(needs)) {
			r.Needs = append(r.Needs, Need{key, needs[key]})
		}
		rules = append(rules, r)
	}
	return rules
}
