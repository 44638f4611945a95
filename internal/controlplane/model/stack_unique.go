package model

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
)

// unique returns the stacks with sorted lists, and reports objects of one kind and name. What teams write
// stops their stacks, and no others: all of it is kept, so that none of these count as deleted.
func (s *Stacks) unique(problems *problem.List) Stacks {
	var teams problem.List
	kept := Stacks{
		List:       sortByName(s.List, problems, func(s *Stack) *Object { return &s.Object }, (*Stack).stops),
		Teams:      sortByName(s.Teams, &teams, func(t *Team) *Object { return &t.Object }, func(t *Team) string { return t.unread().Name() }),
		Companies:  uniqueByName(s.Companies, problems, func(c *Company) *Object { return &c.Object }),
		Settings:   uniqueByName(s.Settings, problems, func(s *StackSettings) *Object { return &s.Object }),
		Approvals:  sortByName(s.Approvals, problems, func(a *PlanApproval) *Object { return &a.Object }, func(a *PlanApproval) string { return stackNamed(a.Stack, a.Pos) }),
		Requests:   sortByName(s.Requests, problems, func(r *PlanRequest) *Object { return &r.Object }, func(r *PlanRequest) string { return stackNamed(r.Stack, r.Pos) }),
		Unread:     slices.Clone(s.Unread),
		Blueprints: s.Blueprints,
	}
	*problems = append(*problems, teams...)
	for _, t := range kept.Teams {
		if teams.StopsStack(t.unread().Name()) {
			kept.Unread = append(kept.Unread, t.unread())
		}
	}
	slices.SortFunc(kept.Unread, func(a, b UnreadStacks) int { return cmp.Or(a.Pos.Compare(b.Pos), cmp.Compare(a.Name(), b.Name())) })
	return kept
}

// sortByName sorts objects of one kind by name and position, and reports those with the same name: each stops
// what it is of.
func sortByName[T any](objects []*T, problems *problem.List, object func(*T) *Object, stops func(*T) string) []*T {
	sorted := slices.Clone(objects)
	slices.SortStableFunc(sorted, func(a, b *T) int {
		return cmp.Or(cmp.Compare(object(a).Name, object(b).Name), object(a).Pos.Compare(object(b).Pos))
	})
	for i := 1; i < len(sorted); i++ {
		first, second := object(sorted[i-1]), object(sorted[i])
		if first.Name != second.Name || first.Name == "" { // that was reported
			continue
		}
		add := func(o *T, other *Object) {
			var found problem.List
			found.Addf(object(o).Pos, object(o).Subject(), "remove one of them, or give it another name", "there is another %s of this name at %s", other.Kind, other.Pos)
			*problems = append(*problems, found.StoppingStack(stops(o))...)
		}
		add(sorted[i], first)
		if stops(sorted[i-1]) != stops(sorted[i]) {
			add(sorted[i-1], second)
		}
	}
	return sorted
}

func (s *Stack) stops() string {
	if s.TeamName.Text == "" || s.EnvName.Text == "" {
		return s.unread().Name()
	}
	return s.Path()
}

// unread returns the stack as one of which it is not known which it is. In the repository of a team it is one
// of that.
func (s *Stack) unread() UnreadStacks {
	team, ofTeam := strings.CutPrefix(s.Pos.Layer, TeamLayerPrefix)
	if !ofTeam {
		team = s.TeamName.Text
	}
	return UnreadStacks{Pos: s.Pos, Team: team}
}

func (t *Team) unread() UnreadStacks {
	return UnreadStacks{Pos: t.Pos, Team: t.TeamName.Text, OfTeam: true}
}

// stackNamed returns the stack that an approval or a request at a position names; if it names none, what no
// stack is called.
func stackNamed(name string, at problem.Pos) string {
	if strings.Count(name, "/") == 1 && tree.CheckPath(name) == nil && !strings.HasSuffix(name, problem.AllStacks) {
		return name
	}
	return UnreadStacks{Pos: at}.Name()
}

// stopOnly has problems of an approval or a request stop the stack that it names, and reports whether there
// are any: it does not count then. What names the clusters of a manifest stops the environment.
func stopOnly(found problem.List, name string, at problem.Pos) (problem.List, bool) {
	if !found.Stops() || strings.HasPrefix(name, ClustersPrefix) {
		return found, false
	}
	return found.StoppingStack(stackNamed(name, at)), true
}

// ClustersPrefix begins how an approval names the clusters of a manifest, in the place of a stack.
const ClustersPrefix = "clusters/"

func listStopped(all problem.List) problem.List {
	return slices.DeleteFunc(slices.Clone(all), func(p problem.Problem) bool { return p.Warning || p.Stack == "" })
}
