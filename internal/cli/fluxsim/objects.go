package fluxsim

import (
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/kube/manifest"
	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
)

// objects are the objects of a folder, by "Kind/namespace/name".
type objects map[string]object

type object struct {
	digest tree.ID // of its file
	// source and branch are what a GitRepository fetches; "" for other kinds.
	source, branch string
}

// readObjects returns the objects in a folder of a commit; nil if there is no such folder.
func readObjects(repo *git.Repository, commit, folder string) (objects, error) {
	view, err := repo.View(commit)
	if err != nil {
		return nil, err
	}
	if _, ok := view.Tree.Lookup(folder); !ok {
		return nil, view.Err()
	}
	found := objects{}
	for name, file := range view.Tree.Sub(folder).Walk() {
		if ext := path.Ext(name); ext != ".yaml" && ext != ".yml" {
			continue
		}
		decoded, err := manifest.Decode(file.Data)
		if err != nil {
			return nil, fmt.Errorf("%s/%s: %w", folder, name, err)
		}
		for _, o := range decoded {
			one := object{digest: file.ID}
			if o.Kind == "GitRepository" {
				one.source, one.branch = yamldoc.FindText(o.Node, "spec", "url"), yamldoc.FindText(o.Node, "spec", "ref", "branch")
			}
			found[path.Join(o.Kind, o.Namespace, o.Name)] = one
		}
	}
	return found, view.Err()
}

// findUnhealthy returns the objects that do not become ready, with the reason, as Flux lists them.
func (all objects) findUnhealthy(sources map[string][]string) []string {
	var bad []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		o := all[name]
		if o.source == "" {
			continue
		}
		branches, known := sources[o.source]
		switch {
		case !known:
			bad = append(bad, fmt.Sprintf("%s status: 'Failed': unable to clone '%s': repository not found", name, o.source))
		case !slices.Contains(branches, o.branch):
			bad = append(bad, fmt.Sprintf("%s status: 'Failed': couldn't find remote ref \"refs/heads/%s\"", name, o.branch))
		}
	}
	return bad
}
