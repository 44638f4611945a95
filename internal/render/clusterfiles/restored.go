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

// Intact is an output that is as Fairlead rendered it, and the commit of its branch that has it; "" if none
// is known.
type Intact struct {
	Tree   tree.Tree
	Commit string
}

// Restore returns an output with the folders of manifests as the intact one has them, and what somebody did
// to those that are not, by their paths. A folder that only the output has stays.
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

// describeEdit returns what somebody did to the folder of a manifest.
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

// restore replaces the manifests in the previous output that somebody edited, and reports them. Those are
// not carried out before the output has them again.
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

// withEntryIn returns a tree in which an entry of a folder, "." for the root, has another content.
func withEntryIn(t tree.Tree, folder string, entry tree.Entry) tree.Tree {
	if folder == "." {
		return withEntry(t, entry)
	}
	first, rest, _ := strings.Cut(folder, "/")
	return withEntry(t, tree.Dir(first, withEntryIn(t.Sub(first), cmp.Or(rest, "."), entry)))
}
