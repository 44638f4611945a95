package schedule

import (
	"fmt"
	"maps"
	"slices"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// Overlay is a change of a model, to see what it would move.
type Overlay struct {
	Remove   []string
	Add      []*model.ClusterType
	Taints   map[string][]model.Taint     // by cluster type
	Capacity map[string]model.Amounts     // by cluster type
	Labels   map[string]map[string]string // by cluster type
	Pick     map[string]int               // by policy
	// FromScratch forgets what was decided.
	FromScratch bool
}

// UnknownError is the error of an overlay that names something that does not exist.
type UnknownError struct {
	Kind, Name string
	Known      []string
}

// Error names what does not exist.
func (e *UnknownError) Error() string { return fmt.Sprintf("unknown %s %q", e.Kind, e.Name) }

// NotOwnError is the error of a policy that Fairlead does not decide.
type NotOwnError struct {
	Policy string
	By     string // who decides; "" if nobody chooses
}

// Error says who decides.
func (e *NotOwnError) Error() string {
	if e.By == "" {
		return e.Policy + " chooses nothing: it puts its targets on all cluster types that it selects"
	}
	return fmt.Sprintf("%s is decided by %s, and not by Fairlead", e.Policy, e.By)
}

// findOwn returns the index of a policy that Fairlead decides. The error is an [*UnknownError] or a [*NotOwnError].
func findOwn(m *model.Model, name string) (int, error) {
	i, known := model.IndexOf(m.Policies, name)
	switch {
	case !known:
		return 0, &UnknownError{"policy", name, namesOf(m.Policies)}
	case m.Policies[i].Choice == nil:
		return 0, &NotOwnError{Policy: name}
	}
	if by := m.Policies[i].Choice.Decider.String(); by != model.DecidedByFairlead {
		return 0, &NotOwnError{name, by}
	}
	return i, nil
}

// overlayLabel selects a cluster type by its name, for its capacity.
const overlayLabel = model.OwnGroup + "/what-if"

// Apply returns the changed model. An error is an [*UnknownError] or a [*NotOwnError].
func (o Overlay) Apply(m *model.Model) (*model.Model, error) {
	c := *m
	c.ClusterTypes = slices.Clone(m.ClusterTypes)
	for _, t := range o.Add {
		if i, known := model.IndexOf(c.ClusterTypes, t.Name); known {
			c.ClusterTypes[i] = t
		} else {
			c.ClusterTypes = slices.Insert(c.ClusterTypes, i, t)
		}
	}
	for _, name := range slices.Concat(o.Remove, slices.Sorted(maps.Keys(o.Taints)), slices.Sorted(maps.Keys(o.Capacity)), slices.Sorted(maps.Keys(o.Labels))) {
		if c.ClusterType(name) == nil {
			return nil, &UnknownError{"cluster type", name, namesOf(c.ClusterTypes)}
		}
	}
	for i, t := range c.ClusterTypes {
		c.ClusterTypes[i] = o.changeType(t)
	}
	for name, amounts := range o.Capacity {
		selects := model.Selector{Requirements: []model.Requirement{{Key: overlayLabel, Operator: model.In, Values: []string{name}}}}
		c.Measures = append(slices.Clip(c.Measures), &model.Measures{Object: model.Object{Kind: "ConfigMap", Name: name}, Capacity: true, Selects: selects, Amounts: amounts})
	}
	c.ClusterTypes = slices.DeleteFunc(c.ClusterTypes, func(t *model.ClusterType) bool { return slices.Contains(o.Remove, t.Name) })
	c.Policies = slices.Clone(m.Policies)
	for name, pick := range o.Pick {
		i, err := findOwn(m, name)
		if err != nil {
			return nil, err
		}
		p, choice := *c.Policies[i], *c.Policies[i].Choice
		choice.Pick, choice.Names, p.Choice = pick, nil, &choice
		c.Policies[i] = &p
	}
	if o.FromScratch {
		c.Decisions = nil
	}
	return &c, nil
}

func (o Overlay) changeType(t *model.ClusterType) *model.ClusterType {
	labels, amounts := o.Labels[t.Name], o.Capacity[t.Name]
	if labels == nil && amounts == nil && o.Taints[t.Name] == nil {
		return t
	}
	c := *t
	c.Labels = maps.Clone(t.Labels)
	if c.Labels == nil {
		c.Labels = map[string]string{}
	}
	maps.Copy(c.Labels, labels)
	if amounts != nil {
		c.Labels[overlayLabel] = t.Name
	}
	c.Taints = append(slices.Clip(t.Taints), o.Taints[t.Name]...)
	return &c
}

func namesOf[T interface{ ObjectMeta() *model.Object }](all []T) []string {
	var names []string
	for _, o := range all {
		names = append(names, o.ObjectMeta().Name)
	}
	return names
}

// Simulate decides a model, then what an overlay makes of it with these decisions, and compares the two.
func Simulate(m *model.Model, o Overlay) (Comparison, error) {
	before := NewPlan(m, nil)
	decided := *m
	decided.Decisions = before.Decisions()
	changed, err := o.Apply(&decided)
	if err != nil {
		return Comparison{}, err
	}
	return Compare(before, NewPlan(changed, nil)), nil
}
