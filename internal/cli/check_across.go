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

// acrossCheck compares environments with all others.
type acrossCheck struct {
	app   *app
	input *input
	// byOrder says that the one that comes first in the order of promotion has what no output has. Otherwise
	// one that a flag names a revision of is at fault.
	byOrder bool
	outputs map[string]source.OutputClaims // by environment, as far as they were read

	headSource *source.Source          // without the revisions of the flags; nil until it is used
	heads      map[string]*model.Model // that were read; nil of one that problems stop
}

// check returns what the environments that are checked have and others have too, by their names. They are
// compared with all others, as these are at the heads of their branches.
func (k *acrossCheck) check(ctx context.Context, checked ...*model.Model) (map[string]problem.List, error) {
	others, err := k.loadOthers(ctx, checked)
	if err != nil {
		return nil, err
	}
	models := slices.Concat(others, checked)
	if k.byOrder || k.input.options.EnvironmentRevision == "" { // or else the change is at fault
		names, _, err := k.input.listEnvironments(ctx)
		if err != nil && len(others) > 0 {
			return nil, err
		}
		slices.SortStableFunc(models, func(a, b *model.Model) int {
			return slices.Index(names, a.Environment) - slices.Index(names, b.Environment)
		})
	}
	all := list.Convert(models, func(m *model.Model) source.Claimant { return source.NewClaimant(m.Environment, m) })
	found := source.CheckClaims(all, k.outputs)
	if len(found) > 0 {
		k.readOutputs(ctx, models)
		found = source.CheckClaims(all, k.outputs)
	}
	return found, nil
}

// stop returns an environment with what others have too, which stops it or its stacks.
func (k *acrossCheck) stop(ctx context.Context, r source.Rendered) (source.Rendered, error) {
	if r.Model == nil || r.Problems.StopsEnvironment() {
		return r, nil
	}
	found, err := k.check(ctx, r.Model)
	if err != nil {
		return r, err
	}
	return r.StopStacks(found[r.Environment])
}

// keepStates returns an environment as it is rendered where two of its stacks have one state: the one goes on whose state
// the output names, as far as that can be read.
func (k *acrossCheck) keepStates(ctx context.Context, r source.Rendered) (source.Rendered, error) {
	if r.Model == nil || k.input.isPlain() || k.input.options.EnvironmentDir != "" || !source.NewClaimant(r.Environment, r.Model).SharesState() {
		return r, nil
	}
	k.readOutputs(ctx, []*model.Model{r.Model})
	kept := source.NamedStates(k.outputs[r.Environment].Stacks)
	if len(kept) == 0 {
		return r, nil
	}
	return k.input.renderEnvironment(ctx, r.Environment, source.Revisions{Kept: kept}, nil)
}

// loadOthers returns the environments that are not checked and can be read, if what is checked may have
// something that they have too.
func (k *acrossCheck) loadOthers(ctx context.Context, checked []*model.Model) ([]*model.Model, error) {
	mayShare := func(m *model.Model) bool { return len(m.Clusters.Manifests)+len(m.Stacks.List) > 0 }
	if k.input.isPlain() || k.input.options.EnvironmentDir != "" || !slices.ContainsFunc(checked, mayShare) {
		return nil, nil
	}
	names, _, err := k.input.listEnvironments(ctx) // problems with them are those of a check of all
	if err != nil {
		return nil, err
	}
	var others []*model.Model
	for _, name := range names {
		if slices.ContainsFunc(checked, func(m *model.Model) bool { return m.Environment == name }) {
			continue
		}
		m, read := k.heads[name]
		if !read {
			m, err = k.loadHead(ctx, name, checked[0].Environment)
			if err != nil {
				return nil, err
			}
		}
		if m != nil {
			others = append(others, m)
		}
	}
	return others, nil
}

// loadHead returns an environment that another one is compared with; nil, with a note, if it cannot be read.
func (k *acrossCheck) loadHead(ctx context.Context, name, compared string) (*model.Model, error) {
	m, problems, err := k.headModel(ctx, name)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil: // the clone of a CI job need not have it
		fmt.Fprintf(k.app.stderr, "fairlead: note: %s is not compared with environment %s: %s\n", compared, name, display.SanitizeLine(err.Error()))
	case m == nil:
		fmt.Fprintf(k.app.stderr, "fairlead: note: %s is not compared with environment %s, which has %s\n", compared, name, display.CountProblems(problems.Count()))
	}
	if k.heads == nil {
		k.heads = map[string]*model.Model{}
	}
	k.heads[name] = m
	return m, nil
}

// headModel reads an environment as it is without the revisions that the flags name, of the
// head of the base where they name one of the base; the model is nil if problems stop it.
func (k *acrossCheck) headModel(ctx context.Context, name string) (*model.Model, problem.List, error) {
	if k.headSource == nil {
		options := k.input.options
		options.Base, options.EnvironmentRevision = "", ""
		var err error
		k.headSource, err = source.Open(ctx, options)
		if err != nil {
			return nil, nil, err
		}
	}
	at := source.Revisions{}
	if k.input.options.Base != "" { // it is to follow the head of the base, whatever was promoted
		base, err := k.headSource.Base(ctx)
		if err != nil {
			return nil, nil, err
		}
		at.Base = base.Head
	}
	return k.headSource.LoadModel(ctx, name, at)
}

// readOutputs reads what the outputs of environments have, as far as that is not known. One that cannot be
// read has nothing, with a note.
func (k *acrossCheck) readOutputs(ctx context.Context, models []*model.Model) {
	lists := clusterListCommand{commandContext: newCommandContext(k.app), input: *k.input}
	if k.outputs == nil {
		k.outputs = map[string]source.OutputClaims{}
	}
	for _, m := range models {
		if _, known := k.outputs[m.Environment]; known {
			continue
		}
		claims, err := lists.readClaims(ctx, m)
		if err != nil {
			fmt.Fprintf(k.app.stderr, "fairlead: note: what the output of %s has is not known: %s\n", m.Environment, display.SanitizeLine(err.Error()))
		}
		k.outputs[m.Environment] = claims
	}
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
