package rootmodule

import (
	"path"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/stack"
	"github.com/fairlead-io/fairlead/internal/render/argocd"
)

// FindApplications returns the files that a component of type argocd names, sorted by name: one file, or
// all manifests of a folder.
func FindApplications(m *model.Model, c *stack.Component) ([]argocd.File, problem.List) {
	g := &generator{model: m, component: c}
	if c.Module == nil { // it was reported
		return nil, nil
	}
	named, ok := g.findApplicationSource()
	if !ok {
		return nil, g.problems
	}
	layerName := LocalLayer(c)
	if named.repo != "" {
		layerName = stack.SourceName(named.repo, named.ref)
	}
	layer, read := m.Stacks.Layers[layerName]
	if !read {
		g.problems = append(g.problems, problem.Problem{
			Pos: c.Stack.PositionAt(c.Module.Source.Line), Subject: c.Stack.Subject(), OfAbsence: true, // why it was not read says another problem
			Summary: "component " + c.Name + ": " + moduleField + ": " + layerName + " was not read",
		})
		return nil, g.problems
	}
	written := model.Text{Text: named.folder, Line: c.Module.Source.Line}
	if g.reportUnread(layer, written.Line) {
		return nil, g.problems
	}
	found, ok := g.findInLayer(namedFile{field: moduleField, path: written}, layer, layerName, written.Line)
	if !ok {
		return nil, g.problems
	}
	var files []argocd.File
	if !found.entry.IsDir() {
		files = append(files, argocd.File{Layer: layerName, Name: found.pos.File, Data: found.entry.Data})
		return files, g.problems
	}
	manifests := tree.Builder{}
	for file, e := range found.entry.Tree().Walk() {
		if argocd.IsManifest(file) {
			_ = manifests.AddEntry(file, e) // the tree had it there
		}
	}
	found.entry = tree.Dir("", manifests.Tree())
	g.copyFolder(moduleField, written, found, func(file string, data []byte) {
		files = append(files, argocd.File{Layer: layerName, Name: path.Join(found.pos.File, file), Data: data})
	})
	if len(files) == 0 && !g.problems.Stops() {
		g.addf(written.Line, "mend module.source or module.path", "component %s: %s: there is no Application in %s", c.Name, moduleField, path.Join("/", named.folder))
	}
	return files, g.problems
}

func applicationInputs(m *model.Model, c *stack.Component) []string {
	files, _ := FindApplications(m, c) // rendering reports its problems
	var all []string
	for _, f := range files {
		all = append(all, f.Layer, f.Name, tree.HashBlob(f.Data).String())
	}
	return all
}

// findApplicationSource returns the repository, the folder and the ref that a component of type argocd
// names; repo is "" if it is the stack's own.
func (g *generator) findApplicationSource() (gitAddress, bool) {
	c := g.component
	if folder, local := c.Module.LocalFolder(); local {
		repo, ref := c.Stack.FindSource(g.model, LocalLayer(c), "", "")
		return gitAddress{repo, folder, ref}, true
	}
	line := c.Module.Source.Line
	if strings.TrimSpace(c.Module.Source.Text) == "aws" {
		g.addf(line, "name the repository of the Applications", "component %s: module.source cannot be aws", c.Name)
		return gitAddress{}, false
	}
	address, _ := g.resolveSource(c.Module)
	if g.problems.Stops() {
		return gitAddress{}, false
	}
	named, ok := parseGitAddress(address)
	if !ok {
		g.addf(line, "as in https://github.com/acme/apps, or a folder of the stack's own as ./apps", "component %s: module.source is not a Git repository: %s", c.Name, c.Module.Source.Text)
		return gitAddress{}, false
	}
	if strings.Contains("/"+c.Module.Source.Text+"/"+c.Module.Path+"/", "/../") {
		g.addf(line, "name a folder of the repository, from its root", "component %s: %s: the folder is outside of the repository", c.Name, moduleField)
		return gitAddress{}, false
	}
	repo, ref := c.Stack.FindSource(g.model, c.Stack.LayerAt(line), named.repo, named.ref)
	if repo == "" && ref != "" {
		g.problems.Warnf(c.Stack.PositionAt(line), c.Stack.Subject(), "remove ref", "component %s: %s is read at the commit that is rendered, and not at %s", c.Name, moduleField, ref)
		ref = ""
	}
	return gitAddress{repo, named.folder, ref}, true
}

func (l repositoryList) addApplications(m *model.Model, c *stack.Component) {
	if c.Module == nil {
		return
	}
	g := &generator{model: m, component: c}
	named, ok := g.findApplicationSource()
	if ok && named.repo != "" {
		r := l.find(c, named.repo, named.ref, c.Module.Source.Line)
		r.Paths = append(r.Paths, strings.Trim(path.Clean("/"+named.folder), "/"))
	}
}
