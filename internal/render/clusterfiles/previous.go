package clusterfiles

import (
	"path"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/provision"
)

// HasClusters reports whether an output provisions clusters.
func HasClusters(output tree.Tree) bool {
	return !output.Sub(path.Join(Folder, provision.LockFolder)).IsEmpty()
}

// CheckPrevious compares the manifests of a model with the locks of the previous output, and reports what
// of the change must not be merged as it is: what would destroy more than was said, or cannot be done.
func CheckPrevious(m *model.Model, previous tree.Tree) problem.List {
	var problems problem.List
	var states []provision.State
	for _, e := range previous.Sub(path.Join(Folder, provision.LockFolder)).Entries() {
		lock, there := e.Tree().Lookup(provision.LockFile)
		if !there {
			continue
		}
		state, err := provision.ParseLock(lock.Data)
		if err != nil {
			problems.Addf(problem.Pos{Layer: m.Environment}, "Environment/"+m.Environment, "restore the file from the last commit of the output branch that Fairlead made",
				"what clusters there are is not known: %s of the output: %v", path.Join(Folder, provision.LockFolder, e.Name, provision.LockFile), err)
			continue
		}
		states = append(states, state)
	}
	return append(problems, provision.CheckModel(states, m)...)
}
