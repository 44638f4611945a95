package preview

import (
	"context"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/clusters"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

// findClaimed returns what the clusters of an environment have and those of another one have too. The
// others are read as the change leaves them: with its base, or as they are.
func findClaimed(ctx context.Context, src *source.Source, m *model.Model, at source.Revisions) (problem.List, error) {
	if len(m.Clusters.Manifests) == 0 {
		return nil, nil
	}
	all, _, err := src.Environments(ctx) // what is wrong with them is reported elsewhere
	if err != nil {
		return nil, err
	}
	var models []*model.Model
	var problems problem.List
	for _, e := range all {
		if e.Name == m.Environment {
			continue
		}
		other, _, err := src.LoadModel(ctx, e.Name, source.Revisions{Base: at.Base})
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			problems.Warnf(problem.Pos{Layer: m.Environment}, "Environment/"+m.Environment, "", "whether environment %s has the same machines and DNS names is not known: %v", e.Name, err)
		}
		if err == nil && other != nil && len(other.Clusters.Manifests) > 0 {
			models = append(models, other)
		}
	}
	return append(problems, clusters.CheckEnvironments(append(models, m), nil)[m.Environment]...), nil
}

// withoutEarlier returns the problems that are not among earlier ones; lines may have moved.
func withoutEarlier(all, earlier problem.List) problem.List {
	return slices.DeleteFunc(slices.Clone(all), func(p problem.Problem) bool {
		return slices.ContainsFunc(earlier, func(e problem.Problem) bool { return e.Subject == p.Subject && e.Summary == p.Summary })
	})
}
