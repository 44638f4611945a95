package loop

import (
	"context"
	"fmt"

	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/render/output"
)

// verifyRendering renders an environment from nothing, once in a while, and compares: what is
// remembered must not change what comes out. If it does, the environment stops, and is
// rendered from nothing next time. An environment that a problem stops has nothing to compare: the
// problem may be of a repository that nothing is rendered from.
func (l *Loop) verifyRendering(ctx context.Context, e *environment) error {
	r := e.attempt.rendered
	if e.unreachable != nil || r.Problems.StopsEnvironment() || r.Tree.ID() == e.verified || !l.options.Settings.ShouldVerify(l.options.Random()) {
		return nil
	}
	fresh, err := source.Open(ctx, l.sourceOptions())
	if err != nil {
		return err
	}
	at := source.RecordedRevisions(r.Environment, r.Commits)
	at.Ending, at.Kept = l.ephemerals.ending[e.name], e.kept
	again, err := fresh.Render(ctx, e.name, at, nil)
	if err != nil {
		return err
	}
	same := again.Tree.ID() == r.Tree.ID()
	l.options.Metrics.RecordVerification(same)
	if same {
		e.verified = r.Tree.ID()
		return nil
	}
	e.cache = &output.Cache{}
	l.source.Forget()
	return fmt.Errorf("rendered from memory, the tree is %s, and rendered from nothing it is %s; please report this with the commits that it was made from", r.Tree.ID(), again.Tree.ID())
}
