package loop

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/change/explain"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/history"
)

// openKnown returns a repository as it was last read: the past asks no server.
func (l *Loop) openKnown(_ context.Context, place string) (*git.Repository, error) {
	remote := l.remotes.KnownRemote(place)
	if remote == nil || remote.Mirror() == nil {
		return nil, fmt.Errorf("%w: it is not read now", git.ErrNotFound)
	}
	return remote.Mirror(), nil
}

// TimePast returns when a commit was made, of the base or of an environment's branch; or merged, of an output. It waits as
// Explain does.
func (l *Loop) TimePast(ctx context.Context, at history.Moment) (when time.Time, err error) {
	endTurn, err := l.takeTurnWithForges(ctx)
	if err != nil {
		return when, err
	}
	defer endTurn()
	err = l.barrier.Run("find a commit", at.Commit, func() error {
		if l.source == nil {
			return ErrNotRead
		}
		when, err = l.findTime(ctx, at.Commit)
		return err
	})
	return when, err
}

func (l *Loop) findTime(ctx context.Context, prefix string) (time.Time, error) {
	base, err := l.source.Base(ctx)
	if err != nil {
		return time.Time{}, err
	}
	repos := []*git.Repository{base.Repo}
	for _, e := range base.Environments {
		branch, err := l.source.Branch(ctx, e.Name)
		if err != nil {
			return time.Time{}, err
		}
		repos = append(repos, branch.Repo)
		remote, to, err := l.findOutputOf(e.Name)
		if err != nil { // it has no output that was read
			continue
		}
		if c, isThere := findCommit(remote.Mirror(), prefix); isThere {
			if merged := l.listMerges(ctx, remote, to.Branch)[c.ID]; merged.After(c.When) {
				return merged, nil
			}
			return c.When, nil
		}
	}
	for _, repo := range repos {
		if c, isThere := findCommit(repo, prefix); isThere {
			return c.When, nil
		}
	}
	return time.Time{}, &explain.QueryError{Summary: "no commit of the base, of an environment or of an output is " + prefix, Hint: "fairlead history ENVIRONMENT lists the commits that it had, and when"}
}

func findCommit(repo *git.Repository, prefix string) (git.CommitInfo, bool) {
	if repo == nil {
		return git.CommitInfo{}, false
	}
	id, err := repo.Resolve(prefix)
	if err != nil || !strings.HasPrefix(id, prefix) { // a branch may be called so
		return git.CommitInfo{}, false
	}
	c, err := repo.Commit(id)
	return c, err == nil
}
