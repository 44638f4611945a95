package cycle

import (
	"context"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/ephemeral"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/publish"
	"github.com/fairlead-io/fairlead/internal/remotes"
	"github.com/fairlead-io/fairlead/internal/source"
	"github.com/fairlead-io/fairlead/internal/status"
	"github.com/fairlead-io/fairlead/internal/tree"
)

// search finds what earlier processes have left: environments that left the control plane
// when none of them ran, as is always so between two runs of a single cycle; and outputs
// in folders where an environment does not write any more. Only repositories are looked at
// that other environments have their output in.
func (l *Loop) search(ctx context.Context) error {
	there, problems, err := l.source.Environments(ctx)
	if err != nil || problems.Stops() { // what cannot be read is not gone
		return err
	}
	temporary, _, err := l.source.Ephemerals(ctx)
	if err != nil {
		return err
	}
	stays := map[string]bool{}
	for _, e := range there {
		stays[e.Name] = true
	}
	for _, e := range temporary {
		stays[e.Name] = true
	}
	found := []leaving{}
	looked := map[*remotes.Remote]bool{}
	for _, name := range slices.Sorted(maps.Keys(l.environments)) {
		e := l.environments[name]
		out := l.remotes.Known(l.place(e.report.Output.Repo))
		if e.report.Output.Repo == "" || out == nil || out.Mirror() == nil {
			continue
		}
		if err := l.warnOfFolders(out.Mirror(), e.name, e.report.Output); err != nil {
			return err
		}
		if looked[out] {
			continue
		}
		looked[out] = true
		some, err := l.orphans(out.Mirror(), e.report.Output.Repo, stays)
		if err != nil {
			return err
		}
		found = append(found, some...)
	}
	l.gone = append(found, l.gone...)
	return nil
}

// orphans gives the environments that there are not any more, and for which there is a
// branch of ours in a repository.
func (l *Loop) orphans(repo *git.Repository, url string, stays map[string]bool) ([]leaving, error) {
	branches, err := repo.Refs("refs/heads/")
	if err != nil {
		return nil, err
	}
	var all []leaving
	for _, ref := range slices.Sorted(maps.Keys(branches)) {
		head := branches[ref]
		name, ours := strings.CutPrefix(ref, "refs/heads/"+l.Settings.Output.BranchPrefix)
		if !ours || !source.IsLabel(name) || stays[name] {
			continue
		}
		info, err := repo.Commit(head)
		if err != nil {
			return nil, err
		}
		if fits, err := ephemeral.Belongs(repo, head, name); err != nil || !fits || !l.isOfBase(info) || len(info.Parents) == 0 {
			if err != nil {
				return nil, err
			}
			continue
		}
		for _, base := range slices.Sorted(maps.Keys(branches)) { // the one that it was proposed for has what it was made on
			if strings.HasPrefix(base, "refs/heads/"+l.Settings.Output.BranchPrefix) {
				continue
			}
			if has, err := repo.Contains(branches[base], info.Parents[0]); err != nil {
				return nil, err
			} else if has {
				all = append(all, leaving{name: name, output: status.Output{Repo: url, Branch: strings.TrimPrefix(base, "refs/heads/"), Commit: head}})
			}
		}
	}
	return all, nil
}

// isOfBase reports whether an output was made from a commit of our control plane: another
// one may have its outputs in the same repository.
func (l *Loop) isOfBase(c git.Info) bool {
	remote := l.remotes.ControlPlane()
	from := publish.Trailers(c.Message)["Fairlead-Base"]
	if remote == nil || remote.Mirror() == nil || len(from) != 1 || !source.IsCommit(from[0]) {
		return false
	}
	_, err := remote.Mirror().Commit(from[0])
	return err == nil
}

const (
	// maxDepth and maxFolders bound where an output is looked for that was written to
	// another folder once.
	maxDepth   = 4
	maxFolders = 2000
)

// warnOfFolders says in which other folders of its branch an environment has an output:
// its place was changed, and nobody updates what is there, nor removes it, for clusters
// may still read it.
func (l *Loop) warnOfFolders(repo *git.Repository, environment string, o status.Output) error {
	head, err := repo.Branch(o.Branch)
	if err != nil { // it is not there yet
		return nil
	}
	view, err := repo.View(head)
	if err != nil {
		return err
	}
	left := maxFolders
	var look func(at tree.Tree, folder string, depth int)
	look = func(at tree.Tree, folder string, depth int) {
		e, ok := at.Lookup(publish.RecordFile)
		written, err := publish.ReadRecord(e.Data)
		own := err == nil && slices.ContainsFunc(written.Environments, func(w publish.Written) bool { return w.Environment == environment })
		if ok && own && folder != o.Folder {
			l.Logger.Warn("an output is still in a folder where its environment does not write any more; remove it when no cluster reads it",
				"environment", environment, "branch", o.Branch, "folder", folder, "now", o.Folder)
		}
		for _, sub := range at.Entries() {
			if left--; !sub.IsDir() || depth == 0 || left < 0 || ok && folder != "" { // what is below a record is rendered
				continue
			}
			look(at.Sub(sub.Name), path.Join(folder, sub.Name), depth-1)
		}
	}
	look(view.Tree, "", maxDepth)
	return view.Err()
}
