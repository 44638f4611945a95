package output

import (
	"fmt"
	"path"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/clusters"
	"github.com/fairlead-io/fairlead/internal/render"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
)

const (
	// ReconcilerName is the file with a target's reconciler objects, or with the
	// Kustomization that applies them if ordered.
	ReconcilerName = "reconciler.yaml"
	// ObjectsName is the folder with the reconciler objects of an ordered target.
	ObjectsName = "objects"
)

type orderedKey struct {
	clusterType, target, after string
	folder                     tree.ID
	settings                   string
}

// orderedFolder is the folder of an ordered target with its shared Terraform states.
type orderedFolder struct {
	files  tree.Tree
	states []string
}

// orderFolder moves the objects of each target to their own folder if its reconciler is
// ordered.
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
		f, done := p.cache.ordered[key]
		if !done {
			f = p.orderTarget(key, at, e.Tree())
		}
		p.ordered[key] = f
		p.checkStates(at, f.states)
		ordered = append(ordered, tree.Dir(e.Name, f.files))
	}
	return tree.FromEntries(ordered)
}

// checkStates reports Terraform states that assignments or clusters share: each would
// undo the others.
func (p *pass) checkStates(at assignment, states []string) {
	if len(states) == 0 {
		return
	}
	target := p.model.Targets[at.target]
	if names := p.listClusters(p.model.ClusterTypes[at.clusterType].Name); len(names) > 1 {
		p.found.addForAssignment(at, problem.Problem{
			Pos: target.Pos, Subject: target.Subject(),
			Hint:    "name a Secret with the key of each cluster in backendFrom, or leave the backend out: then each cluster keeps a state of its own",
			Summary: "its Terraform would have one state on " + text.Count(len(names), "cluster") + " of the cluster type: " + text.Shorten(text.Join(names, " and "), 200),
		})
	}
	for _, state := range states {
		first, taken := p.states[state]
		if !taken {
			p.states[state] = at
			continue
		}
		p.found.addForAssignment(at, problem.Problem{
			Pos: target.Pos, Subject: target.Subject(),
			Hint:    "name another key in the backend, or leave it out: then each cluster keeps a state of its own",
			Summary: fmt.Sprintf("its Terraform would have the same state as %s on cluster type %s", p.model.Targets[first.target].Name, p.model.ClusterTypes[first.clusterType].Name),
		})
	}
}

// listClusters returns the provisioned clusters of a cluster type; others are unknown.
func (p *pass) listClusters(clusterType string) []string {
	if p.clusters == nil {
		p.clusters = map[string][]string{}
		manifests, _ := clusters.Resolve(p.model) // rendering reports its problems
		for _, m := range manifests {
			for _, u := range m.Units {
				if u.Binding != nil {
					p.clusters[u.Binding.ClusterType] = append(p.clusters[u.Binding.ClusterType], u.Name)
				}
			}
		}
	}
	return p.clusters[clusterType]
}

func (p *pass) orderTarget(key orderedKey, at assignment, files tree.Tree) orderedFolder {
	report := func(summary, hint string) orderedFolder {
		p.reportMistake(p.templates[at.clusterType][reconcilerText].template, &render.Mistake{Summary: summary, Hint: hint}, at)
		return orderedFolder{files: files}
	}
	fail := func(err error) orderedFolder {
		return report("its objects cannot be ordered: "+err.Error(), "put them into the namespace of the deployment target")
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
	states, err := stackfiles.ListStates(objects.Data)
	if err != nil {
		return report(err.Error(), "write it as backend \"s3\" { … } with constants")
	}
	wrapper, seal, err := stackfiles.RenderOrdered(p.model, stackfiles.Ordered{
		Name: key.target, Folder: path.Join(key.clusterType, key.target, ObjectsName), After: p.sets[at.clusterType].waits[at.target],
	}, objects)
	if err != nil {
		return fail(err)
	}
	list, err := stackfiles.RenderOrderedList(listed)
	if err != nil {
		return fail(err)
	}
	return orderedFolder{tree.FromEntries(append(entries, tree.File("kustomization.yaml", list), tree.File(ReconcilerName, wrapper),
		tree.Dir(ObjectsName, tree.FromEntries([]tree.Entry{objects})), seal)), states}
}
