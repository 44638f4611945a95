package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/base/panics"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/render/output"
)

// reportPanics prints the stack of each panic to the standard error of a command.
func (in *input) reportPanics(c *cobra.Command) {
	in.options.Barrier.Report = func(work, of string, e *panics.Error) {
		fmt.Fprintf(c.ErrOrStderr(), "fairlead: panic %s: %s %s: %s\n%s", e.ID, work, of, e.Kind, e.Stack)
	}
}

// renderIsolated renders an environment. A panic becomes a problem of that environment and
// does not stop the others.
func (in *input) renderIsolated(ctx context.Context, env string, at source.Revisions, cache *output.Cache) (r source.Rendered, err error) {
	err = in.options.Barrier.Run("render", env, func() (err error) {
		r, err = in.source.Render(ctx, env, at, cache)
		return err
	})
	var e *panics.Error
	if !errors.As(err, &e) {
		return r, err
	}
	r = source.Rendered{Environment: env, Model: &model.Model{}}
	r.Problems.Addf(problem.Pos{}, "Environment/"+env, "report it with the stack that was printed", "it cannot be rendered: %v", e)
	return r, nil
}
