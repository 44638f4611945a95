package output

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/model"
	"github.com/fairlead-io/fairlead/internal/problem"
	"github.com/fairlead-io/fairlead/internal/schedule"
)

// targetSet is a set of targets that one or more cluster types have, with what
// each target waits for there.
type targetSet struct {
	digest  digest
	order   []int            // the targets, in Git's order of their folders
	names   []string         // of the targets, in that order
	waits   map[int][]string // by target: names of targets on the same cluster type, sorted
	missing []missing
	circle  []int // targets that wait for each other, in order; nil if there are none
}

// missing is a dependency that is not on the same cluster type.
type missing struct {
	target int
	model.Dependency
}

// targetSets finds the sets of all cluster types. Those that have the same targets
// share one.
func (p *pass) targetSets() []*targetSet {
	byKey := map[string]*targetSet{}
	known := p.dependencyNames()
	sets := make([]*targetSet, len(p.model.ClusterTypes))
	for i := range sets {
		members := p.plan.Targets(i)
		s := byKey[members.Key()]
		if s == nil {
			s = p.newTargetSet(members)
			byKey[members.Key()] = s
		}
		sets[i] = s
		p.reportDependencies(p.model.ClusterTypes[i], s, known)
	}
	return sets
}

func (p *pass) newTargetSet(members schedule.Set) *targetSet {
	s := &targetSet{waits: map[int][]string{}}
	edges := map[int][]int{}
	h := newHasher()
	for j := range members.All() {
		h.digest(p.targets[j])
		for _, d := range p.model.Targets[j].DependsOn {
			found := p.resolve(d.Name, members)
			if len(found) == 0 {
				s.missing = append(s.missing, missing{j, d})
			}
			edges[j] = append(edges[j], found...)
		}
	}
	s.digest = h.sum()
	s.order = slices.SortedFunc(members.All(), func(j, k int) int {
		return compareFolders(p.model.Targets[j].Name, p.model.Targets[k].Name)
	})
	s.names = make([]string, len(s.order))
	for k, j := range s.order {
		s.names[k] = p.model.Targets[j].Name
	}
	for j, waits := range edges {
		var names []string
		for _, k := range waits {
			names = append(names, p.model.Targets[k].Name)
		}
		slices.Sort(names)
		s.waits[j] = slices.Compact(names)
	}
	s.circle = circle(edges)
	return s
}

// resolve gives the members of a set that a dependency names: the target of that
// name, or else all targets of the workload of that name.
func (p *pass) resolve(name string, members schedule.Set) []int {
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

// circle finds targets that wait for each other, starting with the one of the
// lowest index.
func circle(edges map[int][]int) []int {
	done := map[int]bool{}
	var path []int
	var visit func(j int) []int
	visit = func(j int) []int {
		if at := slices.Index(path, j); at >= 0 {
			return slices.Clone(path[at:])
		}
		if done[j] {
			return nil
		}
		path = append(path, j)
		defer func() { path, done[j] = path[:len(path)-1], true }()
		for _, k := range edges[j] {
			if c := visit(k); c != nil {
				return c
			}
		}
		return nil
	}
	for _, j := range sortedKeys(edges) {
		if c := visit(j); c != nil {
			return c
		}
	}
	return nil
}

func sortedKeys(m map[int][]int) []int {
	keys := make([]int, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// dependencyNames are all names that a dependency may have, for hints.
func (p *pass) dependencyNames() []string {
	var names []string
	for _, t := range p.model.Targets {
		names = append(names, t.Name, t.Workload)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (p *pass) reportDependencies(c *model.ClusterType, s *targetSet, known []string) {
	for _, m := range s.missing {
		hint := "a policy has to put it on the same cluster type"
		if !slices.Contains(known, m.Name) {
			hint = problem.DidYouMean(m.Name, known)
		}
		p.found.add(problem.Problem{
			Pos: m.Pos, Subject: p.model.Targets[m.target].Subject(), Hint: hint,
			Summary: fmt.Sprintf("it depends on %q, which is not on cluster type %s", m.Name, c.Name),
		})
	}
	if s.circle == nil {
		return
	}
	var names []string
	for _, j := range append(s.circle, s.circle[0]) {
		names = append(names, p.model.Targets[j].Name)
	}
	first := p.model.Targets[s.circle[0]]
	p.found.add(problem.Problem{
		Pos: first.DependsOn[0].Pos, Subject: first.Subject(), Hint: "remove one of the dependencies",
		Summary: fmt.Sprintf("the dependencies on cluster type %s go round in a circle: %s", c.Name, strings.Join(names, " → ")),
	})
}

// configDigest covers all that the values of assignments are made from.
func configDigest(m *model.Model) digest {
	h := newHasher()
	for _, c := range m.Configs {
		h.text(c.Name)
		h.labels(c.Labels)
		h.number(len(c.Values))
		for _, v := range c.Values {
			h.text(v.Key, v.Text)
		}
	}
	h.number(len(m.Schemas))
	for _, s := range m.Schemas {
		h.labels(s.Labels)
		h.text(s.Name, s.Text)
	}
	return h.sum()
}
