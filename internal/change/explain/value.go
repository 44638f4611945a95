package explain

import (
	"reflect"

	"github.com/fairlead-io/fairlead/internal/controlplane/values"
)

// Value is a key of the merged values, with its configs in merge order.
type Value struct {
	Key   string   `json:"key" yaml:"key"`
	Value any      `json:"value" yaml:"value"`
	By    []Source `json:"by,omitempty" yaml:"by,omitempty"`
}

// Source is a config that sets a key. Config.At is the key's line.
type Source struct {
	Config  Object   `json:"config" yaml:"config"`
	Because []string `json:"because,omitempty" yaml:"because,omitempty"` // required labels; none for all assignments
	Value   any      `json:"value" yaml:"value"`
	Outcome Outcome  `json:"outcome" yaml:"outcome"`
}

// Outcome is the effect of merging on a value.
type Outcome string

// The outcomes.
const (
	Set      Outcome = "set"      // the only value of the key
	Wins     Outcome = "wins"     // replaced earlier values
	Merged   Outcome = "merged"   // part of the result
	Replaced Outcome = "replaced" // not part of the result
)

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

// outcomesOf: lists merge with lists, mappings with mappings; all else replaces earlier
// values.
func outcomesOf(by []values.Source) []Outcome {
	if len(by) == 1 {
		return []Outcome{Set}
	}
	out := make([]Outcome, len(by))
	last := len(by) - 1
	first := last // first part of the result
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
