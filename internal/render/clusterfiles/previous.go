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

// RestoreLock returns the state of a lock as it was before somebody edited it, and the commit of the
// output branch that has it; "" if none has.
type RestoreLock func(file string) (state provision.State, commit string)

// CheckPrevious compares the manifests of a model with the locks of the previous output, and reports what
// of the change must not be merged as it is: what would destroy more than was said, or cannot be done. A
// lock that somebody edited is restored; nil if that is not possible.
func CheckPrevious(m *model.Model, previous tree.Tree, restore RestoreLock) problem.List {
	var problems problem.List
	var current []provision.State
	environment := problem.Pos{Layer: m.Environment}
	for _, e := range previous.Sub(path.Join(Folder, provision.LockFolder)).Entries() {
		lock, there := e.Tree().Lookup(provision.LockFile)
		if !there {
			continue
		}
		file := path.Join(Folder, provision.LockFolder, e.Name, provision.LockFile)
		state, err := provision.ParseLock(lock.Data)
		commit := ""
		if err != nil && restore != nil {
			state, commit = restore(file)
		}
		switch {
		case err == nil:
		case commit == "":
			problems.Addf(environment, "Environment/"+m.Environment, "restore the file from the last commit of the output branch that Fairlead made",
				"what clusters there are is not known: %s of the output: %v", file, err)
			continue
		default:
			problems.Warnf(environment, "Environment/"+m.Environment, "Fairlead writes it again with the next change of the output",
				"%s of the output: %v; what commit %.7s has counts", file, err, commit)
		}
		current = append(current, state)
	}
	return append(problems, provision.CheckModel(current, m)...)
}
