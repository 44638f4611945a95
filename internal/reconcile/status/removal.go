package status

import (
	"cmp"
	"fmt"
	"slices"
)

// Removal is the output in a previous location of an environment, to be removed.
type Removal struct {
	Repo   string `json:"repo"`
	Branch string `json:"branch"`
	Folder string `json:"folder,omitempty"`
	// Reason is what the removal waits for, in one sentence.
	Reason string `json:"reason"`
	// Pull is the open pull request that removes it, if any.
	Pull *Pull `json:"pull,omitempty"`
}

// String describes the removal in one sentence.
func (r Removal) String() string {
	return fmt.Sprintf("its old output in branch %s, folder %s of %s is to be removed: %s", r.Branch, cmp.Or(r.Folder, "."), r.Repo, r.Reason)
}

func cloneRemovals(all []Removal) []Removal {
	all = slices.Clone(all)
	for i, r := range all {
		all[i].Pull = r.Pull.clone()
	}
	return all
}
