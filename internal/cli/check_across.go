package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/server/display"
)

// checkAcross returns what the environments that are checked have and others have too, by their names. A
// single one is compared with all others, as they are at the heads of their branches.
func (k *checkCommand) checkAcross(ctx context.Context, checked []*model.Model) (map[string]problem.List, error) {
	others, err := k.loadOthers(ctx, checked)
	if err != nil {
		return nil, err
	}
	models := slices.Concat(others, checked)
	if k.input.options.EnvironmentRevision == "" { // or else the change is at fault
		names, _, err := k.input.listEnvironments(ctx)
		if err != nil && len(others) > 0 {
			return nil, err
		}
		slices.SortStableFunc(models, func(a, b *model.Model) int {
			return slices.Index(names, a.Environment) - slices.Index(names, b.Environment)
		})
	}
	all := list.Convert(models, func(m *model.Model) source.Claimant { return source.NewClaimant(m.Environment, m) })
	found := source.CheckClaims(all, nil)
	if len(found) > 0 {
		found = source.CheckClaims(all, k.readOutputs(ctx, models))
	}
	return found, nil
}

// loadOthers returns the environments that are not checked and can be read, if what is checked may have
// something that they have too.
func (k *checkCommand) loadOthers(ctx context.Context, checked []*model.Model) ([]*model.Model, error) {
	mayShare := func(m *model.Model) bool { return len(m.Clusters.Manifests)+len(m.Stacks.List) > 0 }
	if k.input.environment == "" || k.input.isPlain() || k.input.options.EnvironmentDir != "" || !slices.ContainsFunc(checked, mayShare) {
		return nil, nil
	}
	names, _, err := k.input.listEnvironments(ctx) // problems with them are those of a check of all
	if err != nil {
		return nil, err
	}
	var others []*model.Model
	for _, name := range names {
		if name == k.input.environment {
			continue
		}
		m, problems, err := k.headModel(ctx, name)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil: // the clone of a CI job need not have it
			fmt.Fprintf(k.app.stderr, "fairlead: note: %s is not compared with environment %s: %s\n", k.input.environment, name, display.SanitizeLine(err.Error()))
		case m == nil:
			fmt.Fprintf(k.app.stderr, "fairlead: note: %s is not compared with environment %s, which has %s\n", k.input.environment, name, display.CountProblems(problems.Count()))
		default:
			others = append(others, m)
		}
	}
	return others, nil
}

// readOutputs returns what the outputs of environments have. One that cannot be read has nothing, with a note.
func (k *checkCommand) readOutputs(ctx context.Context, models []*model.Model) map[string]source.OutputClaims {
	lists := clusterListCommand{commandContext: newCommandContext(k.app), input: k.input}
	all := map[string]source.OutputClaims{}
	for _, m := range models {
		claims, err := lists.readClaims(ctx, m)
		if err != nil {
			fmt.Fprintf(k.app.stderr, "fairlead: note: what the output of %s has is not known: %s\n", m.Environment, display.SanitizeLine(err.Error()))
		}
		all[m.Environment] = claims
	}
	return all
}

// readClaims returns what the output branch of a model has that no other environment can have.
func (c *clusterListCommand) readClaims(ctx context.Context, m *model.Model) (claims source.OutputClaims, err error) {
	out, err := c.openOutput(ctx, m)
	if err != nil || out == nil || out.head == "" {
		return claims, err
	}
	manifests, err := c.readManifests(out, m)
	if err != nil {
		return claims, err
	}
	for _, is := range manifests {
		claims.AddManifest(is.State)
	}
	claims.Stacks, err = out.summarizeStacks()
	return claims, err
}
