package operate

import (
	"context"
	"fmt"

	"github.com/fairlead-io/fairlead/internal/cli/display"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/actions"
)

// newer asks once which commit an environment has, if that comes after the one that is
// waited for; "" if it does not.
type newer func(ctx context.Context) string

// unlessOvertaken ends the waiting for a commit when the environment has one that comes
// after it: no step goes back. What the commit has come to is asked once more then, for
// it may have arrived before the other one took its place.
func unlessOvertaken(environment string, ask look, has newer) look {
	return func(ctx context.Context) (state, reason string, err error) {
		if state, reason, err = ask(ctx); err != nil || state != isWaiting {
			return state, reason, err
		}
		other := has(ctx)
		if other == "" {
			return state, reason, nil
		}
		if state, reason, err = ask(ctx); err != nil || state != isWaiting {
			return state, reason, err
		}
		return isSuperseded, fmt.Sprintf("%s has a newer commit, %s, which took its place", environment, promote.ShortID(other)), nil
	}
}

// newer looks at the record of the environment in Git. Who cannot read the control plane
// goes on without it: that is said once, and ends nothing.
func (w *wait) newer(environment, commit string) newer {
	var desk *actions.Desk
	said := ""
	return func(ctx context.Context) string {
		if said != "" && desk == nil {
			return ""
		}
		var other string
		var err error
		if desk == nil {
			desk, err = w.desk(ctx, git.Signature{})
		}
		if err == nil {
			other, err = desk.Newer(ctx, environment, commit)
		}
		if err != nil && err.Error() != said && ctx.Err() == nil {
			said = err.Error()
			fmt.Fprintf(w.Err, "it is not known whether a newer commit took its place: %s\n", display.Visible(said))
		}
		return other
	}
}
