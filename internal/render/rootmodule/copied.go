package rootmodule

import (
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclwrite"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/stack"
)

// outputsFile is the file with the outputs of a copied root module that it does not have itself. The
// name is CloudKnit's.
const outputsFile = "zl_autogen_outputs.tf"

// reservedFiles are those that a copied root module cannot have: generated files, and files that
// tofu-controller writes before it runs Terraform.
var reservedFiles = []string{outputsFile, requestFile, "backend_override.tf", "generated.auto.tfvars.json"}

// The limits of a copied root module. It is published whole, and a repository may be anything.
const (
	maxCopiedFiles = 1_000
	maxCopiedSize  = 8 << 20
)

// generateCopied copies a root module that people wrote. Overlays may take the place of its files, and
// outputs are added that it does not have.
func (g *generator) generateCopied() Module {
	content := g.readCopied()
	g.addOutputs(content)
	module := Module{Fixed: content.fixed}
	if b, ok := g.checkBackend(content); ok {
		module.Backend, module.State = b.text(), b.state(g.component.Stack.Workspace)
	}
	return module
}

func (g *generator) readCopied() *rootContent {
	copied := g.copyRoot()
	g.addOverlays()
	content := g.readRoot()
	content.complete = content.complete && copied
	return content
}

// copyRoot copies the folder that module.source names. It reports whether it copied all of it.
func (g *generator) copyRoot() bool {
	c := g.component
	if c.Module == nil { // it was reported
		return false
	}
	named, ok := g.nameRoot()
	if !ok {
		return false
	}
	found, ok := g.findFile(named)
	if !ok {
		return false
	}
	line := c.Module.Source.Line
	if !found.entry.IsDir() {
		g.addf(line, "name the folder that it is in", "component %s: %s: %s is a file", c.Name, moduleField, named.path.Text)
		return false
	}
	if files := found.entry.Tree(); files.Count() > maxCopiedFiles {
		g.addf(line, "name the folder of the root module in module.path", "component %s: its root module has %d files, and %d is the limit", c.Name, files.Count(), maxCopiedFiles)
		return false
	}
	size, whole := 0, true
	g.copyFolder(moduleField, named.path, found, func(file string, data []byte) {
		if slices.Contains(reservedFiles, file) {
			whole = false
			g.addf(line, "give the file another name", "component %s: its root module has the file %s, which is written when it is run", c.Name, file)
			return
		}
		g.checkLocalFile(named.path, file, data)
		size += len(data)
		g.files[file] = data
		g.origins[file] = problem.Pos{Layer: found.pos.Layer, File: path.Join(found.pos.File, file)}
	})
	if size > maxCopiedSize {
		g.addf(line, "name the folder of the root module in module.path", "component %s: its root module has %d bytes, and %d is the limit", c.Name, size, maxCopiedSize)
	}
	return whole
}

// nameRoot returns the folder of a copied root module as findFile takes it: one of the stack's own
// repository, or of another one that is read with Git.
func (g *generator) nameRoot() (namedFile, bool) {
	m := g.component.Module
	if folder, local := m.LocalFolder(); local {
		return namedFile{field: moduleField, path: model.Text{Text: folder, Line: m.Source.Line}, layer: LocalLayer(g.component)}, true
	}
	before := len(g.problems)
	git, ok := g.resolveRepository(m)
	if !ok {
		if !g.problems[before:].Stops() {
			g.addf(m.Source.Line, "name a repository, as https://github.com/acme/network.git", "component %s: a root module is copied from a Git repository, and module.source is %s", g.component.Name, m.Source.Text)
		}
		return namedFile{}, false
	}
	if strings.Contains("/"+m.Source.Text+"/"+m.Path+"/", "/../") {
		g.addf(m.Source.Line, "move it into the repository", "component %s: %s: the folder is outside of the repository", g.component.Name, moduleField)
		return namedFile{}, false
	}
	text := func(t string) model.Text { return model.Text{Text: t, Line: m.Source.Line} }
	return namedFile{field: moduleField, source: text(git.repo), path: text(git.folder), ref: git.ref}, true
}

func (g *generator) resolveRepository(m *model.StackModule) (gitAddress, bool) {
	source, _ := g.resolveSource(m)
	return parseGitAddress(source)
}

