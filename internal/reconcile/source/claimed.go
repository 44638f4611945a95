package source

import (
	"context"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/clusters"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/stack"
)

// FindClaimed returns what an environment has of machines, DNS names and stacks and one of the others has
// too, as far as that is not so of before; nil for an environment that had nothing. The others are read as
// the change leaves them: with its base, or as they are.
func (s *Source) FindClaimed(ctx context.Context, before, m *model.Model, others []string, base string) (problem.List, error) {
	if before == nil {
		before = &model.Model{Environment: m.Environment}
	}
	if len(m.Clusters.Manifests) == 0 && !stack.NewClaims(m).Adds(stack.NewClaims(before)) {
		return nil, nil
	}
	var models []*model.Model
	var problems problem.List
	for _, name := range others {
		if name == m.Environment {
			continue
		}
		other, _, err := s.LoadModel(ctx, name, Revisions{Base: base}) // what is wrong with it is reported elsewhere
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			problems.Warnf(problem.Pos{Layer: m.Environment}, "Environment/"+m.Environment, "", "whether environment %s has the same machines, DNS names and stacks is not known: %v", name, err)
		}
		if err == nil && other != nil {
			models = append(models, other)
		}
	}
	found := func(m *model.Model) problem.List {
		all := append(slices.Clip(models), m)
		return append(clusters.CheckEnvironments(all, nil)[m.Environment], stack.CheckEnvironments(all)[m.Environment]...)
	}
	return append(problems, withoutEarlier(found(m), found(before))...), nil
}

// withoutEarlier returns the problems that are not among earlier ones; lines may have moved.
func withoutEarlier(all, earlier problem.List) problem.List {
	return slices.DeleteFunc(slices.Clone(all), func(p problem.Problem) bool {
		return slices.ContainsFunc(earlier, func(e problem.Problem) bool { return e.Subject == p.Subject && e.Summary == p.Summary })
	})
}
