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
	"github.com/fairlead-io/fairlead/internal/controlplane/provision"
	"github.com/fairlead-io/fairlead/internal/render/clusterfiles"
)

// ClusterChange is what a change does with the clusters of one manifest.
type ClusterChange struct {
	Manifest string           `json:"manifest"` // "namespace/name"
	Steps    []provision.Step `json:"steps"`
	Clouds   []CloudChange    `json:"clouds"`
	// Rollout is which part of several changes this one is, and what the next one waits for, in
	// sentences; "" if it is all.
	Rollout string `json:"rollout,omitempty"`
	// Unknown is why the steps are not known; "" if they are.
	Unknown string `json:"unknown,omitempty"`
}

// CloudChange is how many nodes there are in a cloud, before and after a change.
type CloudChange struct {
	Cloud  string               `json:"cloud"`
	Before provision.CloudCount `json:"before"`
	After  provision.CloudCount `json:"after"`
}

// CompareClusters returns what a change from one output to another does with clusters, in the order of the
// manifests' folders. Of each manifest, the outputs have a lock.
func CompareClusters(old, new tree.Tree) []ClusterChange {
	var all []ClusterChange
	for _, folder := range clusterfiles.ExecutorFolders() {
		for was, is := range tree.ZipChanged(old.Sub(folder), new.Sub(folder)) {
			if c, changed := newClusterChange(path.Join(folder, cmp.Or(was.Name, is.Name)), was.Tree(), is.Tree()); changed {
				all = append(all, c)
			}
		}
	}
	return all
}

// newClusterChange returns what a change does with the clusters whose lock is in a folder; false if it
// does nothing with them.
func newClusterChange(folder string, old, new tree.Tree) (ClusterChange, bool) {
	current, desired := provision.State{}, provision.State{}
	for _, side := range []struct {
		files tree.Tree
		state *provision.State
	}{{old, &current}, {new, &desired}} {
		lock, there := side.files.Lookup(provision.LockFile)
		if !there {
			continue
		}
		state, err := provision.ParseLock(lock.Data)
		if err != nil {
			return ClusterChange{Manifest: folder, Unknown: err.Error()}, true
		}
		*side.state = state
	}
	c := compareStates(&current, &desired)
	c.Rollout = describeRollout(&current, &desired)
	return c, len(c.Steps) > 0 || c.Unknown != ""
}

// CompareStates returns what a change from some manifests to others does with clusters: of those that
// there are in their order, and behind them of those that go.
func CompareStates(old, new []provision.State) []ClusterChange {
	var all []ClusterChange
	compare := func(current, desired *provision.State) {
		if c := compareStates(current, desired); len(c.Steps) > 0 || c.Unknown != "" {
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

// compareStates returns what a change of one manifest does with its clusters.
func compareStates(current, desired *provision.State) ClusterChange {
	c := ClusterChange{Manifest: cmp.Or(desired.Path(), current.Path())}
	plan, err := provision.NewPlan(current, desired)
	if err != nil {
		c.Unknown = err.Error()
		return c
	}
	c.Steps, c.Clouds = plan.Steps, compareClouds(provision.CountClouds(current), provision.CountClouds(desired))
	return c
}

// compareClouds pairs counts of nodes by cloud. Both are sorted.
func compareClouds(before, after []provision.CloudCount) []CloudChange {
	var all []CloudChange
	for len(before)+len(after) > 0 {
		switch {
		case len(after) == 0, len(before) > 0 && before[0].Cloud < after[0].Cloud:
			all = append(all, CloudChange{before[0].Cloud, before[0], provision.CloudCount{Cloud: before[0].Cloud}})
			before = before[1:]
		case len(before) == 0 || after[0].Cloud < before[0].Cloud:
			all = append(all, CloudChange{after[0].Cloud, provision.CloudCount{Cloud: after[0].Cloud}, after[0]})
			after = after[1:]
		default:
			all = append(all, CloudChange{after[0].Cloud, before[0], after[0]})
			before, after = before[1:], after[1:]
		}
	}
	return all
}

// describeRollout returns which part of several changes a change of a manifest is.
func describeRollout(current, desired *provision.State) string {
	switch was, is := current.Rollout, desired.Rollout; {
	case is != nil && is.From != nil:
		return fmt.Sprintf("This is the phase %s of expand, switch and contract. The next phase is proposed when the management cluster reports this one as ready.", is.Phase)
	case is != nil && slices.ContainsFunc(is.Dropped, func(file string) bool { return strings.HasPrefix(file, provision.ObjectsFolder) }):
		return "This change destroys what nothing uses any more. The objects that tofu-controller needs for that are removed by the last change, which is proposed when the management cluster reports that all is destroyed."
	case is != nil && len(is.Leaving) > 0:
		return fmt.Sprintf("This is the first of two changes. The kubeconfig of %s and the credentials stay; what nothing needs any more is removed by the second change, which is proposed when the management cluster reports that the clusters are destroyed.", text.Join(list.Convert(is.Leaving, codeSpan), " and "))
	case is != nil:
		return "This is the first of two changes. The credentials stay; they are removed by the second change, which is proposed when the management cluster reports this one as ready."
	case was != nil:
		return fmt.Sprintf("This is the last change of those that began with the phase %s.", was.Phase)
	}
	return ""
}
