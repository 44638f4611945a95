package provision

import (
	"bytes"
	"cmp"
	"fmt"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
)

// PlanFile is the plan in the folder of its manifest, next to the lock.
const PlanFile = "plan.yaml"

// PlanKind is the kind of a plan.
const PlanKind = "ClusterPlan"

// planHead begins a plan file. The digest of the rest follows.
const planHead = "# Written by Fairlead for people: the steps that led to the lock beside this file. Do not edit it.\n" +
	"apiVersion: " + model.OwnAPIVersion + "\nkind: " + PlanKind + "\n" + digestKey + ": sha256:"

// Transition is a change of a manifest's state.
type Transition struct {
	Manifest string        `yaml:"manifest"`        // "namespace/name"
	Phase    Phase         `yaml:"phase,omitempty"` // of the second state's rollout
	Steps    []Step        `yaml:"steps"`
	Clouds   []CloudChange `yaml:"clouds"`
}

// CloudChange is the number of nodes in a cloud before and after a change.
type CloudChange struct {
	Cloud  string     `json:"cloud" yaml:"cloud"`
	Before CloudCount `json:"before" yaml:"before"`
	After  CloudCount `json:"after" yaml:"after"`
}

// NewTransition returns the plan from current to desired. It keeps Secrets that the
// states in beside share. Errors are those of [NewPlan].
func NewTransition(current, desired *State, beside []State) (Transition, error) {
	t := Transition{Manifest: cmp.Or(desired.Path(), current.Path())}
	if desired.Rollout != nil {
		t.Phase = desired.Rollout.Phase
	}
	plan, err := NewPlan(current, desired)
	if err == nil {
		t.Steps, t.Clouds = WithoutShared(plan.Steps, beside), compareClouds(CountClouds(current), CountClouds(desired))
	}
	return t, err
}

func compareClouds(before, after []CloudCount) []CloudChange {
	var all []CloudChange
	for len(before)+len(after) > 0 {
		switch {
		case len(after) == 0, len(before) > 0 && before[0].Cloud < after[0].Cloud:
			all = append(all, CloudChange{before[0].Cloud, before[0], CloudCount{Cloud: before[0].Cloud}})
			before = before[1:]
		case len(before) == 0 || after[0].Cloud < before[0].Cloud:
			all = append(all, CloudChange{after[0].Cloud, CloudCount{Cloud: after[0].Cloud}, after[0]})
			after = after[1:]
		default:
			all = append(all, CloudChange{after[0].Cloud, before[0], after[0]})
			before, after = before[1:], after[1:]
		}
	}
	return all
}

// planBody is a plan file after its head.
type planBody struct {
	To         string `yaml:"to"`             // the digest of the resulting lock
	From       string `yaml:"from,omitempty"` // the digest of the previous lock; "" for none
	Transition `yaml:",inline"`
}

// EncodePlan returns the bytes of a plan; from may be nil.
func EncodePlan(t Transition, from, to []byte) ([]byte, error) {
	body, err := yamldoc.Encode(planBody{digestInLock(to), digestInLock(from), t})
	if err != nil {
		return nil, fmt.Errorf("encode %s of %s: %w", PlanFile, t.Manifest, err)
	}
	return append([]byte(planHead+digestOf(body)+"\n"), body...), nil
}

// IsPlanOf reports whether a plan is unedited and leads to lock.
func IsPlanOf(plan, lock []byte) bool {
	rest, ours := bytes.CutPrefix(plan, []byte(planHead))
	digest, body, _ := bytes.Cut(rest, []byte("\n"))
	return ours && string(digest) == digestOf(body) && bytes.HasPrefix(body, []byte("to: "+digestInLock(lock)+"\n"))
}

// IsPlanFrom reports whether a plan starts from lock; nil means none.
func IsPlanFrom(plan, lock []byte) bool {
	var body planBody
	return yaml.Unmarshal(plan, &body) == nil && body.From == digestInLock(lock)
}

// ParsePlan reads a plan. It does not detect edits; [IsPlanOf] does.
func ParsePlan(text []byte) (Transition, error) {
	var t Transition
	if err := yaml.Unmarshal(text, &t); err != nil {
		return t, fmt.Errorf("read %s: %w", PlanFile, err)
	}
	for i := range t.Clouds {
		c := &t.Clouds[i]
		c.Before.Cloud, c.After.Cloud = c.Cloud, c.Cloud
	}
	return t, nil
}

func digestInLock(lock []byte) string {
	_, rest, _ := bytes.Cut(lock, []byte("\n"+digestKey+": "))
	digest, _, _ := bytes.Cut(rest, []byte("\n"))
	return string(digest)
}
