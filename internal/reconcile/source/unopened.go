package source

import (
	"context"
	"errors"

	"github.com/fairlead-io/fairlead/internal/base/panics"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/git"
)

// isUnreachable reports whether an error of opening a repository is of the way to it, and may be over
// when it is tried again.
func isUnreachable(ctx context.Context, err error) bool {
	_, _, mistake := describeMistake("", err)
	return !mistake && ctx.Err() == nil && !panics.Is(err)
}

// describeMistake returns what is wrong with the location of a repository that was not opened, and how
// to mend it; false if it is not the location. shown is the location for people.
func describeMistake(shown string, err error) (sentence, hint string, mistake bool) {
	switch {
	case errors.Is(err, git.ErrNotFound):
		return "there is no repository at " + shown, "check the URL, and that it may be read; --map reads it elsewhere", true
	case errors.Is(err, git.ErrAccess):
		return "the repository at " + shown + " may not be read", "check the URL and the credentials for it; --map reads it elsewhere", true
	case errors.Is(err, errFolder):
		return "the folder " + shown + " is not beside the control plane", "a control plane in a folder can name repositories in the folders beside it; --map reads others", true
	case errors.Is(err, errLocal):
		return shown + " is not a URL", "a control plane on a server cannot name files of this machine; --map allows it", true
	}
	return "", "", false
}

// adviseUnreachable is what to do about a repository that cannot be reached.
const adviseUnreachable = "check the URL, and that this machine can reach the host; --map reads it elsewhere"

func (r *repositories) describeLocation(repo string, err error) string {
	if errors.Is(err, errLocal) {
		return repo
	}
	return r.displayName(repo)
}

func (r *reading) reportUnopened(ctx context.Context, repo string, by *model.Object, err error) error {
	shown := r.source.repositories.describeLocation(repo, err)
	sentence, hint, mistake := describeMistake(shown, err)
	switch {
	case mistake:
		r.problems.Addf(by.Pos, by.Subject(), hint, "%s", sentence)
	case r.source.options.ReportUnreachable && ctx.Err() == nil:
		r.problems.Addf(by.Pos, by.Subject(), adviseUnreachable, "%v", err)
	case isUnreachable(ctx, err):
		r.failures = append(r.failures, err)
		// Why, and when it is asked again, is in the error: that changes from time to time.
		r.unreachable.Addf(by.Pos, by.Subject(), "check the URL, and that this machine can reach the host; it is asked again", "the repository at %s cannot be reached", shown)
	default:
		return err
	}
	return nil
}
