package loop

import (
	"context"
	"crypto/sha256"
	"errors"
	"slices"

	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/repos"
)

// checkPulls compares our open pull requests with what was reported of them, and reports
// whether an environment's are others: to close one, or to open it again, moves no
// reference. A repository is asked for them, once, if this round has asked it for its
// references and a branch of ours is among them. An environment whose pull requests are
// others is published again.
func (l *Loop) checkPulls(ctx context.Context) (changed bool) {
	l.listedPulls = map[*repos.Remote][]forge.Pull{}
	for remote, environments := range l.proposingRemotes() {
		pulls, err := l.openPulls(ctx, remote)
		if err != nil {
			continue
		}
		l.listedPulls[remote] = append([]forge.Pull{}, pulls...)
		for _, e := range environments {
			if !isAsReported(&e.outcome, l.options.proposalBranch(e.name), pulls) {
				e.reported, changed = [sha256.Size]byte{}, true
			}
		}
	}
	return changed
}

// reusablePulls returns the open pull requests of a repository as this round has listed them, for an
// environment whose pull requests people merge; nil otherwise: before a merge of its own, Fairlead
// lists them once more.
func (l *Loop) reusablePulls(remote *repos.Remote, merge publish.Merge) []forge.Pull {
	if merge != "" && merge != publish.Manual {
		return nil
	}
	return l.listedPulls[remote]
}

// proposingRemotes returns the environments whose branch is in a repository that was asked in
// this round and has an API, by repository.
func (l *Loop) proposingRemotes() map[*repos.Remote][]*environment {
	all := map[*repos.Remote][]*environment{}
	if !l.options.Settings.Write {
		return all
	}
	for _, e := range l.environments {
		if e.outcome.output.Repo == "" {
			continue
		}
		remote := l.remotes.KnownRemote(l.remotes.ReadLocation(e.outcome.output.Repo))
		if remote == nil || remote.Mirror() == nil || !l.remotes.HasAnswered(remote) {
			continue
		}
		if _, err := remote.Mirror().Branch(l.options.proposalBranch(e.name)); err == nil {
			all[remote] = append(all[remote], e)
		}
	}
	return all
}

// openPulls returns our open pull requests of a repository. That they cannot be read is
// logged once, until it is for another reason: publishing reports it where it matters.
func (l *Loop) openPulls(ctx context.Context, remote *repos.Remote) ([]forge.Pull, error) {
	f, err := remote.Forge()
	if err != nil {
		return nil, err
	}
	if f.Name() == forge.PlainName { // there they are references, which were asked for
		return nil, errors.New("the forge has no API")
	}
	pulls, err := f.OpenPulls(ctx)
	text := ""
	if err != nil && ctx.Err() == nil {
		text = err.Error()
	}
	if text != "" && text != l.pullErrors[remote.URL()] {
		l.options.Logger.Warn("our pull requests could not be read", "repo", remote.URL(), "error", err)
	}
	l.pullErrors[remote.URL()] = text
	return pulls, err
}

func isAsReported(o *outcome, head string, open []forge.Pull) bool {
	var ours []forge.Pull
	for _, p := range open {
		if p.Head == head {
			ours = append(ours, p)
		}
	}
	switch o.result.State {
	case publish.Proposed, publish.Edited:
		if o.result.Pull == nil {
			return len(ours) == 0
		}
		return len(ours) == 1 && ours[0].Number == o.result.Pull.Number && ours[0].Base == o.output.Branch
	case publish.Declined:
		return len(ours) == 0
	case "":
		ours = slices.DeleteFunc(ours, func(p forge.Pull) bool { return p.Base != o.output.Branch })
		return !o.isStopped() || (o.stale == nil) == (len(ours) == 0) && (o.stale == nil || ours[0].Number == o.stale.Number)
	}
	return true // nothing is proposed, or all is looked at again anyway
}
