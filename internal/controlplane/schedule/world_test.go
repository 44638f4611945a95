package schedule_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/schedule"
)

// newWorld returns a small control plane of random choices, in which everything is scarce.
func newWorld(random *rand.Rand) *model.Model {
	m := &model.Model{}
	for i := range 2 + random.IntN(7) {
		m.ClusterTypes = append(m.ClusterTypes, newWorldType(random, fmt.Sprintf("t%d", i)))
	}
	for i := range 1 + random.IntN(9) {
		t := target(fmt.Sprintf("w%d-%d", i/2, i), "", map[string]string{"app": pickWord(random, "a", "b", "c")})
		t.Workload = fmt.Sprintf("w%d", i/2)
		if random.IntN(3) > 0 {
			t.Requests = model.Amounts{"cpu": model.Quantity(random.IntN(5) * 1000)}
		}
		m.Targets = append(m.Targets, t)
	}
	for i := range 1 + random.IntN(4) {
		p := policy(fmt.Sprintf("p%d", i), "", randomSelector(random, "size", "large", "small"), randomSelector(random, "app", "a", "b", "c"))
		if random.IntN(6) > 0 {
			p.Choice = newWorldChoice(random)
		}
		m.Policies = append(m.Policies, p)
	}
	m.Measures = newWorldMeasures(random, m)
	return m
}

func newWorldType(random *rand.Rand, name string) *model.ClusterType {
	c := clusterType(name, map[string]string{"name": name, "size": pickWord(random, "large", "small")})
	if random.IntN(5) > 0 {
		c.Labels["region"] = pickWord(random, "eu", "us", "ap")
	}
	if random.IntN(4) == 0 {
		effect := []model.TaintEffect{model.NoSelect, model.NoSelectIfNew, model.PreferNoSelect}[random.IntN(3)]
		c.Taints = []model.Taint{{Key: pickWord(random, "edge", "old"), Effect: effect}}
	}
	return c
}

func newWorldMeasures(random *rand.Rand, m *model.Model) []*model.Measures {
	var all []*model.Measures
	for i, c := range m.ClusterTypes {
		measures := &model.Measures{Object: model.Object{Name: fmt.Sprintf("c%d", i)}, Capacity: true, Selects: in("name", c.Name), Amounts: model.Amounts{}, Scores: map[string]int{"near": random.IntN(201) - 100}}
		if random.IntN(4) > 0 {
			measures.Amounts["cpu"] = model.Quantity(random.IntN(12) * 1000)
		}
		if random.IntN(4) == 0 {
			measures.Amounts[model.Assignments] = model.Quantity(random.IntN(4) * 1000)
		}
		all = append(all, measures)
	}
	return all
}

func newWorldChoice(random *rand.Rand) *model.Choice {
	c := &model.Choice{Pick: random.IntN(5) - 1, Unit: []model.UnitKind{model.UnitTarget, model.UnitWorkload, model.UnitPolicy}[random.IntN(3)], Priority: random.IntN(3)}
	if c.Pick != model.PickAll && random.IntN(2) == 0 {
		c.Spread = []model.Spread{{By: "region", MaxSkew: 1 + random.IntN(2), MinDomains: random.IntN(3), Preferred: random.IntN(2) == 0}}
	}
	large := in("size", "large")
	for _, p := range []model.Preference{{ClusterTypes: &large}, {Most: "cpu"}, {Least: "cpu"}, {Score: "near"}} {
		if random.IntN(4) == 0 {
			p.Weight = random.IntN(201) - 100
			c.Prefer = append(c.Prefer, p)
		}
	}
	if random.IntN(3) == 0 {
		c.Avoid = []model.Avoidance{{Targets: randomSelector(random, "app", "a", "b", "c"), By: pickWord(random, "", "region")}}
	}
	if random.IntN(3) == 0 {
		c.Tolerate = []model.Toleration{{Key: pickWord(random, "edge", "old"), Exists: true}}
	}
	return c
}

func pickWord(random *rand.Rand, words ...string) string { return words[random.IntN(len(words))] }

func randomSelector(random *rand.Rand, key string, values ...string) model.Selector {
	if random.IntN(2) == 0 {
		return model.Selector{}
	}
	return in(key, pickWord(random, values...))
}

// changeWorld returns the world after something happened to it.
func changeWorld(random *rand.Rand, m *model.Model) *model.Model {
	c := *m
	c.ClusterTypes, c.Targets, c.Policies, c.Measures = slices.Clone(m.ClusterTypes), slices.Clone(m.Targets), slices.Clone(m.Policies), slices.Clone(m.Measures)
	i := random.IntN(len(c.ClusterTypes))
	switch change := random.IntN(6); change {
	case 0:
		c.ClusterTypes[i] = newWorldType(random, c.ClusterTypes[i].Name)
	case 1, 2:
		if _, known := model.IndexOf(c.ClusterTypes, "t9"); change == 1 && !known {
			c.ClusterTypes = append(c.ClusterTypes, newWorldType(random, "t9"))
		} else if len(c.ClusterTypes) > 1 {
			c.ClusterTypes = slices.Delete(c.ClusterTypes, i, i+1)
		}
	case 3:
		c.Measures = newWorldMeasures(random, &c)
	case 4:
		p := *c.Policies[0]
		p.Choice = newWorldChoice(random)
		c.Policies[0] = &p
	case 5:
		t := *c.Targets[0]
		t.Requests = model.Amounts{"cpu": model.Quantity(random.IntN(8) * 1000)}
		c.Targets[0] = &t
	}
	return &c
}

