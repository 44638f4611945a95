package model

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
)

// What cluster types have, and what deployment targets need.
const (
	// CapacityLabel marks a ConfigMap with the capacity of one cluster of the types that its other labels select.
	CapacityLabel = OwnGroup + "/capacity"
	// RequestsLabel marks a ConfigMap with what the targets need that its other labels select.
	// RequestsAnnotation has the same on a Workload or a DeploymentTarget, as YAML.
	RequestsLabel      = OwnGroup + "/requests"
	RequestsAnnotation = RequestsLabel
	// MeasuredAnnotation and MeasuredByAnnotation say when, and by whom, a capacity was measured.
	MeasuredAnnotation   = OwnGroup + "/measured"
	MeasuredByAnnotation = OwnGroup + "/measured-by"
	// Assignments is the resource of which every deployment target needs 1.
	Assignments = "assignments"

	scorePrefix  = "score."
	maxScore     = 100
	maxResources = 64
)

// Amounts is how much there is of resources, by their names.
type Amounts map[string]Quantity

// Measures is a ConfigMap with the capacity of cluster types, or with the requests of targets.
type Measures struct {
	Object
	Capacity bool // of cluster types
	Selects  Selector
	Amounts  Amounts
	Scores   map[string]int // of cluster types: -100 to 100
}

func isMeasures(o Object) bool {
	return o.Labels[CapacityLabel] == "true" || o.Labels[RequestsLabel] == "true"
}

func (r *reader) readMeasures(o Object, data map[string]locatedText) *Measures {
	m := &Measures{Object: o, Capacity: o.Labels[CapacityLabel] == "true", Amounts: Amounts{}, Scores: map[string]int{}}
	problems := &r.out.problems
	if m.Capacity && o.Labels[RequestsLabel] == "true" {
		problems.Addf(o.Pos, o.Subject(), "split it into two", "a ConfigMap has either the capacity of cluster types or the requests of targets")
	}
	if o.Labels[platformConfigLabel] == "true" || strings.HasPrefix(o.Name, appConfigPrefix) {
		problems.Addf(o.Pos, o.Subject(), "split it into two", "a ConfigMap with platform values cannot have capacity or requests too")
	}
	if at := o.Annotations[MeasuredAnnotation]; at != "" {
		if _, err := time.Parse(time.RFC3339, at); err != nil {
			problems.Warnf(o.Pos, o.Subject(), "write it as 2026-12-24T08:00:00Z", "the annotation %s cannot be %q", MeasuredAnnotation, text.Shorten(at, maxShown))
		}
	}
	if len(data) > maxResources {
		problems.Addf(o.Pos, o.Subject(), "", "the ConfigMap has %d resources, and %d is the limit", len(data), maxResources)
		return m
	}
	for _, key := range sortedKeys(o.Labels) {
		if key == CapacityLabel || key == RequestsLabel || strings.HasPrefix(key, OwnerLabelPrefix) {
			continue
		}
		m.Selects.Requirements = append(m.Selects.Requirements, Requirement{Key: key, Operator: In, Values: []string{o.Labels[key]}})
	}
	for _, key := range sortedKeys(data) {
		at, value := r.positionAt(data[key].Line), strings.TrimSpace(data[key].Text)
		if score, ok := strings.CutPrefix(key, scorePrefix); ok && m.Capacity {
			n, err := strconv.Atoi(value)
			if err != nil || n < -maxScore || n > maxScore {
				problems.Addf(at, o.Subject(), "write a whole number from -100 to 100", "data.%s cannot be %q", key, text.Shorten(value, maxShown))
			}
			m.Scores[score] = n
			continue
		}
		amount, err := ParseQuantity(value)
		if key == Assignments && !m.Capacity {
			problems.Addf(at, o.Subject(), "remove it", "data.%s: every target needs 1, and no other number", key)
		}
		if err != nil {
			problems.Addf(at, o.Subject(), "", "data.%s is %q: %v", key, text.Shorten(value, maxShown), err)
			continue
		}
		m.Amounts[key] = amount
	}
	return m
}

