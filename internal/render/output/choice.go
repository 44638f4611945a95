package output

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/schedule"
)

func (p *pass) checkChoices() {
	isChoice := func(policy *model.Policy) bool { return policy.Choice != nil }
	isTainted := func(c *model.ClusterType) bool { return c.Taints != nil }
	if p.model.Measures == nil && !slices.ContainsFunc(p.model.Policies, isChoice) && !slices.ContainsFunc(p.model.ClusterTypes, isTainted) {
		return
	}
	emptied, short, waiting, places := map[*model.Policy][]*schedule.Unit{}, map[*model.Policy][]*schedule.Unit{}, map[*model.Policy][]*schedule.Unit{}, map[*model.Policy]int{}
	for _, u := range p.plan.Units() {
		places[u.Policy] += len(u.Places)
		switch {
		case u.IsEmptied():
			emptied[u.Policy] = append(emptied[u.Policy], u)
		case u.IsWaiting():
			waiting[u.Policy] = append(waiting[u.Policy], u)
		case u.IsShort() || u.Policy.Choice.Pick == model.PickAll && len(u.Places) == 0:
			short[u.Policy] = append(short[u.Policy], u)
		}
	}
	for i, policy := range p.model.Policies {
		if policy.Choice == nil {
			continue
		}
		if units := emptied[policy]; units != nil {
			p.found.add(problem.Problem{
				Pos: policy.Choice.Pos, Subject: policy.Subject(), OfAbsence: true,
				Summary: fmt.Sprintf("the choice would leave %s nowhere: %s", nameUnits(units), schedule.CountObstacles(p.plan.Candidates(units[0]))),
				Hint:    fmt.Sprintf("it was on %s; pick: 0 removes it on purpose", describeLosses(units[0])),
			})
		}
		if units := short[policy]; units != nil {
			p.found.add(problem.Problem{
				Pos: policy.Choice.Pos, Subject: policy.Subject(), Warning: !policy.Choice.Required, OfAbsence: true,
				Summary: fmt.Sprintf("%s: %s; %s", nameUnits(units), describePlaces(policy.Choice, len(units[0].Places)), schedule.CountObstacles(p.plan.Candidates(units[0]))),
				Hint:    "fairlead explain, with CLUSTERTYPE/TARGET, shows what is in the way",
			})
		}
		if units := waiting[policy]; units != nil {
			p.found.add(problem.Problem{
				Pos: policy.Choice.Pos, Subject: policy.Subject(), Warning: !policy.Choice.Required, OfAbsence: true,
				Summary: fmt.Sprintf("%s: waits for a decision of the scheduler %s", nameUnits(units), policy.Choice.Decider.Name),
				Hint:    "a Decision in " + model.DecisionFolder + " places it, by a scheduler that the settings of the daemon name or by anybody",
			})
		}
		if places[policy] > maxPlaces {
			p.found.add(problem.Problem{
				Pos: policy.Choice.Pos, Subject: policy.Subject(), Hint: "split the policy, or pick fewer",
				Summary: fmt.Sprintf("the choice makes %d places, and %d is the limit of a decision", places[policy], maxPlaces),
			})
		}
		p.warnChoice(i, policy)
	}
	for _, misspelt := range schedule.WarnMisspelt(p.model) {
		p.found.add(misspelt)
	}
	p.warnMeasures()
	p.warnTwice()
}

// maxPlaces bounds the places of a decision, so that the file stays readable.
const maxPlaces = 400_000

func nameUnits(units []*schedule.Unit) string {
	if len(units) == 1 {
		return units[0].Name
	}
	return fmt.Sprintf("%s and %d more", units[0].Name, len(units)-1)
}

func describePlaces(c *model.Choice, places int) string {
	if c.Pick == model.PickAll {
		return "no place"
	}
	return fmt.Sprintf("%d of %s", places, text.Count(c.Pick, "place"))
}

func describeLosses(u *schedule.Unit) string {
	var all []string
	for _, l := range u.Lost {
		all = append(all, fmt.Sprintf("%s (%s)", l.ClusterType, l))
	}
	if len(all) > maxNamed {
		all = append(all[:maxNamed], fmt.Sprintf("%d more", len(all)-maxNamed))
	}
	return strings.Join(all, ", ")
}

const maxNamed = 5

