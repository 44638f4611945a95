package output

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/schedule"
)

// targetSet is a set of targets that one or more cluster types have, with what
// each target waits for there.
type targetSet struct {
	members members
	order   []int            // the targets, in the order of the members
	waits   map[int][]string // by target: names of targets on the same cluster type, sorted
	missing []missingDependency
	cycles  [][]int // targets that wait for each other in a circle, in order
}

// missingDependency is a dependency that is not on the same cluster type.
type missingDependency struct {
	target     int
	dependency model.Dependency
}

// previousSets holds the sets of the last run. A set stays valid in the next run if the model
// has as many targets, the set has the same indexes, and the targets at these have not
// changed: what a target depends on is in the same set, or missing.
type previousSets struct {
	targets []*model.Target
	byKey   map[string]*targetSet
}

// unchangedSets returns a lookup of the last run's set by its key; nil for a set that may have
// changed.
func (k *previousSets) unchangedSets(targets []*model.Target) func(set schedule.Set, key string) *targetSet {
	if len(k.targets) != len(targets) {
		return func(schedule.Set, string) *targetSet { return nil }
	}
	changed := schedule.NewSet(len(targets))
	for j, t := range targets {
		if k.targets[j] != t {
			changed.Add(j)
		}
	}
	return func(set schedule.Set, key string) *targetSet {
		touched := slices.Clone(set)
		touched.Intersect(changed)
		if !touched.Empty() {
			return nil
		}
		return k.byKey[key]
	}
}

// targetSets returns the set of each cluster type, and reports what is wrong with their
// dependencies. Cluster types with the same targets share a set.
func (p *pass) targetSets() []*targetSet {
	if len(p.model.Targets) == 0 {
		return slices.Repeat([]*targetSet{{}}, len(p.model.ClusterTypes))
	}
	known := p.cache.sets.unchangedSets(p.model.Targets)
	now := previousSets{p.model.Targets, map[string]*targetSet{}}
	byAddress := map[*uint64]*targetSet{} // the plan shares sets between cluster types
	sets := make([]*targetSet, len(p.model.ClusterTypes))
	for i := range sets {
		members := p.plan.Targets(i)
		s := byAddress[&members[0]]
		if s == nil {
			key := members.Key()
			s = known(members, key)
			if s == nil {
				s = p.newTargetSet(members)
			}
			byAddress[&members[0]], now.byKey[key] = s, s
		}
		sets[i] = s
		p.reportDependencies(p.model.ClusterTypes[i], s)
	}
	p.cache.sets = now
	return sets
}

func (p *pass) newTargetSet(set schedule.Set) *targetSet {
	s := &targetSet{waits: map[int][]string{}}
	edges := map[int][]int{}
	for j := range set.All() {
		for _, d := range p.model.Targets[j].DependsOn {
			found := p.resolveDependency(d.Name, set)
			if len(found) == 0 {
				s.missing = append(s.missing, missingDependency{j, d})
			}
			edges[j] = append(edges[j], found...)
		}
	}
	for j, waits := range edges {
		var names []string
		for _, k := range waits {
			names = append(names, p.model.Targets[k].Name)
		}
		slices.Sort(names)
		s.waits[j] = slices.Compact(names)
	}
	s.cycles = findCycles(edges)
	s.order = slices.SortedFunc(set.All(), func(j, k int) int {
		return compareFolders(p.model.Targets[j].Name, p.model.Targets[k].Name)
	})
	h := newHasher()
	for _, j := range s.order {
		reads := p.targets[j]
		if waits := s.waits[j]; len(waits) > 0 {
			own := newHasher()
			own.writeDigest(reads)
			own.writeTexts(waits...)
			reads = own.sum()
		}
		s.members.names = append(s.members.names, p.model.Targets[j].Name)
		s.members.reads = append(s.members.reads, reads)
		h.writeDigest(reads)
	}
	s.members.digest = h.sum()
	return s
}