// OwnFolder returns the folder of the stack's own repository that a component has its module in.
func OwnFolder(m *model.Model, c *stack.Component) (folder string, own bool) {
	if c.Module == nil {
		return "", false
	}
	if folder, local := c.Module.LocalFolder(); local {
		return folder, true
	}
	if !c.IsCopied() {
		return "", false
	}
	git, ok := (&generator{model: m, component: c}).resolveRepository(c.Module)
	if !ok {
		return "", false
	}
	repo, _ := c.Stack.FindSource(m, c.Stack.LayerAt(c.Module.Source.Line), git.repo, git.ref)
	return git.folder, repo == ""
}

// addOutputs adds the outputs that a copied root module does not have: those of the module in it that
// is called like the component, as CloudKnit does, and the values of charts.
func (g *generator) addOutputs(content *rootContent) {
	c := g.component
	source, called := content.modules[c.Name]
	g.values, g.sensitive = map[string]hclwrite.Tokens{}, content.sensitive
	var missing []model.StackOutput
	for _, o := range g.distinctOutputs() {
		name := o.Name.Text
		tokens, has := content.outputs[name]
		switch {
		case has:
			g.values[name] = tokens
			if tokens == nil && g.isChartValue(name) {
				g.addf(o.Name.Line, "write the output in a file .tf", "component %s: a chart takes its output %s, which its root module has in JSON", c.Name, name)
			}
		case called:
			missing = append(missing, o)
		case content.complete:
			g.addf(o.Name.Line, "write the output in the root module", "component %s: its root module has no output %s, and no module %s that could have it", c.Name, name, c.Name)
		}
	}
	if len(missing) > 0 && strings.HasPrefix(source, ".") {
		g.findSensitive(source, missing)
	}
	if g.overlays[outputsFile] || len(missing) == 0 && len(chartsOf(c)) == 0 {
		return
	}
	g.addFile(outputsFile, func(body *hclwrite.Body) { g.appendOutputs(body, missing) })
}

func (g *generator) findSensitive(folder string, outputs []model.StackOutput) {
	files, err := tree.FromFiles(g.files)
	if err != nil { // it is reported when all files are there
		return
	}
	found, _ := readInterface(files.Sub(path.Clean(folder))) // what cannot be read was reported
	for _, o := range outputs {
		g.sensitive[o.Name.Text] = found.outputs[o.Name.Text]
	}
}

func (g *generator) isChartValue(output string) bool {
	return slices.ContainsFunc(chartsOf(g.component), func(chart *stack.Component) bool {
		return slices.ContainsFunc(chart.Variables, func(v stack.Variable) bool {
			return v.From != nil && v.From.Component == g.component.Name && v.From.Output == output
		})
	})
}

// checkBackend returns the backend of a copied root module, which is where its state is. Without one,
// tofu-controller would keep the state in the cluster, and not where it was before.
func (g *generator) checkBackend(content *rootContent) (backend, bool) {
	const hint = "write terraform { backend \"s3\" { … } } in it, or in an overlay"
	c, line := g.component, g.component.StackComponent.Name.Line
	if c.Module != nil {
		line = c.Module.Source.Line
	}
	b := content.backend
	switch {
	case !content.complete: // it was reported
		return backend{}, false
	case content.cloud:
		g.addf(line, hint, "component %s: its root module has terraform { cloud }, of which tofu-controller cannot save plans", c.Name)
		return backend{}, false
	case b == nil && !content.hasFiles:
		g.addf(line, "name the folder of the root module in module.path", "component %s: the folder that module.source names has no file .tf", c.Name)
		return backend{}, false
	case b == nil:
		g.addf(line, hint, "component %s: its root module has no backend, and nothing says where its state is", c.Name)
		return backend{}, false
	case b.kind == "local" || b.kind == "remote":
		g.addf(line, hint, "component %s: its root module has the backend %s, %s", c.Name, b.kind, map[string]string{
			"local": "and the pod that runs it is deleted with its files", "remote": "of which tofu-controller cannot save plans"}[b.kind])
		return backend{}, false
	}
	for _, name := range stateAttributes[b.kind] {
		if _, has := b.find(name); !has {
			g.addf(line, "write it there: nothing else names it", "component %s: the backend %s of its root module has no %s", c.Name, b.kind, name)
			return backend{}, false
		}
	}
	return *b, true
}
