package impact

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/claudie"
	"github.com/fairlead-io/fairlead/internal/controlplane/clusters"
	"github.com/fairlead-io/fairlead/internal/controlplane/provision"
	"github.com/fairlead-io/fairlead/internal/render/clusterfiles"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
)

// ClusterChange is the change of one manifest's clusters.
type ClusterChange struct {
	Manifest string                  `json:"manifest"` // "namespace/name"
	Steps    []provision.Step        `json:"steps"`
	Clouds   []provision.CloudChange `json:"clouds"`
	// Parts are the changed parts that tofu-controller runs, one Terraform object each.
	// Approved are unchanged parts with a new approval.
	Parts    []ComponentChange `json:"parts,omitempty"`
	Approved []string          `json:"approved,omitempty"`
	// Rebound are the clusters with other values for their cluster type, or another
	// kubeconfig.
	Rebound []string `json:"rebound,omitempty"`
	// Released are the clusters that the next change may remove.
	Released []string `json:"released,omitempty"`
	// Rollout describes the position of this change in a series; "" for a single
	// change.
	Rollout string `json:"rollout,omitempty"`
	// Unknown is the reason why the steps are unknown.
	Unknown string `json:"unknown,omitempty"`

	parts stackfiles.Summary
	// restored is true if the change reverts an edit or a deletion in the output.
	restored bool
	removed  bool
	// recopied are the clusters whose kubeconfig another object copies.
	recopied []string
}

// CompareClusters returns the cluster changes between two outputs, ordered by folder.
func CompareClusters(old, new tree.Tree) []ClusterChange {
	var all []ClusterChange
	var beside []provision.State
	for _, folder := range clusterfiles.ExecutorFolders() {
		for was, is := range tree.ZipChanged(old.Sub(folder), new.Sub(folder)) {
			if beside == nil {
				beside = clusterfiles.ReadStates(new)
			}
			if c, changed := newClusterChange(path.Join(folder, cmp.Or(was.Name, is.Name)), was.Tree(), is.Tree(), beside); changed {
				all = append(all, c)
			}
		}
	}
	return all
}

// newClusterChange returns false if no cluster changes. beside are all manifests after
// the change.
func newClusterChange(folder string, old, new tree.Tree, beside []provision.State) (ClusterChange, bool) {
	desired, err := parseLock(new)
	if err != nil {
		return ClusterChange{Manifest: folder, Unknown: err.Error()}, true
	}
	current, err := parseLock(old)
	c := compareStates(&current, &desired, beside)
	switch {
	case err != nil:
		c = findPlanned(ClusterChange{Manifest: folder, Unknown: err.Error()}, old, new)
	case startsElsewhere(old, new):
		c = findPlanned(c, old, new)
	}
	c.restored = isRestored(old, new, err)
	c.Rollout = describeRollout(&current, &desired)
	c.compareParts(folder, old, new)
	kept := list.Convert(desired.Spec.Kubernetes.Clusters, func(k claudie.Cluster) string { return k.Name })
	c.Rebound = clusterfiles.FindRebound(path.Base(folder), kept, old, new)
	c.Released = clusterfiles.FindReleased(kept, old, new)
	c.recopied = clusterfiles.FindRecopied(kept, old, new)
	c.removed = new.IsEmpty()
	return c, len(c.Steps)+len(c.Parts)+len(c.Approved)+len(c.Rebound)+len(c.Released)+len(c.recopied) > 0 || c.Unknown != "" || c.restored
}

// isRestored reports whether a change restores a manifest that somebody deleted or
// edited. Its plan then starts from a lock although none exists, or from an unedited
// one, or it changes without the lock. unread is the error of reading the old lock.
func isRestored(old, new tree.Tree, unread error) bool {
	plan, _ := new.Lookup(provision.PlanFile)
	is, _ := new.Lookup(provision.LockFile)
	if !provision.IsPlanOf(plan.Data, is.Data) {
		return false
	}
	was, _ := old.Lookup(provision.LockFile)
	before, planned := old.Lookup(provision.PlanFile)
	isRemade := planned && was.ID == is.ID && before.ID != plan.ID
	return unread != nil || isRemade || old.IsEmpty() && !provision.IsPlanFrom(plan.Data, nil)
}

func parseLock(files tree.Tree) (provision.State, error) {
	lock, there := files.Lookup(provision.LockFile)
	switch {
	case !there && clusterfiles.IsManifest(files):
		return provision.State{}, fmt.Errorf("%s was deleted", provision.LockFile)
	case !there:
		return provision.State{}, nil
	}
	return provision.ParseLock(lock.Data)
}

