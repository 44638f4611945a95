package page

import (
	"net/url"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/change/drift"
	"github.com/fairlead-io/fairlead/internal/server/answer"
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
	side              string // Environment, at its moment
	// Bringing are the commits that make it so until the other side has them.
	Bringing []answer.Commit
}

// namedQuery is the name of something that differs, and what to ask about it.
type namedQuery struct{ Name, Query string }

// maxExplained is how many names of a difference have links.
const maxExplained = 5

// topicKinds are the kinds of the objects of topics; those of others are named as they are asked for.
var topicKinds = map[string]string{
	drift.ClusterTypes: "ClusterType/", drift.Targets: "DeploymentTarget/", drift.Policies: "SchedulingPolicy/", drift.Templates: "Template/", drift.Configs: "ConfigMap/",
}

// FromName and ToName return the environments that are compared, without the moments of them.
func (d Diff) FromName() string { return nameOf(d.From) }

// ToName is described at FromName.
func (d Diff) ToName() string { return nameOf(d.To) }

// nameOf returns the environment of a side, which may be ENVIRONMENT@MOMENT.
func nameOf(side string) string {
	name, _, _ := strings.Cut(side, "@")
	return name
}

func momentOf(side string) string {
	_, at, _ := strings.Cut(side, "@")
	return at
}

// Moment returns the moment of the environment that explains a difference; "" for now.
func (f shownFinding) Moment() string { return momentOf(f.side) }

// Shown returns the differences with what explains them.
func (d Diff) Shown() (all []shownTopic) {
	for _, t := range d.Topics {
		shown := shownTopic{Topic: t}
		for _, f := range t.Findings {
			one := shownFinding{Finding: f, side: d.To, kind: topicKinds[t.Name]}
			if f.Only != "" {
				one.side = f.Only
			}
			one.Environment = nameOf(one.side)
			for _, side := range d.Ahead {
				for _, c := range side.Commits {
					if slices.Contains(f.Commits, c.ID) {
						one.Bringing = append(one.Bringing, c)
					}
				}
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

// meaningState returns the state that is shown with what a difference means; nil if that is not known.
func meaningState(m drift.Meaning) *answer.State {
	switch m {
	case drift.Meant:
		return &answer.State{Tone: answer.Good, Word: string(m)}
	case drift.OnItsWay:
		return &answer.State{Tone: answer.Busy, Word: string(m)}
	case drift.Neither:
		return &answer.State{Tone: answer.Stopped, Word: "neither meant nor on its way"}
	}
	return nil
}

// KindChips returns the kinds of differences that there are; that of the chosen one leads to all.
func (d Diff) KindChips() (all []kindChoice) {
	for _, kind := range drift.TopicNames() {
		if n := d.Counts[kind]; n > 0 || kind == d.Kind {
			all = append(all, kindChoice{kind, n, kind == d.Kind})
		}
	}
	return all
}

// KindLink returns the address of the same comparison with one kind of differences; "" for all.
func (d Diff) KindLink(kind string) string {
	query := url.Values{"from": {d.From}, "to": {d.To}}
	if kind != "" {
		query.Set("kind", kind)
	}
	return "diff?" + query.Encode()
}

// MeaningCounts returns how many differences there are of each meaning, those that nobody means first. What one
// environment has alone counts in each place, as in headings.
func (d Diff) MeaningCounts() (all []answer.State) {
	for _, m := range drift.Meanings() {
		n := 0
		for _, t := range d.Topics {
			for _, f := range t.Findings {
				switch {
				case f.Meaning != m:
				case f.Only != "":
					n += max(1, f.Count)
				default:
					n++
				}
			}
		}
		if n > 0 {
			state := *meaningState(m)
			state.Word = groupDigits(n) + " " + state.Word
			all = append(all, state)
		}
	}
	return all
}
