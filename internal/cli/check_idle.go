package cli

import (
	"context"
	"fmt"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/cli/display"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/render/output"
)

// withIdleSince returns the problems of an environment at the revisions that the flags
// name, in which a policy is a problem that selects nothing, and selects something at the
// heads of the branches that these are to be merged into. Without such revisions there is nothing to compare with.
func (k *checkCommand) withIdleSince(ctx context.Context, name string, e source.Rendered) (problem.List, error) {
	of := k.input.options
	if of.Base == "" && of.EnvironmentRevision == "" || of.EnvironmentDir != "" || of.BaseDir != "" || e.Problems.Stops() {
		return e.Problems, nil
	}
	before, problems, err := k.headModel(ctx, name)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil: // the clone of a CI job need not have it
		fmt.Fprintf(k.app.stderr, "fairlead: note: the policies of %s are not compared with the branch's head: %s\n", name, display.SanitizeLine(err.Error()))
	case before == nil:
		fmt.Fprintf(k.app.stderr, "fairlead: note: the policies of %s are not compared with the branch's head, which has %s\n", name, display.CountProblems(problems.Count()))
	}
	return output.WithIdleSince(before, e.Model, e.Problems), nil
}

// headModel reads an environment as it is without the revisions that the flags name, of the
// head of the base where they name one of the base; the model is nil if problems stop it.
func (k *checkCommand) headModel(ctx context.Context, name string) (*model.Model, problem.List, error) {
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
	return k.headSource.Model(ctx, name, at)
}
