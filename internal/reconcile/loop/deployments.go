package loop

import (
	"context"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/history"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/repos"
)

// deployedLine is what was read of the branch of an output. It may be lost.
type deployedLine struct {
	folder string
	bases  map[string]string // by the commits of the branch, the commit of the base; "" if they do not name it
}

// listDeployments returns the commits of the base whose output was merged for an environment, the oldest first, among
// the newest of its branch. When they were made is not in them.
func (l *Loop) listDeployments(ctx context.Context, environment string, remote *repos.Remote, output model.RepoRef) ([]history.Deployment, error) {
	repo, folder := remote.Mirror(), publish.CleanFolder(output.Path)
	head, err := repo.FindBranch(output.Branch)
	if err != nil || head == "" {
		return nil, err
	}
	line, err := repo.ListCommits(head, maxHistory)
	if err != nil {
		return nil, err
	}
	known := l.deployed[environment]
	if known.folder != folder {
		known.bases = nil
	}
	read := deployedLine{folder, make(map[string]string, len(line))}
	var all []history.Deployment
	merges, has, isCut := l.listMerges(ctx, remote, output.Branch), "", len(line) == maxHistory
	for _, c := range slices.Backward(line) {
		base, isKnown := known.bases[c.ID]
		if !isKnown {
			base, err = l.readBaseOf(repo, c.ID, folder, environment)
			if err != nil {
				return nil, err
			}
		}
		read.bases[c.ID] = base
		if base != "" && base != has {
			if has != "" || !isCut { // whether the oldest commit brought it is not known
				all = append(all, history.Deployment{Commit: base, Merged: mergedAt(c, merges)})
			}
			has = base
		}
	}
	l.deployed[environment] = read
	return all, nil
}

// readBaseOf returns the commit of the base that an output was rendered from; "" if its record does not name it.
func (l *Loop) readBaseOf(repo *git.Repository, commit, folder, environment string) (string, error) {
	return git.InspectTree(repo, commit, func(t tree.Tree) (string, error) {
		record, err := l.records.ReadIn(t.Sub(folder))
		if err != nil { // a person has edited it; publishing reports that
			return "", nil
		}
		i := slices.IndexFunc(record.Environments, func(w publish.Written) bool { return w.Environment == environment })
		if i < 0 {
			return "", nil
		}
		from, _ := record.Environments[i].Input(publish.BaseLayer)
		return from.Commit, nil
	})
}
