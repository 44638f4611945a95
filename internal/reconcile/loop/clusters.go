package loop

import (
	"fmt"
	"path"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/provision"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/render/clusterfiles"
)

// followClusters returns the output with what of the previous one must outlive the change of clusters,
// and problems with those that it finds.
func (l *Loop) followClusters(e *environment, r source.Rendered, output, previous tree.Tree, problems problem.List) (tree.Tree, problem.List) {
	followed, carriers, more := clusterfiles.FollowPrevious(r.Model, output, clusterfiles.Previous{
		Tree: previous, Restore: e.deleted.restoreLock, IsCarriedOut: func(c clusterfiles.Carrier) bool { return l.isCarriedOut(e, c) },
	})
	e.deleted.carriers = carriers
	return followed, append(problems, more...)
}

// readClusters returns the clusters that the output branch had when it was looked at last.
func (e *environment) readClusters() ([]provision.State, error) {
	if e.deleted.mirror == nil || e.deleted.head == "" {
		return nil, nil
	}
	return git.InspectTree(e.deleted.mirror, e.deleted.head, func(t tree.Tree) ([]provision.State, error) {
		return clusterfiles.ReadStates(t.Sub(e.deleted.folder)), nil
	})
}

// isCarriedOut reports whether the management cluster has reported what carries a manifest out as ready,
// at commits that have its folders as the head of the output branch has them.
func (l *Loop) isCarriedOut(e *environment, c clusterfiles.Carrier) bool {
	for i, name := range c.Kustomizations {
		if !l.findReady(e, e.deleted.findCommits(c.Folders[i]))["Kustomization/"+c.Namespace+"/"+name] {
			return false
		}
	}
	return true
}

// maxLockCommits bounds how far back a lock is looked for that nobody edited.
const maxLockCommits = 1_000

// restoreLock returns the state of a lock in the newest commit of the output branch in which nobody had
// edited it, and that commit; "" if there is none.
func (d *deletedStacks) restoreLock(file string) (state provision.State, commit string) {
	if d.err != nil || d.head == "" {
		return provision.State{}, ""
	}
	_, err := d.mirror.FirstParents(d.head, maxLockCommits, func(c string) bool {
		entry, there, err := d.mirror.FindEntry(c, path.Join(d.folder, file))
		if err != nil {
			d.err = fmt.Errorf("read %s of commit %.7s: %w", file, c, err)
			return true
		}
		if !there {
			return false
		}
		found, err := provision.ParseLock(entry.Data)
		if err != nil { // in this commit it was edited too
			return false
		}
		state, commit = found, c
		return true
	})
	if err != nil && d.err == nil {
		d.err = fmt.Errorf("read the history of %s: %w", file, err)
	}
	return state, commit
}
