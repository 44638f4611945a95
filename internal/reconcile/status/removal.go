package status

import (
	"cmp"
	"fmt"
	"slices"
)

// Removal is an output that an environment has left, and that has to be removed.
type Removal struct {
	Repo   string `json:"repo"`
	Branch string `json:"branch"`
	Folder string `json:"folder,omitempty"`
	// Reason is one sentence: what the removal waits for.
	Reason string `json:"reason"`
	// Pull is the open pull request that removes it; nil if there is none yet.
	Pull *Pull `json:"pull,omitempty"`
}

// String returns the location and what the removal waits for, as one sentence.
func (r Removal) String() string {
	return fmt.Sprintf("its old output in branch %s, folder %s of %s is to be removed: %s", r.Branch, cmp.Or(r.Folder, "."), r.Repo, r.Reason)
}

// cloneRemovals returns a copy that shares nothing.
func cloneRemovals(all []Removal) []Removal {
	all = slices.Clone(all)
	for i, r := range all {
		all[i].Pull = r.Pull.clone()
	}
	return all
}
