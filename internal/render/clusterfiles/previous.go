package clusterfiles

import (
	"errors"
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
	written := map[string]*model.InputManifest{}
	for _, manifest := range m.Clusters.Manifests {
		written[manifest.Path()] = manifest
	}
	environment := problem.Pos{Layer: m.Environment}
	for _, e := range previous.Sub(path.Join(Folder, provision.LockFolder)).Entries() {
		lock, there := e.Tree().Lookup(provision.LockFile)
		if !there {
			continue
		}
		file := path.Join(Folder, provision.LockFolder, e.Name, provision.LockFile)
		current, err := provision.ParseLock(lock.Data)
		if err != nil {
			hint := "restore it from the last commit of the output branch that Fairlead made"
			if !errors.Is(err, provision.ErrEdited) {
				hint = ""
			}
			problems.Addf(environment, "Environment/"+m.Environment, hint, "what clusters there are is not known: %s of the output: %v", file, err)
			continue
		}
		edit := provision.Edit{Current: &current, Desired: &provision.State{}, PositionOf: func(...any) problem.Pos { return environment }}
		if manifest := written[current.Namespace+"/"+current.Name]; manifest != nil {
			desired := provision.NewState(manifest, &m.Clusters)
			edit.Desired, edit.Annotations, edit.PositionOf = &desired, manifest.Annotations, manifest.PositionOf
		}
		problems = append(problems, provision.CheckEdit(edit)...)
	}
	return problems
}
