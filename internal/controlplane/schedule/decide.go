package schedule

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// decider places the units of all choices. Deciding again, with what was decided as the decisions, changes
// nothing, for these reasons: what a unit keeps is found before anything is filled; usage and avoidance only
// grow from then on, so that what did not fit does not fit later; which places a unit gives up when it
// should have fewer does not depend on usage; and a place that a unit has lost counts as new.
type decider struct {
	model     *model.Model
	policies  []*policyState // nil for plain ones
	units     []*Unit        // in their order
	resources []string
	capacity  []model.Quantity // by cluster type and resource; unlimited
	used      []model.Quantity // likewise
	requests  [][]model.Quantity
	counted   []Set // by cluster type: the targets whose requests count
	rules     []*avoidRule
	scores    []map[string]int // by cluster type
	filler    filler
	// typeHashes has the hash of each cluster type's name.
	typeHashes []uint64
}

// unlimited is the capacity of a cluster type where none is written.
const unlimited = model.Quantity(-1)

type policyState struct {
	policy   *model.Policy
	choice   *model.Choice
	selected Set
	fit      []bool // by cluster type: selected, and new units tolerate its taints
	fits     []int  // the same, as a list
	static   []int  // by cluster type: the part of the score that does not depend on usage
	domains  []domains
	rules    []*avoidRule
	dynamic  []model.Preference // those that depend on usage
	units    map[int]*Unit      // by target
}

// domains are the values of a label of cluster types.
type domains struct {
	of    []int // by cluster type: -1 without the label
	count int
}

// newDecider decides for the policies with a choice; nil if there are none. plain has the rows of the policies
// without one.
func newDecider(m *model.Model, selections []selection, plain []Set) *decider {
	d := &decider{model: m, policies: make([]*policyState, len(m.Policies))}
	for i, p := range m.Policies {
		if p.Choice != nil {
			d.policies[i] = &policyState{policy: p, choice: p.Choice, selected: selections[i].clusterTypes}
			d.units = append(d.units, newUnits(d.policies[i], selections[i].targets, m)...)
		}
	}
	if !slices.ContainsFunc(d.policies, func(s *policyState) bool { return s != nil }) {
		return nil
	}
	slices.SortFunc(d.units, compareUnits)
	d.typeHashes = list.Convert(m.ClusterTypes, func(c *model.ClusterType) uint64 { return hashText(c.Name) })
	d.measure(plain)
	for _, s := range d.policies {
		if s != nil {
			d.prepare(s)
		}
	}
	d.matchRules(plain)
	for _, u := range d.units {
		d.keepPlaces(u)
	}
	d.filler = filler{decider: d}
	for _, u := range d.units {
		d.fillPlaces(u)
		slices.SortFunc(u.Places, func(a, b Place) int { return cmp.Compare(a.ClusterType, b.ClusterType) })
	}
	return d
}

// measure finds the capacity of cluster types, what targets need, and what those of plain policies use.
func (d *decider) measure(plain []Set) {
	m := d.model
	amounts, named := make([]model.Amounts, len(m.ClusterTypes)), map[string]bool{}
	d.scores = make([]map[string]int, len(m.ClusterTypes))
	for i, c := range m.ClusterTypes {
		amounts[i], d.scores[i] = m.CapacityOf(c)
		for name := range amounts[i] {
			named[name] = true
		}
	}
	d.resources = slices.Sorted(maps.Keys(named))
	n := len(d.resources)
	d.capacity, d.used, d.requests = make([]model.Quantity, n*len(m.ClusterTypes)), make([]model.Quantity, n*len(m.ClusterTypes)), make([][]model.Quantity, len(m.Targets))
	for i := range m.ClusterTypes {
		for r, name := range d.resources {
			d.capacity[i*n+r] = unlimited
			if amount, written := amounts[i][name]; written {
				d.capacity[i*n+r] = amount
			}
		}
	}
	d.counted = make([]Set, len(m.ClusterTypes))
	for i := range d.counted {
		d.counted[i] = NewSet(len(m.Targets))
	}
	if n == 0 {
		return
	}
	for i, row := range plain {
		for t := range row.All() {
			d.count(i, t)
		}
	}
	owners := make([]int, len(m.Targets))
	for _, row := range plain {
		for t := range row.All() {
			owners[t] = 2
		}
	}
	for _, u := range d.units {
		u.needs = make([]model.Quantity, n)
		for _, t := range u.Targets {
			owners[t]++
			for r, amount := range d.requestsOf(t) {
				u.needs[r] = u.needs[r].Plus(amount)
			}
		}
		for r, amount := range u.needs {
			if amount > 0 {
				u.limited = append(u.limited, r)
			}
		}
	}
	for _, u := range d.units {
		u.shared = slices.ContainsFunc(u.Targets, func(t int) bool { return owners[t] > 1 })
	}
}

