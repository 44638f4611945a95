package schedule

import (
	"cmp"
	"slices"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

func (d *decider) fillPlaces(u *Unit) {
	pick := u.state.choice.Pick
	if u.state.choice.Decider.IsExternal() {
		return
	}
	if pick != model.PickAll && len(u.Places) >= pick {
		return
	}
	f := &d.filler
	f.startUnit(u)
	for pick == model.PickAll || len(u.Places) < pick {
		i, found := f.findBest()
		if !found {
			return
		}
		d.place(u, i, false)
		f.notePlace(i)
	}
}

// filler finds places for one unit after the other.
type filler struct {
	*decider
	unit    *Unit
	spreads []spreadCount
	fits    []int // those with room for the unit, and that it is not on
	rated   []rating
}

// startUnit finds the cluster types that are fit for a unit but for its spread. Its own places do not change what
// the others have room for.
func (f *filler) startUnit(u *Unit) {
	f.unit, f.spreads, f.fits = u, f.countDomains(u), f.fits[:0]
	for _, i := range u.state.fits {
		if _, short := f.findShort(u, i); !short && !u.isOn(i) && !f.isAvoided(u, i) {
			f.fits = append(f.fits, i)
		}
	}
}

func (f *filler) notePlace(clusterType int) {
	f.fits = slices.DeleteFunc(f.fits, func(i int) bool { return i == clusterType })
	for n := range f.spreads {
		f.spreads[n].add(f.unit.state.domains[n].of[clusterType])
	}
}

// rating is how good a place is: of two, the one with less excess is better, then the one with less skew, then
// the one with the greater score.
type rating struct {
	clusterType         int
	excess, skew, score int
}

func (a *rating) compare(b *rating) int {
	switch {
	case a.excess != b.excess:
		return cmp.Compare(a.excess, b.excess)
	case a.skew != b.skew:
		return cmp.Compare(a.skew, b.skew)
	}
	return cmp.Compare(b.score, a.score)
}

func (f *filler) findBest() (best int, found bool) {
	f.rateCandidates()
	var top rating
	var hash uint64
	for n := range f.rated {
		r, order := &f.rated[n], -1
		if n > 0 {
			order = r.compare(&top)
		}
		if order > 0 {
			continue
		}
		own := f.hash(f.unit, r.clusterType)
		if order == 0 && own <= hash { // of equal ones the first by name
			continue
		}
		top, hash = *r, own
	}
	return top.clusterType, len(f.rated) > 0
}

// rateCandidates rates the cluster types that are fit for the unit.
func (f *filler) rateCandidates() {
	s := f.unit.state
	f.rated = f.rated[:0]
	for n := range f.spreads {
		f.spreads[n].findLeast()
	}
	for _, i := range f.fits {
		r := rating{clusterType: i, score: s.static[i]}
		if f.rateSpread(&r) {
			f.rated = append(f.rated, r)
		}
	}
	for _, p := range s.dynamic {
		f.addFree(p)
	}
}

// rateSpread adds the skew of a place, and reports whether it is not refused.
func (f *filler) rateSpread(r *rating) bool {
	for n, spread := range f.unit.state.choice.Spread {
		domain := f.unit.state.domains[n].of[r.clusterType]
		if domain < 0 {
			return false
		}
		skew := f.spreads[n].places[domain] + 1 - f.spreads[n].least
		over := max(skew-spread.MaxSkew, 0)
		if over > 0 && !spread.Preferred {
			return false
		}
		r.excess, r.skew = r.excess+over, r.skew+skew
	}
	return true
}

// addFree adds the values of a preference for what is free after placing, from 0 to 100 among the candidates.
// Where there is no limit, the most is free.
func (f *filler) addFree(p model.Preference) {
	resource := cmp.Or(p.Most, p.Least)
	r := indexOf(f.resources, resource)
	least, most := model.Quantity(-1), model.Quantity(-1)
	for _, c := range f.rated {
		free := f.freeAfter(c.clusterType, r)
		if free == unlimited {
			continue
		}
		if least < 0 || free < least {
			least = free
		}
		most = max(most, free)
	}
	for n := range f.rated {
		value, free := fullValue, f.freeAfter(f.rated[n].clusterType, r)
		if free != unlimited {
			value = 0
			if most > least { // without a product that overflows
				value = int(float64(free-least) / float64(most-least) * fullValue)
			}
		}
		if p.Least != "" {
			value = fullValue - value
		}
		f.rated[n].score += p.Weight * value
	}
}

func (f *filler) freeAfter(clusterType, resource int) model.Quantity {
	if resource < 0 {
		return unlimited
	}
	at := clusterType*len(f.resources) + resource
	if f.capacity[at] == unlimited {
		return unlimited
	}
	return max(f.capacity[at]-f.used[at]-f.needOf(f.unit, clusterType, resource), 0)
}

func indexOf(sorted []string, name string) int {
	for i, s := range sorted {
		if s == name {
			return i
		}
	}
	return -1
}

// spreadCount counts the places of a unit in the domains of one spread. Only eligible ones, which the unit can be
// in as far as selection and taints go, are compared: one without room keeps others at its count.
type spreadCount struct {
	places     []int
	eligible   []bool
	minDomains int
	least      int
}

func (d *decider) countDomains(u *Unit) []spreadCount {
	all := make([]spreadCount, len(u.state.choice.Spread))
	for n, spread := range u.state.choice.Spread {
		domains := u.state.domains[n]
		c := spreadCount{places: make([]int, domains.count), eligible: make([]bool, domains.count), minDomains: spread.MinDomains}
		for _, i := range u.state.fits {
			if domains.of[i] >= 0 {
				c.eligible[domains.of[i]] = true
			}
		}
		for _, p := range u.Places {
			if domains.of[p.ClusterType] >= 0 {
				c.eligible[domains.of[p.ClusterType]] = true
				c.add(domains.of[p.ClusterType])
			}
		}
		all[n] = c
	}
	return all
}

func (c *spreadCount) add(domain int) {
	if domain >= 0 {
		c.places[domain]++
	}
}

// findLeast finds the least number of places in an eligible domain.
func (c *spreadCount) findLeast() {
	least, eligible := -1, 0
	for i, ok := range c.eligible {
		if ok {
			eligible++
			if least < 0 || c.places[i] < least {
				least = c.places[i]
			}
		}
	}
	c.least = max(least, 0)
	if eligible < c.minDomains {
		c.least = 0
	}
}
