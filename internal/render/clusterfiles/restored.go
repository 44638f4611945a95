package clusterfiles

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// Intact is an output as Fairlead rendered it, and its commit; "" if unknown.
type Intact struct {
	Tree   tree.Tree
	Commit string
}

// Restore returns output with the folders of manifests in i, and descriptions of edits
// by folder. It keeps other folders.
func (i Intact) Restore(output tree.Tree) (restored tree.Tree, edited map[string]string) {
	edited = map[string]string{}
	for folder, files := range listManifests(i.Tree) {
		now := output.Sub(folder)
		if i.Commit == "" || !IsManifest(files) || now.ID() == files.ID() {
			continue
		}
		edited[folder] = describeEdit(folder, now, files)
		output = withEntryIn(output, path.Dir(folder), tree.Dir(path.Base(folder), files))
	}
	return output, edited
}

func describeEdit(folder string, now, before tree.Tree) string {
	if now.IsEmpty() {
		return folder + " of the output: it was deleted"
	}
	changes := slices.Collect(tree.Diff(before, now))
	file := path.Join(folder, changes[0].Path)
	switch {
	case len(changes) > 1:
		return fmt.Sprintf("%s of the output: %d files were edited by hand, as %s", folder, len(changes), file)
	case changes[0].Removed():
		return file + " of the output: it was deleted"
	}
	return file + " of the output: it was edited by hand"
}

// restore reverts edited manifests and reports them. They are not carried out until the
// output has them again.
func (p *Previous) restore(m *model.Model) problem.List {
	head, isCarriedOut := p.Tree, p.IsCarriedOut
	p.Tree, p.edited = p.Intact.Restore(head)
	restored := p.Tree
	p.IsCarriedOut = func(c Carrier) bool {
		isEdited := func(folder string) bool { return head.Sub(folder).ID() != restored.Sub(folder).ID() }
		return !slices.ContainsFunc(c.Folders, isEdited) && isCarriedOut(c)
	}
	var problems problem.List
	for _, folder := range slices.Sorted(maps.Keys(p.edited)) {
		problems.Warnf(problem.Pos{Layer: m.Environment}, "Environment/"+m.Environment, "Fairlead writes it again with the next change of the output",
			"%s; what commit %.7s has counts", p.edited[folder], p.Intact.Commit)
	}
	return problems
}

func withEntryIn(t tree.Tree, folder string, entry tree.Entry) tree.Tree {
	if folder == "." {
		return withEntry(t, entry)
	}
	first, rest, _ := strings.Cut(folder, "/")
	return withEntry(t, tree.Dir(first, withEntryIn(t.Sub(first), cmp.Or(rest, "."), entry)))
}