// warnChoice warns of choices without effect and of names that it cannot pick.
func (p *pass) warnChoice(i int, policy *model.Policy) {
	types, targets := p.plan.Selected(i)
	if types.Empty() || targets.Empty() { // warned elsewhere
		return
	}
	warn := func(hint, format string, args ...any) {
		p.found.add(problem.Problem{Pos: policy.Choice.Pos, Subject: policy.Subject(), Summary: fmt.Sprintf(format, args...), Hint: hint, Warning: true})
	}
	selected := types.Len()
	isShort := func(u *schedule.Unit) bool { return u.Policy == policy && len(u.Places) < selected }
	if pick := policy.Choice.Pick; pick >= selected && policy.Choice.Names == nil && !slices.ContainsFunc(p.plan.Units(), isShort) {
		warn("pick fewer, or remove the choice", "the choice has no effect: it picks %d of %s", pick, text.Count(selected, "cluster type"))
	}
	var names []string
	for j := range types.All() {
		names = append(names, p.model.ClusterTypes[j].Name)
	}
	for _, name := range policy.Choice.Names {
		if !slices.Contains(names, name) {
			p.found.add(problem.Problem{
				Pos: policy.Choice.Pos, Subject: policy.Subject(), Hint: problem.DidYouMean(name, names), OfAbsence: true,
				Summary: fmt.Sprintf("pick names %s, which the policy does not select", name),
			})
		}
	}
}

// warnMeasures warns of capacity and requests without effect.
func (p *pass) warnMeasures() {
	limited := map[string]bool{model.Assignments: true}
	for _, measures := range p.model.Measures {
		selects := func(o *model.Object) bool { return measures.Selects.Matches(o.Labels) }
		switch {
		case measures.Capacity && !slices.ContainsFunc(p.model.ClusterTypes, func(c *model.ClusterType) bool { return selects(&c.Object) }):
			p.warnObject(&measures.Object, "compare its labels with those of the cluster types", "this capacity is of no cluster type")
		case !measures.Capacity && !slices.ContainsFunc(p.model.Targets, func(t *model.Target) bool { return selects(&t.Object) }):
			p.warnObject(&measures.Object, "compare its labels with those of the deployment targets", "these requests are of no deployment target")
		}
		for name := range measures.Amounts {
			if measures.Capacity {
				limited[name] = true
			}
		}
	}
	warn := func(o *model.Object, amounts model.Amounts) {
		for name := range amounts {
			if !limited[name] {
				hint := "write a capacity of it, or remove the request"
				if near := problem.DidYouMean(name, slices.Sorted(maps.Keys(limited))); near != "" {
					hint = near + " otherwise " + hint
				}
				p.warnObject(o, hint, fmt.Sprintf("no cluster type has a capacity of %s, so that the request has no effect", name))
			}
		}
	}
	for _, measures := range p.model.Measures {
		if !measures.Capacity {
			warn(&measures.Object, measures.Amounts)
		}
	}
	for _, t := range p.model.Targets {
		warn(&t.Object, t.Requests)
	}
}

// warnTwice warns of plain policies that repeat a choice or ignore taints, and of two
// choices with the same assignment.
func (p *pass) warnTwice() {
	byTarget := map[int][]*schedule.Unit{}
	for _, u := range p.plan.Units() {
		for _, t := range u.Targets {
			byTarget[t] = append(byTarget[t], u)
		}
	}
	told := map[[2]*model.Policy]bool{}
	for i, policy := range p.model.Policies {
		types, targets := p.plan.Selected(i)
		if policy.Choice != nil {
			continue
		}
		for t := range targets.All() {
			for _, u := range byTarget[t] {
				if pair := [2]*model.Policy{policy, u.Policy}; !told[pair] && !types.Empty() {
					told[pair] = true
					p.warnObject(&policy.Object, "narrow one of the two", fmt.Sprintf("it puts %s on all cluster types that it selects, and %s chooses some for it: both count", p.model.Targets[t].Name, u.Policy.Subject()))
				}
			}
		}
		for c := range types.All() {
			repels := slices.ContainsFunc(p.model.ClusterTypes[c].Taints, func(t model.Taint) bool { return t.Effect != model.PreferNoSelect })
			if repels && !targets.Empty() {
				p.warnObject(&policy.Object, "taints count for policies with "+model.ChooseAnnotation+" only", fmt.Sprintf("it puts targets on %s, which has a taint", p.model.ClusterTypes[c].Name))
				break
			}
		}
	}
	p.warnSamePair(byTarget, told)
}

func (p *pass) warnSamePair(byTarget map[int][]*schedule.Unit, told map[[2]*model.Policy]bool) {
	for t := range p.model.Targets {
		for n, u := range byTarget[t] {
			for _, other := range byTarget[t][:n] {
				both := slices.ContainsFunc(u.Places, func(place schedule.Place) bool {
					return slices.ContainsFunc(other.Places, func(o schedule.Place) bool { return o.ClusterType == place.ClusterType })
				})
				if pair := [2]*model.Policy{u.Policy, other.Policy}; both && !told[pair] {
					told[pair] = true
					p.found.add(problem.Problem{
						Pos: u.Policy.Choice.Pos, Subject: u.Policy.Subject(), Warning: true, Hint: "narrow one of the two",
						Summary: fmt.Sprintf("it and %s both choose a cluster type for %s: it is there once", other.Policy.Subject(), p.model.Targets[t].Name),
					})
				}
			}
		}
	}
}