// startsElsewhere reports whether the new plan does not start from the old lock:
// somebody edited or deleted that one.
func startsElsewhere(old, new tree.Tree) bool {
	was, _ := old.Lookup(provision.LockFile)
	is, _ := new.Lookup(provision.LockFile)
	plan, _ := new.Lookup(provision.PlanFile)
	return was.ID != is.ID && provision.IsPlanOf(plan.Data, is.Data) && !provision.IsPlanFrom(plan.Data, was.Data)
}

// findPlanned returns the change in the plan of an edited lock: Fairlead made that plan
// from the last unedited lock. Without a plan it returns c.
func findPlanned(c ClusterChange, old, new tree.Tree) ClusterChange {
	was, _ := old.Lookup(provision.PlanFile)
	is, _ := new.Lookup(provision.PlanFile)
	lock, _ := new.Lookup(provision.LockFile)
	if !provision.IsPlanOf(is.Data, lock.Data) {
		return c
	}
	t, err := provision.ParsePlan(is.Data)
	switch {
	case err != nil:
		return c
	case is.ID == was.ID: // the plan is of an earlier change
		return ClusterChange{Manifest: t.Manifest}
	}
	return ClusterChange{Manifest: t.Manifest, Steps: t.Steps, Clouds: t.Clouds}
}

// CompareStates returns the cluster changes between two sets of manifests, in the order
// of new; removed manifests come last.
func CompareStates(old, new []provision.State) []ClusterChange {
	var all []ClusterChange
	compare := func(current, desired *provision.State) {
		if c := compareStates(current, desired, new); len(c.Steps) > 0 || c.Unknown != "" {
			all = append(all, c)
		}
	}
	find := func(states []provision.State, path string) *provision.State {
		for i := range states {
			if states[i].Path() == path {
				return &states[i]
			}
		}
		return nil
	}
	for i := range new {
		compare(cmp.Or(find(old, new[i].Path()), &provision.State{}), &new[i])
	}
	for i := range old {
		if find(new, old[i].Path()) == nil {
			compare(&old[i], &provision.State{})
		}
	}
	return all
}

// compareStates returns the plan from current to desired. beside are all manifests
// after it.
func compareStates(current, desired *provision.State, beside []provision.State) ClusterChange {
	t, err := provision.NewTransition(current, desired, beside)
	if err != nil {
		return ClusterChange{Manifest: t.Manifest, Unknown: err.Error()}
	}
	return ClusterChange{Manifest: t.Manifest, Steps: t.Steps, Clouds: t.Clouds}
}

func findDetached(current, desired *provision.State) []string {
	var all []string
	for cluster := range current.ClusterTypes {
		if desired.ClusterTypes[cluster] == "" {
			all = append(all, cluster)
		}
	}
	slices.Sort(all)
	return all
}

func describeRollout(current, desired *provision.State) string {
	switch was, is := current.Rollout, desired.Rollout; {
	case is != nil && is.IsDetaching():
		count, last := "three", "; the third one removes what is left."
		if desired.Executor == clusters.CAPI { // Cluster API keeps nothing until the cluster is gone
			count, last = "two", "."
		}
		return fmt.Sprintf("This is the first of %s changes: Flux removes what runs on %s while the cluster answers. The second change destroys it, and is proposed when the management cluster reports this one as ready%s", count, text.Join(list.Convert(findDetached(current, desired), codeSpan), " and "), last)
	case is != nil && is.From != nil:
		return fmt.Sprintf("This is the phase %s of expand, switch and contract. The next phase is proposed when the management cluster reports this one as ready.", is.Phase)
	case is != nil && slices.ContainsFunc(is.Dropped, func(file string) bool { return strings.HasPrefix(file, provision.ObjectsFolder) }):
		return "What nothing uses any more is destroyed; then its Terraform objects are removed, and last what tofu-controller needs for that. Each of these changes is proposed when the management cluster reports the one before as ready."
	case is != nil && len(is.Leaving) > 0:
		this, next := "first of two", "second"
		if was != nil && was.IsDetaching() {
			this, next = "second of three", "third"
		}
		return fmt.Sprintf("This is the %s changes. The kubeconfig of %s and the credentials stay; what nothing needs any more is removed by the %s change, which is proposed when the management cluster reports that the clusters are destroyed.", this, text.Join(list.Convert(is.Leaving, codeSpan), " and "), next)
	case is != nil:
		return "This is the first of two changes. The credentials stay; they are removed by the second change, which is proposed when the management cluster reports this one as ready."
	case was != nil:
		return fmt.Sprintf("This is the last change of those that began with the phase %s.", was.Phase)
	}
	return ""
}
