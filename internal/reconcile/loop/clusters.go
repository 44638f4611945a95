package loop

import (
	"context"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/provision"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/observe"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/render/clusterfiles"
)

// followClusters returns the output with what of the previous one must outlive the change of clusters,
// and problems with those that it finds.
func (l *Loop) followClusters(ctx context.Context, e *environment, r source.Rendered, output, previous tree.Tree, problems problem.List) (tree.Tree, problem.List) {
	followed, carriers, more := clusterfiles.FollowPrevious(r.Model, output, clusterfiles.Previous{
		Tree: previous, Intact: e.deleted.intact, TemplateHash: l.source.TemplateHash(ctx), IsCarriedOut: func(c clusterfiles.Carrier) bool { return l.isCarriedOut(e, c) },
	})
	e.deleted.carriers = carriers
	return followed, slices.Concat(problems, more, l.checkReporters(e))
}

// makesClusters reports whether what a cluster reports of the making of clusters counts: only what the one
// reports that the control plane names. Every cluster with a key can report objects of any name, so that
// nothing that clusters report tells which of them makes the others.
func (d *deletedStacks) makesClusters(cluster string) bool {
	return d.management != "" && d.management == cluster
}

// checkReporters reports that what is waited for does not count, because others report it than the management
// cluster. That none is named is reported with what waits for it.
func (l *Loop) checkReporters(e *environment) problem.List {
	if l.options.Inbox == nil || len(e.deleted.carriers) == 0 || e.deleted.management == "" {
		return nil
	}
	var problems problem.List
	warn := func(hint, format string, args ...any) {
		problems.Warnf(problem.Pos{Layer: e.name}, "Environment/"+e.name, hint, format, args...)
	}
	reporters := map[string][]string{} // by objects
	for _, r := range l.options.Inbox.Reports(func(event observe.Event) (current, ok bool) {
		return true, e.isReportedBy(event)
	}) {
		reporters[r.Object] = append(reporters[r.Object], r.Source)
	}
	for _, c := range e.deleted.carriers {
		for _, name := range c.Kustomizations {
			object := "Kustomization/" + c.Namespace + "/" + name
			if all := reporters[object]; len(all) > 0 && !slices.ContainsFunc(all, e.deleted.makesClusters) {
				warn("connect the cluster "+e.deleted.management+"; if another one makes the clusters now, name that in spec.managementCluster of StackSettings",
					"manifest %s: %s is reported by %s, which does not count: the management cluster is %s", c.Manifest, object, text.Join(slices.Sorted(slices.Values(all)), " and "), e.deleted.management)
			}
		}
	}
	return problems
}

// readClusters returns the clusters that the output branch had when it was looked at last, without what
// somebody edited.
func (e *environment) readClusters() ([]provision.State, error) {
	if e.deleted.mirror == nil || e.deleted.head == "" {
		return nil, nil
	}
	return git.InspectTree(e.deleted.mirror, e.deleted.head, func(t tree.Tree) ([]provision.State, error) {
		restored, _ := e.deleted.intact.Restore(t.Sub(e.deleted.folder))
		return clusterfiles.ReadStates(restored), nil
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

// knownIntact is what counts of the clusters of an output, for a head of its branch.
type knownIntact struct {
	head, folder string
	wanted       bool
	clusters     clusterfiles.Intact
}

// findIntact returns the clusters of the last output of an environment that nobody edited; the zero Intact if
// that is the head of its branch, or if it has and had none.
func (l *Loop) findIntact(e *environment, m *model.Model) (clusterfiles.Intact, error) {
	d, wanted := &e.deleted, len(m.Clusters.Manifests) > 0
	if d.head == "" {
		return clusterfiles.Intact{}, nil
	}
	if known := &e.intact; known.head != d.head || known.folder != d.folder || known.wanted != wanted {
		found, err := publish.FindIntact(&l.records, d.mirror, d.head, d.folder, e.name, wanted)
		if err != nil {
			return clusterfiles.Intact{}, err
		}
		*known = knownIntact{d.head, d.folder, wanted, found}
	}
	return e.intact.clusters, nil
}
