package loop

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/change/explain"
	"github.com/fairlead-io/fairlead/internal/change/impact"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/reconcile/history"
	"github.com/fairlead-io/fairlead/internal/reconcile/promoter"
	"github.com/fairlead-io/fairlead/internal/reconcile/repos"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

// maxHistory is how many commits of each branch are read for the history.
const maxHistory = 1000

// History returns what people and Fairlead did to environments, the newest first, as the control plane in
// Git has it. It waits as Explain does.
func (l *Loop) History(ctx context.Context) (history.Log, error) {
	endTurn, err := l.takeTurnWithForges(ctx)
	if err != nil {
		return history.Log{}, err
	}
	defer endTurn()
	var all history.Log
	err = l.barrier.Run("history", "", func() error {
		all, err = l.readHistory(ctx)
		return err
	})
	return all, err
}

func (l *Loop) readHistory(ctx context.Context) (history.Log, error) {
	if l.source == nil {
		return history.Log{}, ErrNotRead
	}
	base, err := l.source.Base(ctx)
	if err != nil {
		return history.Log{}, err
	}
	var branches []history.Branch
	if base.Repo != nil {
		branches = append(branches, history.Branch{Repo: base.Repo, URL: l.options.Settings.ControlPlane.Repo, Head: base.Head})
	}
	ownRepos := map[string]*git.Repository{} // by environment
	for _, e := range base.Environments {
		b, err := l.source.Branch(ctx, e.Name)
		if err != nil {
			return history.Log{}, err
		}
		ownRepos[e.Name] = b.Repo
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
	var all history.Log
	known := map[string]bool{} // environments may share a branch
	for _, b := range branches {
		entries, err := history.Read(b, maxHistory, func(commit string) string { return find(commit).Subject() })
		if err != nil {
			return all, err
		}
		for _, e := range entries {
			isNew := !known[e.Commit]
			known[e.Commit] = true
			if isNew && (e.Environment != "" || e.Action != history.ChangeAction) { // the commits of the base have a page of their own
				e.Authored = find(e.To).When
				all.Entries = append(all.Entries, e)
			}
		}
	}
	l.readPullActions(ctx, &all)
	for i, e := range all.Entries {
		repo := ownRepos[e.Environment]
		if e.Own.ID == "" || repo == nil {
			continue
		}
		if info, err := repo.Commit(e.Own.ID); err == nil { // the branch may have lost it
			all.Entries[i].Own = info
		}
	}
	history.Sort(all.Entries)
	all.Deployments = map[string][]history.Deployment{}
	for name := range l.environments {
		remote, to, err := l.findOutputOf(name)
		if err != nil { // it was not read
			continue
		}
		deployments, err := l.listDeployments(ctx, name, remote, to)
		if err != nil {
			return all, err
		}
		for i, d := range deployments {
			deployments[i].Authored = find(d.Commit).When
		}
		all.Deployments[name] = deployments
	}
	return all, nil
}

// readPullActions adds to the history what was done to the pull requests of the outputs. Each repository is asked
// once; one that does not answer is named.
func (l *Loop) readPullActions(ctx context.Context, all *history.Log) {
	names := slices.Sorted(maps.Keys(l.environments))
	for _, remote := range l.listOutputRemotes(names) {
		events, err := l.listPullEvents(ctx, remote.Remote)
		var entries []history.Entry
		if err == nil {
			entries, err = history.ListPullActions(remote.Mirror(), remote.url, events, names)
		}
		if err != nil {
			all.Unread = append(all.Unread, history.Unread{Repo: giturl.Redact(remote.url), Reason: text.MaskSecrets(text.OneLine(err.Error()))})
		}
		all.Entries = append(all.Entries, entries...)
	}
}

// maxPullCommits bounds the commits of the base that are listed with a pull request.
const maxPullCommits = 50

// ReadPull returns a pull request of an environment, and what it means or meant. It asks the forge, and waits
// as Explain does. For one that there is not, the error is an [*explain.QueryError].
func (l *Loop) ReadPull(ctx context.Context, environment string, number int) (read history.Pull, err error) {
	err = l.barrier.Run("read a pull request of", environment, func() error {
		pull, err := l.findPull(ctx, environment, number)
		if err != nil {
			return err
		}
		return l.inTurn(ctx, func() error {
			read, err = l.readPull(ctx, environment, pull)
			return err
		})
	})
	return read, err
}

// findPull asks the forge for a pull request of an environment. A cycle may begin while it does.
func (l *Loop) findPull(ctx context.Context, environment string, number int) (forge.Pull, error) {
	var remote *repos.Remote
	var to model.RepoRef
	err := l.inTurn(ctx, func() (err error) {
		remote, to, err = l.findOutputOf(environment)
		return err
	})
	if err != nil {
		return forge.Pull{}, err
	}
	f, err := remote.Forge()
	if err != nil {
		return forge.Pull{}, err
	}
	pulls, err := f.Pulls(ctx, l.options.proposalBranch(environment), to.Branch)
	if err != nil {
		return forge.Pull{}, err
	}
	i := slices.IndexFunc(pulls, func(p forge.Pull) bool { return p.Number == number })
	if i < 0 {
		return forge.Pull{}, &explain.QueryError{Summary: fmt.Sprintf("environment %q has no pull request %d", environment, number), Hint: "fairlead pr list --all lists those that there are"}
	}
	return pulls[i], nil
}

func (l *Loop) readPull(ctx context.Context, environment string, pull forge.Pull) (history.Pull, error) {
	remote, to, err := l.findOutputOf(environment)
	if err != nil {
		return history.Pull{}, err
	}
	var opt impact.Options
	if plan := l.environments[environment].cache.Plan(); plan != nil {
		opt.Workload = model.WorkloadOf(plan.Model())
	}
	read, err := history.ReadPull(remote.Mirror(), pull, to.Path, opt)
	if err != nil || read.Lost {
		return read, err
	}
	base, err := l.source.Base(ctx)
	if err != nil {
		return read, err
	}
	err = read.ReadCommits(base.Repo, maxPullCommits)
	for _, c := range read.Commits {
		unrendered, failed := promoter.IsActionCommit(base, c.ID)
		if failed != nil {
			return read, failed
		}
		if unrendered {
			read.Unrendered = append(read.Unrendered, c.ID)
		}
	}
	if err != nil {
		return read, err
	}
	branch, err := l.source.Branch(ctx, environment)
	if err != nil {
		return read, err
	}
	return read, read.ReadOwnCommits(branch.Repo, maxPullCommits, func(commit string) (bool, error) {
		return promoter.IsActionCommit(source.Base{Repo: branch.Repo}, commit, branch.Record)
	})
}