func (d *decider) requestsOf(target int) []model.Quantity {
	if d.requests[target] == nil {
		d.requests[target] = make([]model.Quantity, len(d.resources))
		amounts := d.model.RequestsOf(d.model.Targets[target])
		for r, name := range d.resources {
			d.requests[target][r] = amounts[name]
		}
	}
	return d.requests[target]
}

// count adds what a target uses of a cluster type, once.
func (d *decider) count(clusterType, target int) {
	if d.counted[clusterType].Has(target) {
		return
	}
	d.counted[clusterType].Add(target)
	for r, amount := range d.requestsOf(target) {
		at := clusterType*len(d.resources) + r
		d.used[at] = d.used[at].Plus(amount)
	}
}

func (d *decider) prepare(s *policyState) {
	types := d.model.ClusterTypes
	s.fit, s.static = make([]bool, len(types)), make([]int, len(types))
	for i, c := range types {
		_, tainted := s.repellingTaint(c, false)
		s.fit[i] = s.isSelected(i, c) && !tainted
		if s.fit[i] {
			s.fits = append(s.fits, i)
		}
		for _, p := range s.choice.Prefer {
			s.static[i] += p.Weight * d.staticValue(p, i)
		}
		for _, t := range c.Taints {
			if t.Effect == model.PreferNoSelect && !s.choice.Tolerates(t) {
				s.static[i] += preferNoSelect * fullValue
			}
		}
	}
	for _, p := range s.choice.Prefer {
		if p.Most != "" || p.Least != "" {
			s.dynamic = append(s.dynamic, p)
		}
	}
	for _, spread := range s.choice.Spread {
		s.domains = append(s.domains, newDomains(types, spread.By, spread.Preferred))
	}
}

// The weight of a taint PreferNoSelect, and the value of what is preferred and there.
const (
	preferNoSelect = -50
	fullValue      = 100
)

func (d *decider) staticValue(p model.Preference, clusterType int) int {
	switch {
	case p.ClusterTypes != nil && p.ClusterTypes.Matches(d.model.ClusterTypes[clusterType].Labels):
		return fullValue
	case p.Score != "":
		return d.scores[clusterType][p.Score]
	}
	return 0
}

func (s *policyState) isSelected(i int, c *model.ClusterType) bool {
	_, named := slices.BinarySearch(s.choice.Names, c.Name)
	return s.selected.Has(i) && (named || s.choice.Names == nil)
}

// repellingTaint returns a taint of a cluster type that keeps the units of the policy off it: those that are there
// already, or new ones.
func (s *policyState) repellingTaint(c *model.ClusterType, isThere bool) (model.Taint, bool) {
	if s.choice.Decider.Unenforced {
		return model.Taint{}, false
	}
	for _, t := range c.Taints {
		if (t.Effect == model.NoSelect || t.Effect == model.NoSelectIfNew && !isThere) && !s.choice.Tolerates(t) {
			return t, true
		}
	}
	return model.Taint{}, false
}

