package output

import (
	"path"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/render"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
)

const (
	// ReconcilerName is the file of a deployment target with the objects that its reconciler makes, or, if
	// that is ordered, with the Kustomization that applies them.
	ReconcilerName = "reconciler.yaml"
	// ObjectsName is the folder of an ordered deployment target with the objects that its reconciler
	// makes.
	ObjectsName = "objects"
)

// orderedKey is what the folder of an ordered target is made from.
type orderedKey struct {
	clusterType, target, after string
	folder                     tree.ID
	settings                   string
}

// orderFolder returns the folder of cluster type i with the objects of each target in a folder of their
// own, if its reconciler is ordered.
func (p *pass) orderFolder(i int, r *row, folder tree.Tree) tree.Tree {
	reconciler := p.templates[i][reconcilerText]
	if len(r.members.names) == 0 || !reconciler.template.Model.Ordered {
		return folder
	}
	entries := folder.Entries()
	ordered := make([]tree.Entry, 0, len(entries))
	k := 0
	for _, e := range entries {
		if !e.IsDir() {
			ordered = append(ordered, e)
			continue
		}
		at := assignment{i, p.sets[i].order[k]}
		k++
		key := orderedKey{p.model.ClusterTypes[i].Name, e.Name, strings.Join(p.sets[i].waits[at.target], " "), e.ID, stackfiles.OrderedSettings(p.model)}
		t, done := p.cache.ordered[key]
		if !done {
			t = p.orderTarget(key, at, e.Tree())
		}
		p.ordered[key] = t
		ordered = append(ordered, tree.Dir(e.Name, t))
	}
	return tree.FromEntries(ordered)
}

// orderTarget returns the folder of an ordered target.
func (p *pass) orderTarget(key orderedKey, at assignment, files tree.Tree) tree.Tree {
	fail := func(err error) tree.Tree {
		p.reportMistake(p.templates[at.clusterType][reconcilerText].template, &render.Mistake{
			Summary: "its objects cannot be ordered: " + err.Error(), Hint: "put them into the namespace of the deployment target",
		}, at)
		return files
	}
	var entries []tree.Entry
	var listed []string
	var objects tree.Entry
	for _, e := range files.Entries() {
		if e.Name == ReconcilerName {
			objects = e
		} else {
			entries = append(entries, e)
		}
		if path.Ext(e.Name) == ".yaml" {
			listed = append(listed, e.Name)
		}
	}
	wrapper, err := stackfiles.RenderOrdered(p.model, stackfiles.Ordered{
		Name: key.target, Folder: path.Join(key.clusterType, key.target, ObjectsName), After: p.sets[at.clusterType].waits[at.target],
	}, objects.Data)
	if err != nil {
		return fail(err)
	}
	list, err := stackfiles.RenderOrderedList(listed)
	if err != nil {
		return fail(err)
	}
	return tree.FromEntries(append(entries, tree.File("kustomization.yaml", list), tree.File(ReconcilerName, wrapper),
		tree.Dir(ObjectsName, tree.FromEntries([]tree.Entry{objects}))))
}
