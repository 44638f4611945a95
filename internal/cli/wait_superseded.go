package cli

import (
	"context"
	"fmt"

	"github.com/fairlead-io/fairlead/internal/cli/display"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/actions"
)

// newerReader returns the commit that an environment has, if it is newer than the one that is
// waited for, and "" otherwise.
type newerReader func(ctx context.Context) string

// withSuperseded wraps ask so that a commit is superseded when the environment has a newer
// one, as promotions never go back. It asks once more then, for the commit may have arrived
// before the newer one did.
func withSuperseded(environment string, ask arrivalReader, has newerReader) arrivalReader {
	return func(ctx context.Context) (state, reason string, err error) {
		state, reason, err = ask(ctx)
		if err != nil || state != isWaiting {
			return state, reason, err
		}
		other := has(ctx)
		if other == "" {
			return state, reason, nil
		}
		state, reason, err = ask(ctx)
		if err != nil || state != isWaiting {
			return state, reason, err
		}
		return isSuperseded, fmt.Sprintf("%s has a newer commit, %s, which took its place", environment, promote.ShortID(other)), nil
	}
}

// newNewerReader returns a reader of the environment's record in Git. If the control plane cannot be
// read, it prints that once, and the wait continues without it.
func (w *waitCommand) newNewerReader(environment, commit string) newerReader {
	var desk *actions.Desk
	said := ""
	return func(ctx context.Context) string {
		if said != "" && desk == nil {
			return ""
		}
		var other string
		var err error
		if desk == nil {
			desk, err = w.context.openSession(ctx, git.Signature{})
		}
		if err == nil {
			other, err = desk.Newer(ctx, environment, commit)
		}
		if err != nil && err.Error() != said && ctx.Err() == nil {
			said = err.Error()
			fmt.Fprintf(w.context.app.stderr, "it is not known whether a newer commit took its place: %s\n", display.SanitizeLine(said))
		}
		return other
	}
}
