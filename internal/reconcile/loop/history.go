package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/fairlead-io/fairlead/internal/change/explain"
	"github.com/fairlead-io/fairlead/internal/change/impact"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/history"
)

// maxHistory is how many commits of each branch are read for the history.
const maxHistory = 1000

// History returns what people and Fairlead did to environments, the newest first, as the control plane in
// Git has it. It waits as Explain does.
func (l *Loop) History(ctx context.Context) ([]history.Entry, error) {
	endTurn, err := l.takeTurn(ctx)
	if err != nil {
		return nil, err
	}
	defer endTurn()
	var all []history.Entry
	err = l.barrier.Run("history", "", func() error {
		all, err = l.readHistory(ctx)
		return err
	})
	return all, err
}

func (l *Loop) readHistory(ctx context.Context) ([]history.Entry, error) {
	if l.source == nil {
		return nil, ErrNotRead
	}
	base, err := l.source.Base(ctx)
	if err != nil {
		return nil, err
	}
	var branches []history.Branch
	if base.Repo != nil {
		branches = append(branches, history.Branch{Repo: base.Repo, URL: l.options.Settings.ControlPlane.Repo, Head: base.Head})
	}
	for _, e := range base.Environments {
		b, err := l.source.Branch(ctx, e.Name)
		if err != nil {
			return nil, err
		}
		if b.Repo != nil && b.Head != base.Head {
			branches = append(branches, history.Branch{Environment: e.Name, Repo: b.Repo, URL: b.URL, Head: b.Head, CommitAt: b.CommitAt})
		}
	}
	find := func(commit string) git.CommitInfo {
		if base.Repo == nil || commit == "" {
			return git.CommitInfo{}
		}
		info, err := base.Repo.Commit(commit)
		if err != nil { // the base may have lost it
			return git.CommitInfo{}
		}
		return info
	}
	var all []history.Entry
	known := map[string]bool{} // environments may share a branch
	for _, b := range branches {
		entries, err := history.Read(b, maxHistory, func(commit string) string { return find(commit).Subject() })
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if !known[e.Commit] {
				known[e.Commit] = true
				e.Authored = find(e.To).When
				all = append(all, e)
			}
		}
	}
	history.Sort(all)
	return all, nil
}

// maxPullCommits bounds the commits of the base that are listed with a pull request.
const maxPullCommits = 50

// ReadPull returns a pull request of an environment, and what it means or meant. It asks the forge, and waits
// as Explain does. For one that there is not, the error is an [*explain.QueryError].
func (l *Loop) ReadPull(ctx context.Context, environment string, number int) (history.Pull, error) {
	endTurn, err := l.takeTurn(ctx)
	if err != nil {
		return history.Pull{}, err
	}
	defer endTurn()
	var read history.Pull
	err = l.barrier.Run("read a pull request of", environment, func() error {
		read, err = l.readPull(ctx, environment, number)
		return err
	})
	return read, err
}

func (l *Loop) readPull(ctx context.Context, environment string, number int) (history.Pull, error) {
	e := l.environments[environment]
	if l.source == nil || e == nil || e.outcome.output.Repo == "" {
		return history.Pull{}, ErrNotRead
	}
	to := e.outcome.output
	remote := l.remotes.KnownRemote(l.remotes.ReadLocation(to.Repo))
	if remote == nil || remote.Mirror() == nil {
		return history.Pull{}, ErrNotRead
	}
	f, err := remote.Forge()
	if err != nil {
		return history.Pull{}, err
	}
	pulls, err := f.Pulls(ctx, l.options.proposalBranch(environment), to.Branch)
	if err != nil {
		return history.Pull{}, err
	}
	i := slices.IndexFunc(pulls, func(p forge.Pull) bool { return p.Number == number })
	if i < 0 {
		return history.Pull{}, &explain.QueryError{Summary: fmt.Sprintf("environment %q has no pull request %d", environment, number), Hint: "fairlead pr list --all lists those that there are"}
	}
	var opt impact.Options
	if plan := e.cache.Plan(); plan != nil {
		opt.Workload = model.WorkloadOf(plan.Model())
	}
	read, err := history.ReadPull(remote.Mirror(), pulls[i], to.Path, opt)
	if errors.Is(err, git.ErrNoRevision) {
		return read, &explain.QueryError{Summary: fmt.Sprintf("the GitOps repository has the commit of pull request %d no longer", number), Hint: "its forge may show what it changed"}
	}
	if err != nil {
		return read, err
	}
	base, err := l.source.Base(ctx)
	if err != nil {
		return read, err
	}
	return read, read.ReadCommits(base.Repo, maxPullCommits)
}
