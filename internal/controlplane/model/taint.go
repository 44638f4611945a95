package model

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/kubename"
	"github.com/fairlead-io/fairlead/internal/base/problem"
)

// TaintsAnnotation on a ClusterType holds its taints: "edge=true:NoSelect, old:NoSelectIfNew".
const TaintsAnnotation = OwnGroup + "/taints"

// TaintEffect is what a taint does to units that do not tolerate it.
type TaintEffect string

// The effects of taints, in the words of Open Cluster Management.
const (
	NoSelect       TaintEffect = "NoSelect"       // no unit is there
	NoSelectIfNew  TaintEffect = "NoSelectIfNew"  // no unit is placed there; those that are there stay
	PreferNoSelect TaintEffect = "PreferNoSelect" // a unit is placed there if it has to be
)

// Taint keeps units off a cluster type.
type Taint struct {
	Key, Value string
	Effect     TaintEffect
}

// String returns the taint as it is written.
func (t Taint) String() string {
	if t.Value == "" {
		return t.Key + ":" + string(t.Effect)
	}
	return t.Key + "=" + t.Value + ":" + string(t.Effect)
}

// Toleration lets the units of a choice onto cluster types with a taint.
type Toleration struct {
	Key, Value string      // Key is "" for all
	Exists     bool        // the value does not matter
	Effect     TaintEffect // "" for all
}

// Tolerates reports whether one of the tolerations is of the taint.
func (c *Choice) Tolerates(taint Taint) bool {
	return slices.ContainsFunc(c.Tolerate, func(t Toleration) bool {
		return (t.Effect == "" || t.Effect == taint.Effect) && (t.Key == "" || t.Key == taint.Key) && (t.Exists || t.Value == taint.Value)
	})
}

// maxTaints bounds the taints of a cluster type.
const maxTaints = 16

// ParseTaint parses a taint as it is written; false if it is none.
func ParseTaint(text string) (Taint, bool) {
	rest, effect, _ := strings.Cut(strings.TrimSpace(text), ":")
	key, value, _ := strings.Cut(rest, "=")
	t := Taint{key, value, TaintEffect(effect)}
	known := slices.Contains([]TaintEffect{NoSelect, NoSelectIfNew, PreferNoSelect}, t.Effect)
	return t, known && cmp.Or(kubename.CheckLabelKey(key), kubename.CheckLabelValue(value)) == nil
}

func (r *reader) readTaints(o Object, annotations annotations) []Taint {
	text, written := annotations[TaintsAnnotation]
	if !written {
		return nil
	}
	pos, problems := r.positionAt(text.Line), &r.out.problems
	var all []Taint
	for part := range strings.SplitSeq(text.Text, ",") {
		t, ok := ParseTaint(part)
		if !ok {
			hint := "write it as key=value:NoSelect, with the effect NoSelect, NoSelectIfNew or PreferNoSelect"
			if near := problem.DidYouMean(string(t.Effect), []string{string(NoSelect), string(NoSelectIfNew), string(PreferNoSelect)}); near != "" {
				hint = near
			} else if t.Effect == "NoSchedule" {
				hint = `did you mean "NoSelect"?`
			}
			problems.Addf(pos, o.Subject(), hint, "%s: %q is not a taint", TaintsAnnotation, strings.TrimSpace(part))
			continue
		}
		all = append(all, t)
	}
	if len(all) > maxTaints {
		problems.Addf(pos, o.Subject(), "", "the annotation %s has %d taints, and %d is the limit", TaintsAnnotation, len(all), maxTaints)
		return nil
	}
	return all
}
