package loop

import (
	"context"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/reconcile/repos"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

// Wrap has the loop use another forge for a repository that it knows.
func (l *Loop) Wrap(place string, wrap func(forge.Forge) forge.Forge) error {
	return l.remotes.KnownRemote(place).WrapForge(wrap)
}

// CycleOf runs a cycle that asks some repositories only, as one that somebody has
// begun does.
func (l *Loop) CycleOf(ctx context.Context, repositories []string) error {
	return l.runCycle(ctx, repos.Only(repositories...))
}

// VerifyLie compares an environment whose memory gave another tree than it should.
func (l *Loop) VerifyLie(environment string) error {
	e := l.environments[environment]
	rendered, err := l.source.Render(context.Background(), environment, source.Revisions{}, e.cache)
	if err != nil {
		return err
	}
	rendered.Tree = tree.FromEntries([]tree.Entry{tree.File("lie.yaml", nil)})
	e.attempt.rendered = rendered
	return l.verifyRendering(context.Background(), e)
}

// Settings returns the settings that the loop works with.
func (l *Loop) Settings() *config.Settings { return l.options.Settings }

// OnWrite replaces the check before each write, which it gets.
func (l *Loop) OnWrite(wrap func(check func(context.Context) error) func(context.Context) error) {
	l.beforeWrite = wrap(l.beforeWrite)
}
