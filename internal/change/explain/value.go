package explain

import (
	"reflect"

	"github.com/fairlead-io/fairlead/internal/controlplane/values"
)

// Value is a key of the merged values, and the configs that set it in the order in
// which they were merged.
type Value struct {
	Key   string   `json:"key" yaml:"key"`
	Value any      `json:"value" yaml:"value"`
	By    []Source `json:"by,omitempty" yaml:"by,omitempty"`
}

// Source is a config that sets a key. Config.At is the line of the key.
type Source struct {
	Config  Object   `json:"config" yaml:"config"`
	Because []string `json:"because,omitempty" yaml:"because,omitempty"` // the labels that it needs; none if it is for all assignments
	Value   any      `json:"value" yaml:"value"`
	Outcome Outcome  `json:"outcome" yaml:"outcome"`
}

// Outcome is what merging has done with a value.
type Outcome string

// The outcomes.
const (
	Set      Outcome = "set"      // it is the only value of the key
	Wins     Outcome = "wins"     // it has replaced those before it
	Merged   Outcome = "merged"   // it is a part of the result
	Replaced Outcome = "replaced" // it is not a part of the result
)

// explainValues returns the values of an assignment, sorted by key.
func (q *explainer) explainValues(i, j int) []Value {
	var out []Value
	for _, p := range q.valueResolver().ExplainValues(i, j) {
		v := Value{Key: p.Key, Value: jsonValue(p.Value)}
		outcomes := outcomesOf(p.By)
		for k, s := range p.By {
			at := Object{s.Config.Kind, s.Config.Name, s.Pos}
			v.By = append(v.By, Source{at, s.Labels, jsonValue(s.Value), outcomes[k]})
		}
		out = append(out, v)
	}
	return out
}

// outcomesOf returns the outcome of each source. Lists are merged with lists, and mappings
// with mappings; anything else replaces the values before it.
func outcomesOf(by []values.Source) []Outcome {
	if len(by) == 1 {
		return []Outcome{Set}
	}
	out := make([]Outcome, len(by))
	last := len(by) - 1
	first := last // of those that are part of the result
	kindOf := func(k int) reflect.Kind { return reflect.ValueOf(by[k].Value).Kind() }
	if kind := kindOf(last); kind == reflect.Slice || kind == reflect.Map {
		for first > 0 && kindOf(first-1) == kind {
			first--
		}
	}
	for k := range by {
		switch {
		case k < first:
			out[k] = Replaced
		case first == last:
			out[k] = Wins
		default:
			out[k] = Merged
		}
	}
	return out
}
