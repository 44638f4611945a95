package model

import (
	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/base/kubename"
	"github.com/fairlead-io/fairlead/internal/base/problem"
)

// ImportAnnotation on a ClusterList holds its ImportRules, as YAML.
const ImportAnnotation = OwnGroup + "/import"

// ImportRules say which clusters of an inventory a ClusterList has, and of which type they are.
type ImportRules struct {
	Types  []ImportRule
	Labels []string // that are copied
}

// ImportRule gives the clusters that it selects a type. The first that selects a cluster counts.
type ImportRule struct {
	Type     string
	Clusters Selector
}

// ReadImportRules reads the text of the annotation of a ClusterList.
func ReadImportRules(text string, pos problem.Pos, subject string) (ImportRules, problem.List) {
	var rules ImportRules
	var problems problem.List
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(text), &document); err != nil || len(document.Content) != 1 {
		problems.Addf(pos, subject, "write it as in {types: [{type: large, clusters: {matchLabels: {size: large}}}]}", "%s should be a mapping in YAML", ImportAnnotation)
		return rules, problems
	}
	var s struct {
		Types []struct {
			Type     string       `yaml:"type" required:"true"`
			Clusters selectorSpec `yaml:"clusters" required:"true"`
		} `yaml:"types" required:"true"`
		Labels []string `yaml:"labels"`
	}
	problems = DecodeStrictly(document.Content[0], pos, subject, &s)
	for i := range problems {
		problems[i].Pos.Line = pos.Line // of the annotation
	}
	for _, rule := range s.Types {
		if err := kubename.Check(rule.Type); err != nil {
			problems.Addf(pos, subject, "name the ClusterType", "%s: %v", ImportAnnotation, err)
		}
		selector, errs := rule.Clusters.parseSelector()
		for _, err := range errs {
			problems.Addf(pos, subject, "", "%s: the clusters of %s: %v", ImportAnnotation, rule.Type, err)
		}
		rules.Types = append(rules.Types, ImportRule{rule.Type, selector})
	}
	rules.Labels = s.Labels
	return rules, problems
}

// TypeOf returns the cluster type of a cluster: that of the first rule that selects it, or else that of its label
// [ClusterTypeLabel]; "" if it is not known.
func (r ImportRules) TypeOf(labels map[string]string) string {
	for _, rule := range r.Types {
		if rule.Clusters.Matches(labels) {
			return rule.Type
		}
	}
	return labels[ClusterTypeLabel]
}
