package loop

import (
	"context"

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
	subject := func(commit string) string {
		if base.Repo == nil {
			return ""
		}
		info, err := base.Repo.Commit(commit)
		if err != nil { // the base may have lost it
			return ""
		}
		return info.Subject()
	}
	var all []history.Entry
	known := map[string]bool{} // environments may share a branch
	for _, b := range branches {
		entries, err := history.Read(b, maxHistory, subject)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if !known[e.Commit] {
				known[e.Commit] = true
				all = append(all, e)
			}
		}
	}
	history.Sort(all)
	return all, nil
}
