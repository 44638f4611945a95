package clusterfiles

import (
	"cmp"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/clusters"
	"github.com/fairlead-io/fairlead/internal/controlplane/provision"
)

// addPlans adds a plan from the previous lock for each manifest, also with deleted
// files. A plan to the same lock stays byte for byte. If the manifest was edited, it is
// planned again.
func (f *follower) addPlans(output tree.Tree, manifests []*clusters.Manifest, previous map[string]*previousManifest) (tree.Tree, error) {
	before := map[string]*previousManifest{} // by folder
	for _, b := range previous {
		before[b.folder] = b
	}
	folders := list.Convert(manifests, FolderOf)
	for _, held := range f.renderer.follow.held {
		if !slices.Contains(folders, held.folder) {
			folders = append(folders, held.folder)
		}
	}
	all := ReadStates(output)
	for _, folder := range folders {
		plan, err := cmp.Or(before[folder], &previousManifest{}).planChange(output.Sub(folder), all)
		if err != nil {
			return output, err
		}
		output = withEntryIn(output, folder, tree.File(provision.PlanFile, plan))
	}
	return output, nil
}

func (b *previousManifest) planChange(rendered tree.Tree, all []provision.State) ([]byte, error) {
	lock, _ := rendered.Lookup(provision.LockFile)
	if plan, there := b.files.Lookup(provision.PlanFile); there && !b.restored && provision.IsPlanOf(plan.Data, lock.Data) {
		return plan.Data, nil
	}
	state, err := provision.ParseLock(lock.Data)
	if err != nil {
		return nil, err
	}
	t, err := provision.NewTransition(&b.state, &state, all)
	if err != nil {
		return nil, err
	}
	var from []byte
	if b.state.Name != "" {
		from, err = provision.EncodeLock(&b.state)
	}
	if err != nil {
		return nil, err
	}
	return provision.EncodePlan(t, from, lock.Data)
}

func withEntry(t tree.Tree, entry tree.Entry) tree.Tree {
	others := slices.DeleteFunc(slices.Clone(t.Entries()), func(e tree.Entry) bool { return e.Name == entry.Name })
	return tree.FromEntries(append(others, entry))
}
