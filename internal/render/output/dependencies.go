package output

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/schedule"
)

type targetSet struct {
	members members
	order   []int            // targets, in the order of the members
	waits   map[int][]string // by target: sorted names on the same cluster type
	missing []missingDependency
	wide    []wideDependency
	cycles  [][]int // circles of targets, in order
}

type missingDependency struct {
	target     int
	dependency model.Dependency
}

// maxWaits bounds the targets of one dependency, which the output of each dependant
// lists.
const maxWaits = 500

type wideDependency struct {
	missingDependency
	targets int
}

// previousSets has the sets of the last run. A set stays valid with equal indexes of
// unchanged targets and an equal number of targets, since dependencies are inside the
// set or missing.
type previousSets struct {
	targets []*model.Target
	byKey   map[string]*targetSet
}

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

// targetSets returns the set of each cluster type and reports problems of dependencies.
// Cluster types with the same targets share a set.
func (p *pass) targetSets() []*targetSet {
	if len(p.model.Targets) == 0 {
		return slices.Repeat([]*targetSet{{}}, len(p.model.ClusterTypes))
	}
	known := p.cache.sets.unchangedSets(p.model.Targets)
	now := previousSets{p.model.Targets, map[string]*targetSet{}}
	byAddress := map[*uint64]*targetSet{} // the plan shares sets
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
	edges := p.resolveDependencies(set, s)
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

// changedMembers returns the indexes of changed members; false if the set has others.
// It caches results, since rows share sets.
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

type memberChange struct {
	same    bool
	changed []int
}

// resolveDependencies resolves a dependency to the target, or else all targets of the
// workload, with that name.
func (p *pass) resolveDependencies(members schedule.Set, s *targetSet) map[int][]int {
	byName, byWorkload := map[string][]int{}, map[string][]int{}
	for j := range members.All() {
		t := p.model.Targets[j]
		byWorkload[t.Workload] = append(byWorkload[t.Workload], j)
		if byName[t.Name] == nil {
			byName[t.Name] = []int{j}
		}
	}
	find := func(name string) []int {
		if found := byName[name]; found != nil {
			return found
		}
		return byWorkload[name]
	}
	known := map[string]int{} // targets with the same dependencies share results
	edges := map[int][]int{}
	for j := range members.All() {
		var names []string
		for _, d := range p.model.Targets[j].DependsOn {
			switch n := len(find(d.Name)); {
			case n == 0 && len(s.missing) < maxProblems:
				s.missing = append(s.missing, missingDependency{j, d})
			case n > maxWaits && len(s.wide) < maxProblems && (len(s.wide) == 0 || s.wide[len(s.wide)-1].dependency != d):
				s.wide = append(s.wide, wideDependency{missingDependency{j, d}, n}) // once for targets of a workload
			case n > 0 && n <= maxWaits:
				names = append(names, d.Name)
			}
		}
		if len(names) == 0 {
			continue
		}
		key := strings.Join(names, "\x00")
		same, ok := known[key]
		if !ok {
			known[key], same = j, j
			for _, name := range names {
				edges[j] = append(edges[j], find(name)...)
			}
			waits := list.Convert(edges[j], func(k int) string { return p.model.Targets[k].Name })
			slices.Sort(waits)
			s.waits[j] = slices.Compact(waits)
		}
		edges[j], s.waits[j] = edges[same], s.waits[same]
	}
	return edges
}

// findCycles returns circles of dependencies. A target is in at most one.
func findCycles(edges map[int][]int) [][]int {
	var found [][]int
	var path []int
	const done = -1
	at := map[int]int{} // index in path plus one, or done
	var visit func(j int)
	visit = func(j int) {
		switch i := at[j]; {
		case i == done:
			return
		case i > 0:
			found = append(found, slices.Clone(path[i-1:]))
			return
		}
		path = append(path, j)
		at[j] = len(path)
		for _, k := range edges[j] {
			visit(k)
		}
		path, at[j] = path[:len(path)-1], done
	}
	for _, j := range slices.Sorted(maps.Keys(edges)) {
		visit(j)
	}
	return found
}

func (p *pass) reportDependencies(c *model.ClusterType, s *targetSet) {
	for _, m := range s.missing {
		hint := p.hintMissing(m.dependency.Name)
		p.found.add(problem.Problem{
			Pos: m.dependency.Pos, Subject: p.model.Targets[m.target].Subject(), Hint: hint,
			Summary: fmt.Sprintf("it depends on %q, which is not on cluster type %s", m.dependency.Name, c.Name), OfAbsence: true,
		})
	}
	for _, w := range s.wide {
		p.found.add(problem.Problem{
			Pos: w.dependency.Pos, Subject: p.model.Targets[w.target].Subject(), Hint: "name the targets that it needs",
			Summary: fmt.Sprintf("it depends on workload %s, which has %d deployment targets on cluster type %s, and %d is the limit", w.dependency.Name, w.targets, c.Name, maxWaits),
		})
	}
	for _, circle := range s.cycles {
		p.reportCycle(c, circle)
	}
}

func (p *pass) hintMissing(name string) string {
	if p.names == nil {
		for _, t := range p.model.Targets {
			p.names = append(p.names, t.Name, t.Workload)
		}
		slices.Sort(p.names)
		p.names, p.hints = slices.Compact(p.names), map[string]string{}
	}
	hint, ok := p.hints[name]
	if !ok {
		hint = "a policy has to put it on the same cluster type"
		if _, known := slices.BinarySearch(p.names, name); !known {
			hint = problem.DidYouMean(name, p.names)
		}
		p.hints[name] = hint
	}
	return hint
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
