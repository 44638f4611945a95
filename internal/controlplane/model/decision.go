package model

import (
	"bytes"
	"cmp"
	"maps"
	"path"
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

func isDecisionFolder(folder string) bool {
	return folder == DecisionFolder || strings.HasSuffix(folder, "/"+DecisionFolder)
}

// DecisionKind is the kind of a Decision.
const DecisionKind = "Decision"

// Decision is what was chosen for a policy, so that it stays: the cluster types of its units, by the names of
// the units.
type Decision struct {
	Object
	// By is who decided: "fairlead", or the name of a scheduler. From is where the scheduler is, and Question the
	// digest of what it answered.
	By, From, Question string
	Units              map[string][]string
	Groups             []DecidedGroup
	// Lines are where the units are written; nil if the decision was not read from a file.
	Lines map[string]problem.Pos
}

// DecisionOf returns the decision of a policy; an empty one if there is none.
func (m *Model) DecisionOf(p *Policy) *Decision {
	if i, known := IndexOf(m.Decisions, p.Name); known {
		return m.Decisions[i]
	}
	return &Decision{}
}

// WithDecision returns the model with another decision of a policy.
func (m *Model) WithDecision(d *Decision) *Model {
	c := *m
	c.Decisions = slices.Clone(m.Decisions)
	if i, known := IndexOf(c.Decisions, d.Name); known {
		c.Decisions[i] = d
	} else {
		c.Decisions = slices.Insert(c.Decisions, i, d)
	}
	return &c
}

type decisionSpec struct {
	By       string              `yaml:"by"`
	From     string              `yaml:"from"`
	Question string              `yaml:"of"`
	Groups   []decidedGroupSpec  `yaml:"groups"`
	Units    map[string][]string `yaml:"units"`
}

type decidedGroupSpec struct {
	Name         string   `yaml:"name"`
	ClusterTypes []string `yaml:"clusterTypes"`
}

// readDecision reads a Decision. Elsewhere than in the folder of decisions it is ignored.
func (r *reader) readDecision(n *yaml.Node, h header, d *decoder) {
	if r.layer.Kind != Decisions {
		r.out.countIgnored(h.apiVersion+" "+h.kind, 1)
		r.out.problems.Warnf(d.positionOf(n), d.subject, "move it to "+DecisionFolder+" of the environment's folder", "a Decision is ignored here")
		return
	}
	o, s, _ := readObject[decisionSpec](r, n, h.kind, d)
	c := &Decision{Object: o, By: cmp.Or(s.By, DecidedByFairlead), From: s.From, Question: s.Question, Units: map[string][]string{}, Lines: map[string]problem.Pos{}}
	for _, g := range s.Groups {
		c.Groups = append(c.Groups, DecidedGroup(g))
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

func (m *Model) checkDecisionFiles(besides []Object, problems *problem.List) {
	of := map[string]string{} // policies by the names of their files
	for _, p := range m.Policies {
		if p.Choice != nil {
			of[p.Name+".yaml"] = p.Name
		}
	}
	holding := map[string]string{} // policies by the files of their decisions
	for _, d := range m.Decisions {
		holding[d.Pos.File] = d.Name
	}
	last := ""
	for i := range besides {
		o := &besides[i]
		policy := cmp.Or(of[path.Base(o.Pos.File)], holding[o.Pos.File])
		if policy != "" && o.Pos.File != last {
			last = o.Pos.File
			problems.Addf(o.Pos, o.Subject(), "move it to another file of the folder", "the decision of SchedulingPolicy/%s is written to this file", policy)
		}
	}
}

// HoldsDecision reports whether a file is of a Decision, which may be broken: so it is if no kind is left.
func HoldsDecision(file []byte) bool {
	return bytes.Contains(file, []byte("kind: "+DecisionKind+"\n")) || !bytes.Contains(file, []byte("kind:"))
}

const decisionComment = "# Written by Fairlead: what was chosen, so that it stays. An entry that is edited by hand is kept while it is fit.\n"

// Equal reports whether another decision says the same.
func (d *Decision) Equal(o *Decision) bool {
	sameGroup := func(a, b DecidedGroup) bool { return a.Name == b.Name && slices.Equal(a.ClusterTypes, b.ClusterTypes) }
	return d.By == o.By && d.From == o.From && d.Question == o.Question && maps.EqualFunc(d.Units, o.Units, slices.Equal) && slices.EqualFunc(d.Groups, o.Groups, sameGroup)
}

// Encode returns the text of a decision: a line for each unit, sorted.
func (d *Decision) Encode() ([]byte, error) {
	mapping := &yaml.Node{Kind: yaml.MappingNode}
	for _, name := range slices.Sorted(maps.Keys(d.Units)) {
		types := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
		for _, t := range slices.Sorted(slices.Values(d.Units[name])) {
			types.Content = append(types.Content, textNode(t))
		}
		mapping.Content = append(mapping.Content, textNode(name), types)
	}
	text, err := EncodeObject(DecisionKind, d.Name, struct {
		By       string         `yaml:"by"`
		From     string         `yaml:"from,omitempty"`
		Question string         `yaml:"of,omitempty"`
		Groups   []DecidedGroup `yaml:"groups,omitempty"`
		Units    *yaml.Node     `yaml:"units"`
	}{cmp.Or(d.By, DecidedByFairlead), d.From, d.Question, d.Groups, mapping})
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
	n.Units, n.Groups = map[string][]string{}, nil // groups are divided anew
	for unit, types := range d.Units {
		kept := slices.DeleteFunc(slices.Clone(types), func(name string) bool { return m.ClusterType(name) == nil })
		if len(kept) > 0 {
			n.Units[unit] = kept
		}
	}
	return &n
}
