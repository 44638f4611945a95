package page

import (
	"strings"

	"github.com/fairlead-io/fairlead/internal/change/drift"
)

// shownTopic is a topic of differences.
type shownTopic struct {
	drift.Topic
	Findings []shownFinding
}

// Title returns its heading.
func (t shownTopic) Title() string { return strings.TrimSuffix(formatSentence(t.Name), ".") }

// ID returns the id of its heading.
func (t shownTopic) ID() string { return strings.ReplaceAll(t.Name, " ", "-") }

// shownFinding is a difference, with the environment that explains it.
type shownFinding struct {
	drift.Finding
	Environment, kind string
}

// namedQuery is the name of something that differs, and what to ask about it.
type namedQuery struct{ Name, Query string }

// maxExplained is how many names of a difference have links.
const maxExplained = 5

// topicKinds are the kinds of the objects of topics; those of others are named as they are asked for.
var topicKinds = map[string]string{
	drift.ClusterTypes: "ClusterType/", drift.Targets: "DeploymentTarget/", drift.Policies: "SchedulingPolicy/", drift.Templates: "Template/", drift.Configs: "ConfigMap/",
}

// Shown returns the differences with what explains them.
func (d Diff) Shown() (all []shownTopic) {
	for _, t := range d.Topics {
		shown := shownTopic{Topic: t}
		for _, f := range t.Findings {
			one := shownFinding{f, d.To, topicKinds[t.Name]}
			if f.Only != "" {
				one.Environment = f.Only
			}
			shown.Findings = append(shown.Findings, one)
		}
		all = append(all, shown)
	}
	return all
}

// Links returns the names of the difference that are shown.
func (f shownFinding) Links() (all []namedQuery) {
	for _, name := range f.Names[:min(len(f.Names), maxExplained)] {
		all = append(all, namedQuery{name, f.kind + name})
	}
	return all
}

// More returns how many names are not shown.
func (f shownFinding) More() int { return max(0, f.Count-min(len(f.Names), maxExplained)) }
