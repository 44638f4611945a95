package model

import (
	"maps"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
)

// DecisionFolder is where the decisions of an environment are, in its folder. They are read though Flux may be
// told to ignore it, and nowhere else.
const DecisionFolder = ".fairlead/" + decisionFolderName

const decisionFolderName = "decisions"

// isDecisionFolder reports whether a folder is that of an environment's decisions.
func isDecisionFolder(folder string) bool {
	return folder == DecisionFolder || strings.HasSuffix(folder, "/"+DecisionFolder)
}

// DecisionKind is the kind of a Decision.
const DecisionKind = "Decision"

// Decision is what was chosen for a policy, so that it stays: the cluster types of its units, by the names of
// the units.
type Decision struct {
	Object
	Units map[string][]string
	// Lines are where the units are written; nil if the decision was not read from a file.
	Lines map[string]problem.Pos
}

type decisionSpec struct {
	By    string              `yaml:"by"`
	Units map[string][]string `yaml:"units"`
}

// readDecision reads a Decision. Elsewhere than in the folder of decisions it is ignored.
func (r *reader) readDecision(n *yaml.Node, h header, d *decoder) {
	if r.layer.Kind != Decisions {
		r.out.countIgnored(h.apiVersion+" "+h.kind, 1)
		r.out.problems.Warnf(d.positionOf(n), d.subject, "move it to "+DecisionFolder+" of the environment's folder", "a Decision is ignored here")
		return
	}
	o, s, _ := readObject[decisionSpec](r, n, h.kind, d)
	c := &Decision{Object: o, Units: map[string][]string{}, Lines: map[string]problem.Pos{}}
	if s.By != "" && s.By != "fairlead" {
		d.addProblem(n, "", "spec.by is %q, and this version knows fairlead only", s.By)
	}
	_, spec := yamldoc.LookUpPair(n, "spec")
	_, units := yamldoc.LookUpPair(spec, "units")
	for name, types := range s.Units {
		slices.Sort(types)
		c.Units[name] = slices.Compact(types)
		if key, _ := yamldoc.LookUpPair(units, name); key != nil {
			c.Lines[name] = d.positionOf(key)
		}
	}
	r.out.decisions = append(r.out.decisions, c)
}

const decisionComment = "# Written by Fairlead: what was chosen, so that it stays. An entry that is edited by hand is kept while it is fit.\n"

// EncodeDecision returns the text of a decision: a line for each unit, sorted.
func EncodeDecision(policy string, units map[string][]string) ([]byte, error) {
	mapping := &yaml.Node{Kind: yaml.MappingNode}
	for _, name := range slices.Sorted(maps.Keys(units)) {
		types := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
		for _, t := range slices.Sorted(slices.Values(units[name])) {
			types.Content = append(types.Content, textNode(t))
		}
		mapping.Content = append(mapping.Content, textNode(name), types)
	}
	text, err := EncodeObject(DecisionKind, policy, struct {
		By    string     `yaml:"by"`
		Units *yaml.Node `yaml:"units"`
	}{"fairlead", mapping})
	return append([]byte(decisionComment), text...), err
}

func textNode(text string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(text)
	return n
}

// Narrow returns the decision without the cluster types that a model does not have.
func (d *Decision) Narrow(m *Model) *Decision {
	n := *d
	n.Units = map[string][]string{}
	for unit, types := range d.Units {
		kept := slices.DeleteFunc(slices.Clone(types), func(name string) bool { return m.ClusterType(name) == nil })
		if len(kept) > 0 {
			n.Units[unit] = kept
		}
	}
	return &n
}