// requests are what all targets need, and single ones by name.
type requests struct {
	all     Amounts
	targets map[string]Amounts
}

func (r requests) ofTarget(target string) Amounts { return overrideAmounts(r.all, r.targets[target]) }

// overWorkload returns what a target needs whose own annotation this is, where base is what its workload says.
func (r requests) overWorkload(base Amounts) Amounts { return overrideAmounts(base, r.all) }

func overrideAmounts(base, over Amounts) Amounts {
	switch {
	case len(over) == 0:
		return base
	case len(base) == 0:
		return over
	}
	both := maps.Clone(base)
	maps.Copy(both, over)
	return both
}

func readRequests(annotations map[string]locatedText, subject string, at func(int) problem.Pos, problems *problem.List) requests {
	value, written := annotations[RequestsAnnotation]
	if !written {
		return requests{}
	}
	r := requests{all: Amounts{}, targets: map[string]Amounts{}}
	d, ok := decodeAnnotation(RequestsAnnotation, value, subject, at, problems, nil)
	if !ok {
		return r
	}
	d.readAmounts(d.root, r.all, func(n *yaml.Node) {
		if n.Kind != yaml.MappingNode {
			d.addProblem(n, "write it as targets: {main: {cpu: 4}}", "requests.targets should be a mapping, but is %s", yamldoc.DescribeType(n))
			return
		}
		for key, value := range d.uniquePairs(n) {
			if value.Kind != yaml.MappingNode {
				d.addProblem(value, "write it as {cpu: 4}", "the requests of target %s should be a mapping, but are %s", key.Value, yamldoc.DescribeType(value))
				continue
			}
			r.targets[key.Value] = Amounts{}
			d.readAmounts(value, r.targets[key.Value], nil)
		}
	})
	return r
}

// readAmounts reads amounts by their names. targets reads the value of the key of that name; nil if there cannot
// be one.
func (a annotationText) readAmounts(n *yaml.Node, into Amounts, targets func(*yaml.Node)) {
	for key, value := range a.uniquePairs(n) {
		if key.Value == "targets" && targets != nil {
			targets(value)
			continue
		}
		amount, err := ParseQuantity(strings.TrimSpace(value.Value))
		switch {
		case value.Kind != yaml.ScalarNode || err != nil:
			hint := ""
			if err != nil {
				hint = err.Error()
			}
			a.addProblem(value, hint, "the request of %s cannot be %s", key.Value, showNode(value))
		case key.Value == Assignments:
			a.addProblem(key, "remove it", "every target needs 1 of %s, and no other number", Assignments)
		case len(into) >= maxResources:
			a.addProblem(key, "", "there are more than %d requests", maxResources)
			return
		default:
			into[key.Value] = amount
		}
	}
}

// RequestsOf returns what a target needs: what its annotations say, and for resources that they leave out
// what ConfigMaps say, of several the last one by name. It needs 1 of Assignments.
func (m *Model) RequestsOf(t *Target) Amounts {
	if len(t.Requests) == 0 && len(m.Measures) == 0 {
		return Amounts{Assignments: 1000}
	}
	all := maps.Clone(t.Requests)
	if all == nil {
		all = Amounts{}
	}
	for _, measures := range slices.Backward(m.Measures) {
		if measures.Capacity || !measures.Selects.Matches(t.Labels) {
			continue
		}
		for name, amount := range measures.Amounts {
			if _, written := all[name]; !written {
				all[name] = amount
			}
		}
	}
	all[Assignments] = 1000
	return all
}

// CapacityOf returns what one cluster of a type has, and its scores: of several ConfigMaps, the last one by
// name counts for each resource. A resource that none names is not limited.
func (m *Model) CapacityOf(c *ClusterType) (Amounts, map[string]int) {
	amounts, scores := Amounts{}, map[string]int{}
	for _, measures := range m.Measures {
		if measures.Capacity && measures.Selects.Matches(c.Labels) {
			maps.Copy(amounts, measures.Amounts)
			maps.Copy(scores, measures.Scores)
		}
	}
	return amounts, scores
}