// changedMembers returns the indexes of the members of a set that have changed; ok is false if the
// set has other members. Rows share sets, so that the result is cached.
func (p *pass) changedMembers(old *members, set *targetSet) (changed []int, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	pair := [2]*members{old, &set.members}
	known, found := p.changes[pair]
	if !found {
		known.same = slices.Equal(old.names, set.members.names)
		for k := 0; known.same && k < len(set.members.reads); k++ {
			if old.reads[k] != set.members.reads[k] {
				known.changed = append(known.changed, k)
			}
		}
		p.changes[pair] = known
	}
	return known.changed, known.same
}

// memberChange is the difference between two sets of members.
type memberChange struct {
	same    bool // they have the same names
	changed []int
}

// resolveDependency returns the members of a set that a dependency names: the target of that
// name, or else all targets of the workload of that name.
func (p *pass) resolveDependency(name string, members schedule.Set) []int {
	var ofWorkload []int
	for j := range members.All() {
		switch t := p.model.Targets[j]; name {
		case t.Name:
			return []int{j}
		case t.Workload:
			ofWorkload = append(ofWorkload, j)
		}
	}
	return ofWorkload
}

// findCycles returns the circles of targets that wait for each other. Each begins with the
// first of its targets that the search meets; a target is in one circle at most.
func findCycles(edges map[int][]int) [][]int {
	var found [][]int
	var path []int
	done := map[int]bool{}
	var visit func(j int)
	visit = func(j int) {
		if at := slices.Index(path, j); at >= 0 {
			found = append(found, slices.Clone(path[at:]))
			return
		}
		if done[j] {
			return
		}
		path = append(path, j)
		for _, k := range edges[j] {
			visit(k)
		}
		path, done[j] = path[:len(path)-1], true
	}
	for _, j := range slices.Sorted(maps.Keys(edges)) {
		visit(j)
	}
	return found
}

func (p *pass) reportDependencies(c *model.ClusterType, s *targetSet) {
	for _, m := range s.missing {
		var known []string
		for _, t := range p.model.Targets {
			known = append(known, t.Name, t.Workload)
		}
		slices.Sort(known)
		known = slices.Compact(known)
		hint := "a policy has to put it on the same cluster type"
		if !slices.Contains(known, m.dependency.Name) {
			hint = problem.DidYouMean(m.dependency.Name, known)
		}
		p.found.add(problem.Problem{
			Pos: m.dependency.Pos, Subject: p.model.Targets[m.target].Subject(), Hint: hint,
			Summary: fmt.Sprintf("it depends on %q, which is not on cluster type %s", m.dependency.Name, c.Name), OfAbsence: true,
		})
	}
	for _, circle := range s.cycles {
		p.reportCycle(c, circle)
	}
}

func (p *pass) reportCycle(c *model.ClusterType, circle []int) {
	var names []string
	for _, j := range slices.Concat(circle, circle[:1]) {
		names = append(names, p.model.Targets[j].Name)
	}
	first := p.model.Targets[circle[0]]
	pos := first.Pos
	for _, d := range first.DependsOn {
		if next := p.model.Targets[circle[1%len(circle)]]; d.Name == next.Name || d.Name == next.Workload {
			pos = d.Pos
		}
	}
	p.found.add(problem.Problem{
		Pos: pos, Subject: first.Subject(), Hint: "remove one of the dependencies",
		Summary: fmt.Sprintf("the dependencies on cluster type %s are circular: %s", c.Name, strings.Join(names, " → ")),
	})
}

// configDigest returns the digest of all that the values of assignments are made from.
func configDigest(m *model.Model) digest {
	h := newHasher()
	for _, c := range m.Configs {
		h.writeTexts(c.Name)
		h.writeLabels(c.Labels)
		h.writeNumber(len(c.Values))
		for _, v := range c.Values {
			h.writeTexts(v.Key, v.Text)
		}
	}
	h.writeNumber(len(m.Schemas))
	for _, s := range m.Schemas {
		h.writeLabels(s.Labels)
		h.writeTexts(s.Name, s.Text)
	}
	return h.sum()
}