// withDecisions returns the model with what a plan decided as its decisions.
func withDecisions(m *model.Model, p *schedule.Plan) *model.Model {
	c := *m
	c.Decisions = p.Decisions()
	return &c
}

func describeDecisions(p *schedule.Plan) string {
	var b strings.Builder
	for _, d := range p.Decisions() {
		fmt.Fprintln(&b, d.Name, d.By, d.Units)
	}
	return b.String()
}

// TestDecideRandomWorlds checks what is true for all worlds: deciding again changes nothing, nothing is over
// its capacity or where it must not be, and nothing moves without a reason.
func TestDecideRandomWorlds(t *testing.T) {
	worlds := 40_000
	if testing.Short() {
		worlds = 2_000
	}
	for seed := range worlds {
		random := rand.New(rand.NewPCG(uint64(seed), 36))
		m := newWorld(random)
		for step := range 4 {
			p := schedule.NewPlan(m, nil)
			if what := checkWorld(m, p); what != "" {
				t.Fatalf("world %d, step %d: %s\n%s", seed, step, what, describeWorld(m, p))
			}
			if step == 0 { // there is no decision, and one without units is the same
				empty := *m
				for _, policy := range m.Policies {
					empty.Decisions = append(empty.Decisions, &model.Decision{Object: model.Object{Name: policy.Name}})
				}
				if was, is := describeDecisions(p), describeDecisions(schedule.NewPlan(&empty, nil)); was != is {
					t.Fatalf("world %d: without a decision\n%s, and with empty ones\n%s", seed, was, is)
				}
			}
			decided := withDecisions(m, p)
			again := schedule.NewPlan(decided, nil)
			if was, is := describeDecisions(p), describeDecisions(again); was != is {
				t.Fatalf("world %d, step %d: decided\n%s, and then\n%s\n%s", seed, step, was, is, describeWorld(m, p))
			}
			if pairs(p) != pairs(again) {
				t.Fatalf("world %d, step %d: the assignments differ", seed, step)
			}
			m = changeWorld(random, decided)
		}
	}
}

func describeWorld(m *model.Model, p *schedule.Plan) string {
	var b strings.Builder
	for _, c := range m.ClusterTypes {
		amounts, _ := m.CapacityOf(c)
		fmt.Fprintln(&b, c.Name, c.Labels, c.Taints, amounts)
	}
	for _, t := range m.Targets {
		fmt.Fprintln(&b, t.Name, t.Labels, t.Requests)
	}
	for _, p := range m.Policies {
		fmt.Fprintln(&b, p.Name, p.ClusterTypes, "/", p.Targets)
		if p.Choice != nil {
			fmt.Fprintf(&b, "  %+v\n", *p.Choice)
		}
	}
	for _, d := range m.Decisions {
		fmt.Fprintln(&b, "had", d.Name, d.Units)
	}
	for _, u := range p.Units() {
		fmt.Fprintln(&b, u.Policy.Name, u.Name, u.Places, u.Lost)
	}
	return b.String()
}

// checkWorld returns what is wrong with a plan; "" if nothing is. It knows nothing of how the plan was made.
func checkWorld(m *model.Model, p *schedule.Plan) string {
	for i, c := range m.ClusterTypes {
		amounts, _ := m.CapacityOf(c)
		for resource, limit := range amounts {
			var plain, all model.Quantity
			for j := range p.Targets(i).All() {
				need := m.RequestsOf(m.Targets[j])[resource]
				all += need
				if slices.ContainsFunc(m.Policies, func(p *model.Policy) bool {
					return p.Choice == nil && p.ClusterTypes.Matches(c.Labels) && p.Targets.Matches(m.Targets[j].Labels)
				}) {
					plain += need
				}
			}
			if all > max(limit, plain) {
				return fmt.Sprintf("%s has %s of %s, and %s is used", c.Name, limit, resource, all)
			}
		}
	}
	for _, u := range p.Units() {
		if what := checkUnit(m, p, u); what != "" {
			return u.Policy.Name + "/" + u.Name + " " + what
		}
	}
	return ""
}

