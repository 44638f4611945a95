package loop

import (
	"fmt"
	"path"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/provision"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/observe"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/render/clusterfiles"
)

// followClusters returns the output with what of the previous one must outlive the change of clusters,
// and problems with those that it finds.
func (l *Loop) followClusters(e *environment, r source.Rendered, output, previous tree.Tree, problems problem.List) (tree.Tree, problem.List) {
	e.deleted.provisioned = findProvisionedNames(r.Model.Clusters.Manifests, clusterfiles.ReadStates(previous))
	followed, carriers, more := clusterfiles.FollowPrevious(r.Model, output, clusterfiles.Previous{
		Tree: previous, Restore: e.deleted.restoreLock, IsCarriedOut: func(c clusterfiles.Carrier) bool { return l.isCarriedOut(e, c) },
	})
	e.deleted.carriers = carriers
	return followed, slices.Concat(problems, more, l.checkReporters(e))
}

// findProvisionedNames returns the names of the clusters that manifests describe, and that an output has.
func findProvisionedNames(written []*model.InputManifest, states []provision.State) map[string]bool {
	names := map[string]bool{}
	for _, m := range written {
		for i := range m.Spec.Kubernetes.Clusters {
			names[m.Spec.Kubernetes.Clusters[i].Name] = true
		}
	}
	for i := range states {
		for j := range states[i].Spec.Kubernetes.Clusters {
			names[states[i].Spec.Kubernetes.Clusters[j].Name] = true
		}
		if rollout := states[i].Rollout; rollout != nil {
			for _, name := range rollout.Leaving {
				names[name] = true
			}
		}
	}
	return names
}

// makesClusters reports whether what a cluster reports of the making of clusters counts: one that is made
// there has no say in it, unless it is named as the one that makes them.
func (d *deletedStacks) makesClusters(cluster string) bool {
	return d.isManagement(cluster) && (d.management != "" || !d.provisioned[cluster])
}

// checkReporters reports what is waited for, and that several clusters report, or only those that do not
// count: one of them may be gone, or may have no business to.
func (l *Loop) checkReporters(e *environment) problem.List {
	if l.options.Inbox == nil || len(e.deleted.carriers) == 0 {
		return nil
	}
	reporters := map[string][]string{} // by objects
	for _, r := range l.options.Inbox.Reports(func(event observe.Event) (current, ok bool) {
		return true, e.isReportedFrom(event.Environment)
	}) {
		reporters[r.Object] = append(reporters[r.Object], r.Source)
	}
	var problems problem.List
	warn := func(format string, args ...any) {
		problems.Warnf(problem.Pos{Layer: e.name}, "Environment/"+e.name, "name the management cluster in spec.managementCluster of StackSettings", format, args...)
	}
	for _, c := range e.deleted.carriers {
		for _, name := range c.Kustomizations {
			all := reporters["Kustomization/"+c.Namespace+"/"+name]
			slices.Sort(all)
			all = slices.Compact(all)
			counted := slices.DeleteFunc(slices.Clone(all), func(cluster string) bool { return !e.deleted.makesClusters(cluster) })
			switch {
			case len(counted) > 1:
				warn("manifest %s: %s report Kustomization/%s/%s, and each of them has to report it as ready", c.Manifest, text.Join(counted, " and "), c.Namespace, name)
			case len(counted) == 0 && len(all) > 0:
				warn("manifest %s: Kustomization/%s/%s is reported by %s, which does not count", c.Manifest, c.Namespace, name, text.Join(all, " and "))
			}
		}
	}
	return problems
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
		if !l.findReady(e, e.deleted.findCommits(c.Folders[i]), e.deleted.makesClusters)["Kustomization/"+c.Namespace+"/"+name] {
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
