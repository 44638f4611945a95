package loop

import (
	"context"
	"fmt"

	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/repos"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

// isPaused reports whether an environment that has failed is left alone for now. It is not if it has
// other commits than those that it failed with, for people may have mended it; nor if it is held or
// frozen and was not when it was published last, or the other way round, so that auto-merge is
// cancelled when a freeze begins, and merging goes on when it is over.
func (l *Loop) isPaused(ctx context.Context, e *environment) bool {
	if !l.roundTime.Before(e.retryAt) || e.withheld != fmt.Sprint(l.orders.Withheld[e.name]) {
		return false
	}
	heads := l.readHeads(ctx, e)
	return heads == "" || heads == e.failedHeads || e.rateLimited
}

// readHeads returns the heads of the base and of an environment's branch as this round has
// read them; "" if they cannot be read.
func (l *Loop) readHeads(ctx context.Context, e *environment) string {
	base, err := l.source.Base(ctx)
	if err != nil {
		return ""
	}
	branch, err := l.source.Branch(ctx, e.name)
	if err != nil {
		return ""
	}
	return fmt.Sprint(base.Head, " ", branch.Head)
}

// recheckWithheld asks the control plane once more before a merge of ours: a hold or a
// freeze that is in it already counts.
func (l *Loop) recheckWithheld(ctx context.Context, e *environment) ([]publish.Withholding, error) {
	moved, err := l.hasMoved(ctx, e, nil)
	if err != nil {
		return nil, fmt.Errorf("ask the control plane before a merge: %w", err)
	}
	if !moved {
		return l.orders.Withheld[e.name], nil
	}
	fresh, err := source.Open(ctx, l.sourceOptions())
	if err != nil {
		return nil, err
	}
	return l.promoter.FindWithholdings(ctx, fresh, e.name)
}

// hasMoved asks the repositories of the base, of an environment's branch, and of inputs whether one
// has moved since this round has read it. The next round then reads what this one did not.
func (l *Loop) hasMoved(ctx context.Context, e *environment, inputs []source.Commit) (moved bool, err error) {
	branch, err := l.source.Branch(ctx, e.name)
	if err != nil {
		return false, err
	}
	base, err := l.source.Base(ctx)
	if err != nil {
		return false, err
	}
	type place struct{ repo, branch, head string }
	controlPlane := l.options.Settings.ControlPlane
	places := []place{{controlPlane.Repo, controlPlane.Branch, base.Head}, {branch.URL, branch.Name, branch.Head}}
	for _, in := range inputs {
		if in.Optional { // that it cannot be reached stops nothing
			continue
		}
		places = append(places, place{repo: in.Repo})
		moved = moved || in.Layer == e.name && branch.Head != in.Commit // it was fetched since this was rendered
	}
	asked := map[*repos.Remote]bool{}
	for _, at := range places {
		remote := l.remotes.RemoteOf(at.repo)
		if at.repo == "" || remote == nil || remote.Mirror() == nil {
			continue
		}
		if !asked[remote] {
			asked[remote] = true
			news, err := remote.Sync(ctx)
			if err != nil {
				return false, fmt.Errorf("%s: %w", giturl.Redact(at.repo), err)
			}
			if news { // of which the next round would not be told
				e.unread.Store(true)
			}
			moved = moved || news && at.branch == ""
		}
		if at.branch != "" {
			head, err := remote.Mirror().Branch(at.branch)
			moved = moved || err != nil || head != at.head
		}
	}
	if moved {
		e.unread.Store(true)
	}
	return moved, nil
}

func (l *Loop) commitsSince(in source.Commit, before string) publish.Commits {
	remote := l.remotes.KnownRemote(l.remotes.ReadLocation(in.Repo))
	if remote == nil || remote.Mirror() == nil {
		return publish.Commits{}
	}
	return publish.ReadCommits(remote.Mirror(), before, in.Commit)
}