func checkUnit(m *model.Model, p *schedule.Plan, u *schedule.Unit) string {
	choice := u.Policy.Choice
	if choice.Pick != model.PickAll && len(u.Places) > choice.Pick {
		return "has too many places"
	}
	for _, place := range u.Places {
		c := m.ClusterTypes[place.ClusterType]
		for _, taint := range c.Taints {
			if !choice.Tolerates(taint) && (taint.Effect == model.NoSelect || taint.Effect == model.NoSelectIfNew && !place.Kept) {
				return "is on " + c.Name + " with the taint " + taint.String()
			}
		}
		if !u.Policy.ClusterTypes.Matches(c.Labels) {
			return "is on " + c.Name + ", which is not selected"
		}
		if other := findAvoided(m, p, u, place.ClusterType); other != "" {
			return "is on " + c.Name + ", and avoids " + other
		}
	}
	if len(choice.Spread) > 0 && !choice.Spread[0].Preferred {
		if what := checkSpread(m, u, choice.Spread[0]); what != "" {
			return what
		}
	}
	for _, l := range u.Lost {
		if !isReason(m, p, u, l) {
			return "is not on " + l.ClusterType + " any more for no reason: " + l.String()
		}
	}
	return ""
}

// findAvoided returns another unit that is too near to where a unit is.
func findAvoided(m *model.Model, p *schedule.Plan, u *schedule.Unit, at int) string {
	near := func(a model.Avoidance, other int) bool {
		value, written := m.ClusterTypes[at].Labels[a.By]
		return at == other || a.By != "" && written && m.ClusterTypes[other].Labels[a.By] == value
	}
	avoids := func(a model.Avoidance, holder, other *schedule.Unit) bool {
		return slices.ContainsFunc(other.Targets, func(t int) bool {
			return a.Targets.Matches(m.Targets[t].Labels) && !slices.Contains(holder.Targets, t)
		})
	}
	for _, other := range p.Units() {
		if other == u {
			continue
		}
		for _, place := range other.Places {
			for _, a := range u.Policy.Choice.Avoid {
				if near(a, place.ClusterType) && avoids(a, u, other) {
					return other.Name
				}
			}
			for _, a := range other.Policy.Choice.Avoid {
				if near(a, place.ClusterType) && avoids(a, other, u) {
					return other.Name
				}
			}
		}
	}
	return ""
}

// checkSpread checks the skew of a unit all of whose places are new.
func checkSpread(m *model.Model, u *schedule.Unit, spread model.Spread) string {
	counts := map[string]int{}
	for i, c := range m.ClusterTypes {
		value, written := c.Labels[spread.By]
		tolerated := !slices.ContainsFunc(c.Taints, func(t model.Taint) bool { return t.Effect != model.PreferNoSelect && !u.Policy.Choice.Tolerates(t) })
		if written && tolerated && u.Policy.ClusterTypes.Matches(c.Labels) {
			counts[value] += 0
		}
		for _, place := range u.Places {
			if place.Kept {
				return ""
			}
			if place.ClusterType == i && !written {
				return "is on " + c.Name + " without the label of its spread"
			}
			if place.ClusterType == i {
				counts[value]++
			}
		}
	}
	least, most := 1000, 0
	for _, n := range counts {
		least, most = min(least, n), max(most, n)
	}
	if len(counts) < spread.MinDomains {
		least = 0
	}
	if len(u.Places) > 0 && most-least > spread.MaxSkew {
		return fmt.Sprintf("is spread as %v", counts)
	}
	return ""
}

// isReason reports whether a unit could not have kept a place, all others being where they are.
func isReason(m *model.Model, p *schedule.Plan, u *schedule.Unit, l schedule.Loss) bool {
	at, found := model.IndexOf(m.ClusterTypes, l.ClusterType)
	if !found || l.Reason == schedule.LostGone {
		return !found && l.Reason == schedule.LostGone
	}
	c := m.ClusterTypes[at]
	switch l.Reason {
	case schedule.LostNotSelected:
		return !u.Policy.ClusterTypes.Matches(c.Labels)
	case schedule.LostTaint:
		return slices.Contains(c.Taints, l.Taint) && l.Taint.Effect == model.NoSelect && !u.Policy.Choice.Tolerates(l.Taint)
	case schedule.LostPick:
		return len(u.Lost) > 0 && u.Policy.Choice.Pick != model.PickAll
	case schedule.LostAvoid:
		return findAvoided(m, p, u, at) != "" || hasPlainAvoided(m, u, at)
	}
	amounts, _ := m.CapacityOf(c)
	var used model.Quantity
	for j := range m.Targets {
		if p.Targets(at).Has(j) || slices.Contains(u.Targets, j) {
			used += m.RequestsOf(m.Targets[j])[l.Resource]
		}
	}
	return used > amounts[l.Resource]
}

// hasPlainAvoided reports whether a unit avoids what a plain policy assigns.
func hasPlainAvoided(m *model.Model, u *schedule.Unit, at int) bool {
	for _, p := range m.Policies {
		for _, t := range m.Targets {
			for i, c := range m.ClusterTypes {
				for _, a := range u.Policy.Choice.Avoid {
					near := i == at || a.By != "" && c.Labels[a.By] != "" && c.Labels[a.By] == m.ClusterTypes[at].Labels[a.By]
					if p.Choice == nil && near && p.ClusterTypes.Matches(c.Labels) && p.Targets.Matches(t.Labels) && a.Targets.Matches(t.Labels) {
						return true
					}
				}
			}
		}
	}
	return false
}
