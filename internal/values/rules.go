package values

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/model"
	"github.com/fairlead-io/fairlead/internal/problem"
)

// Labels that ask for a name rather than for a label, and those that ask for
// nothing.
const (
	clusterTypeLabel      = "cluster-type"
	deploymentTargetLabel = "deployment-target"
	workloadLabel         = "workload"
	platformConfigLabel   = "platform-config"
	ownerLabelPrefix      = "kustomize.toolkit.fluxcd.io/"
)

// need is a label that an assignment must have: on its cluster type, or on its
// deployment target.
type need struct{ key, value string }

// An absent label satisfies nothing, not even an empty value: Kalypso takes it for
// "" (Q11). The labels that ask for names are no labels of either side.
func satisfiedByLabels(labels map[string]string) []need {
	satisfied := make([]need, 0, len(labels)+2)
	for key, value := range labels {
		switch key {
		case clusterTypeLabel, deploymentTargetLabel, workloadLabel:
		default:
			satisfied = append(satisfied, need{key, value})
		}
	}
	return satisfied
}

// satisfiedByClusterType and satisfiedByTarget give all needs that one side of an
// assignment satisfies.
func satisfiedByClusterType(c *model.ClusterType) []need {
	return append(satisfiedByLabels(c.Labels), need{clusterTypeLabel, c.Name})
}

func satisfiedByTarget(t *model.Target) []need {
	return append(satisfiedByLabels(t.Labels), need{deploymentTargetLabel, t.Name}, need{workloadLabel, t.Workload})
}

// needsOf gives what the labels of an object ask for.
func needsOf(labels map[string]string) []need {
	var needs []need
	for key, value := range labels {
		if key != platformConfigLabel && !strings.HasPrefix(key, ownerLabelPrefix) {
			needs = append(needs, need{key, value})
		}
	}
	slices.SortFunc(needs, func(a, b need) int { return cmp.Compare(a.key, b.key) })
	return needs
}

// rule is some values and the assignments that they are for. serial tells rules
// apart for as long as the [Cache] lives.
type rule struct {
	serial int
	config *model.Config
	needs  []need
	values []setting
}

// setting is one key of a rule.
type setting struct {
	key   string
	value any
	pos   problem.Pos
}

// parsedConfig is what was made of one Config.
type parsedConfig struct {
	ordinary []*rule
	app      []*rule // sorted: short keys first, so that longer ones win
	problems problem.List
}

// rulesOf reads a Config.
func rulesOf(c *model.Config) *parsedConfig {
	p := &parsedConfig{}
	parsed := map[string]any{}
	for _, v := range c.Values {
		value := parse(v.Text)
		p.report(c, v, value)
		parsed[v.Key] = value.value
	}
	if c.App {
		p.app = p.appRules(c, parsed)
	}
	if !c.Platform {
		return p
	}
	r := &rule{config: c, needs: needsOf(c.Labels)}
	for _, v := range c.Values {
		r.values = append(r.values, setting{v.Key, parsed[v.Key], v.Pos})
	}
	p.ordinary = []*rule{r}
	return p
}

func (p *parsedConfig) report(c *model.Config, v model.Value, read parsed) {
	const quote = "put it in single quotes to say that it is text"
	switch {
	case read.bomb:
		p.problems.Addf(v.Pos, c.Subject(), "write it out", "the aliases of %s multiply without bound", v.Key)
	case read.kept != "":
		p.problems.Warnf(v.Pos, c.Subject(), quote, "%s looks like YAML but is kept as text: %s", v.Key, read.kept)
	case read.comments:
		p.problems.Warnf(v.Pos, c.Subject(), quote, "%s is read as YAML, so its comments are not part of the value", v.Key)
	}
}

// appRules reads the keys of an app configuration, (label.value.)*name: each is a
// rule of its own. Keys of equal length are in the order of their bytes.
func (p *parsedConfig) appRules(c *model.Config, parsed map[string]any) []*rule {
	var rules []*rule
	keys := slices.Clone(c.Values)
	slices.SortFunc(keys, func(a, b model.Value) int {
		return cmp.Or(cmp.Compare(len(a.Key), len(b.Key)), cmp.Compare(a.Key, b.Key))
	})
	for _, v := range keys {
		parts := strings.Split(v.Key, ".")
		if len(parts)%2 == 0 || slices.Contains(parts, "") {
			p.problems.Addf(v.Pos, c.Subject(), "write it as label.value.NAME, with as many pairs as are needed",
				"the key %q is not pairs of label and value, followed by a name", v.Key)
			continue
		}
		r := &rule{config: c, values: []setting{{parts[len(parts)-1], parsed[v.Key], v.Pos}}}
		for i := 0; i+1 < len(parts); i += 2 {
			r.needs = append(r.needs, need{parts[i], parts[i+1]})
		}
		rules = append(rules, r)
	}
	return rules
}