// newDomains numbers the values of a label. Each cluster type without it is a domain of its own if alone is set,
// else in none.
func newDomains(types []*model.ClusterType, label string, alone bool) domains {
	d, known := domains{of: make([]int, len(types))}, map[string]int{}
	for i, c := range types {
		value, written := c.Labels[label]
		id, seen := known[value]
		switch {
		case written && seen:
			d.of[i] = id
			continue
		case !written && !alone:
			d.of[i] = -1
			continue
		case written:
			known[value] = d.count
		}
		d.of[i] = d.count
		d.count++
	}
	return d
}

// hashText returns the first 8 bytes of the SHA-256 of the parts.
func hashText(parts ...string) uint64 {
	var buffer [128]byte
	text := buffer[:0]
	for _, part := range parts {
		text = append(append(text, part...), 0)
	}
	sum := sha256.Sum256(text)
	return binary.BigEndian.Uint64(sum[:8])
}

// hash orders cluster types for a unit, differently for each unit: rendezvous hashing. The two hashes are mixed by
// the finalizer of SplitMix64, which costs a hundredth of a SHA-256 of both names.
func (d *decider) hash(u *Unit, clusterType int) uint64 {
	if u.hash == 0 {
		u.hash = hashText(u.Policy.Name, u.Name)
	}
	h := u.hash ^ d.typeHashes[clusterType]
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

func (d *decider) keepPlaces(u *Unit) {
	s := u.state
	var kept []int
	for _, name := range u.had {
		i, found := model.IndexOf(d.model.ClusterTypes, name)
		if !found {
			u.lose(name, Loss{Reason: LostGone})
			continue
		}
		taint, tainted := s.repellingTaint(d.model.ClusterTypes[i], true)
		switch {
		case !s.isSelected(i, d.model.ClusterTypes[i]):
			u.lose(name, Loss{Reason: LostNotSelected})
		case tainted:
			u.lose(name, Loss{Reason: LostTaint, Taint: taint})
		default:
			kept = append(kept, i)
		}
	}
	if pick := s.choice.Pick; pick != model.PickAll && len(kept) > pick {
		slices.SortFunc(kept, func(a, b int) int {
			return cmp.Or(cmp.Compare(s.static[b], s.static[a]), cmp.Compare(d.hash(u, b), d.hash(u, a)), cmp.Compare(a, b))
		})
		for _, i := range kept[pick:] {
			u.lose(d.model.ClusterTypes[i].Name, Loss{Reason: LostPick})
		}
		kept = kept[:pick]
	}
	for _, i := range kept {
		resource, short := d.findShort(u, i)
		switch {
		case short:
			u.lose(d.model.ClusterTypes[i].Name, Loss{Reason: LostCapacity, Resource: d.resources[resource]})
		case d.isAvoided(u, i):
			u.lose(d.model.ClusterTypes[i].Name, Loss{Reason: LostAvoid})
		default:
			d.place(u, i, true)
		}
	}
}

func (u *Unit) lose(clusterType string, l Loss) {
	l.ClusterType = clusterType
	u.Lost = append(u.Lost, l)
}

func (d *decider) place(u *Unit, clusterType int, kept bool) {
	u.Places = append(u.Places, Place{clusterType, kept})
	if len(d.resources) > 0 {
		for _, t := range u.Targets {
			d.count(clusterType, t)
		}
	}
	d.noteAvoidance(u, clusterType)
}

func (d *decider) findShort(u *Unit, clusterType int) (resource int, short bool) {
	if u.state.choice.Decider.Unenforced {
		return 0, false
	}
	at := clusterType * len(d.resources)
	for _, r := range u.limited {
		if limit := d.capacity[at+r]; limit != unlimited && d.needOf(u, clusterType, r) > limit-d.used[at+r] {
			return r, true
		}
	}
	return 0, false
}

// needOf returns how much of a resource a unit would add to what a cluster type's targets use.
func (d *decider) needOf(u *Unit, clusterType, resource int) model.Quantity {
	if !u.shared {
		return u.needs[resource]
	}
	var sum model.Quantity
	for _, t := range u.Targets {
		if !d.counted[clusterType].Has(t) {
			sum = sum.Plus(d.requestsOf(t)[resource])
		}
	}
	return sum
}
