package rootmodule

import (
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// declaredSchema are the blocks that a root module may have once, and that values may refer to.
var declaredSchema = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
	{Type: "provider", LabelNames: []string{"name"}}, {Type: "module", LabelNames: []string{"name"}}, {Type: "output", LabelNames: []string{"name"}},
	{Type: "variable", LabelNames: []string{"name"}}, {Type: "data", LabelNames: []string{"type", "name"}}, {Type: "resource", LabelNames: []string{"type", "name"}},
	{Type: "locals"}, {Type: "terraform"},
}}

// declarations are what the files of a root module declare, by how values refer to it, with the file.
type declarations map[string]string

// checkRoot reports overlays, and files of a module beside them, that Terraform cannot read, blocks that are
// there twice, and values that refer to what nothing declares: Terraform would refuse the root module.
func (g *generator) checkRoot() {
	refers := slices.ContainsFunc(g.inputs, func(in input) bool {
		return in.value != nil && (len(in.value.Variables()) > 0 || len(listCalls(in.value)) > 0)
	})
	if len(g.overlays) == 0 && !g.hasLocalModule() && !refers {
		return
	}
	declared, complete := declarations{}, true
	for _, file := range sortedKeys(g.files) {
		folder := path.Dir(file)
		if folder != "." && folder != localFolder || !isModuleFile(file) && !isVariablesFile(file) {
			continue
		}
		f, err := parseFile(file, g.files[file])
		switch {
		case err != nil:
			complete = false
			g.reportUnparsed(file, err)
		case folder == "." && isModuleFile(file):
			g.addDeclared(declared, file, f)
		}
	}
	if complete && !g.hasOwnCall() {
		g.checkReferences(declared)
	}
}

// checkTofu reports files that OpenTofu alone reads: it takes NAME.tofu in the place of NAME.tf, which is what
// people review, and what is checked.
func (g *generator) checkTofu() {
	for _, file := range sortedKeys(g.files) {
		name := strings.TrimSuffix(file, ".json")
		if !strings.HasSuffix(name, ".tofu") {
			continue
		}
		c, renamed := g.component, strings.TrimSuffix(name, ".tofu")+".tf"+strings.TrimPrefix(file, name)
		g.addf(c.StackComponent.Name.Line, "name it "+renamed, "component %s: OpenTofu reads %s in the place of %s, and Terraform does not read it", c.Name, file, renamed)
	}
}

func (g *generator) hasLocalModule() bool {
	if g.component.Module == nil {
		return false
	}
	_, local := g.component.Module.LocalFolder()
	return local
}

// reportUnparsed reports a file of people that cannot be parsed. What is wrong with a generated one was
// reported where it comes from.
func (g *generator) reportUnparsed(file string, err error) {
	c := g.component
	switch {
	case g.overlays[file]:
		g.addf(c.StackComponent.Name.Line, "", "component %s: line %d of the overlay %s cannot be parsed: %v", c.Name, max(1, lineOf(err)), file, err)
	case path.Dir(file) == localFolder:
		g.addf(c.Module.Source.Line, "", "component %s: line %d of %s of its module cannot be parsed: %v", c.Name, max(1, lineOf(err)), path.Base(file), err)
	}
}

// addDeclared adds the blocks of a file. Those of a file of overrides change others.
func (g *generator) addDeclared(declared declarations, file string, f *hcl.File) {
	content, _, _ := f.Body.PartialContent(declaredSchema) // what else is there is Terraform's
	for _, block := range content.Blocks {
		switch block.Type {
		case "locals":
			attributes, _ := block.Body.JustAttributes() // Terraform reports blocks
			for name := range attributes {
				g.declare(declared, file, "local."+name)
			}
		case "terraform":
			g.addSettings(declared, file, block.Body)
		case "resource":
			g.declare(declared, file, strings.Join(block.Labels, "."))
		case "variable":
			g.declare(declared, file, "var."+block.Labels[0])
		case "provider":
			attributes, _, _ := block.Body.PartialContent(&hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "alias"}}})
			g.declare(declared, file, strings.TrimSuffix("provider."+block.Labels[0]+"."+constantAttribute(attributes, "alias"), "."))
		default:
			g.declare(declared, file, block.Type+"."+strings.Join(block.Labels, "."))
		}
	}
}

// declare notes that a file declares something, and reports it if another file does so too.
func (g *generator) declare(declared declarations, file, name string) {
	first, twice := declared[name]
	switch {
	case !twice:
		declared[name] = file
	case overrideRank(first) > 0:
		declared[name] = file
	case overrideRank(file) == 0:
		overlay, other := file, first
		if !g.overlays[overlay] {
			overlay, other = first, file
		}
		g.addf(g.component.StackComponent.Name.Line, "remove it, or name the overlay "+other+" to replace that file", "component %s: the overlay %s has %s, which %s has too", g.component.Name, overlay, name, other)
	}
}

// addSettings adds what a block of settings may have once.
func (g *generator) addSettings(declared declarations, file string, body hcl.Body) {
	found, _, _ := body.PartialContent(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
		{Type: "required_providers"}, {Type: "backend", LabelNames: []string{"type"}}, {Type: "cloud"},
	}})
	for _, block := range found.Blocks {
		name := "terraform." + block.Type
		if block.Type == "backend" && g.overlays[file] && g.overlays[declared[name]] { // findBackend reports it
			continue
		}
		g.declare(declared, file, name)
	}
}

// checkReferences reports values that refer to what the root module does not declare.
func (g *generator) checkReferences(declared declarations) {
	for _, in := range g.inputs {
		if in.value == nil {
			continue
		}
		for _, reference := range in.value.Variables() {
			g.checkReference(declared, in, reference)
		}
		g.checkFunctions(in)
	}
}

func (g *generator) checkReference(declared declarations, in input, reference hcl.Traversal) {
	var names []string
	for _, step := range reference[1:] {
		attribute, ok := step.(hcl.TraverseAttr)
		if !ok {
			break
		}
		names = append(names, attribute.Name)
	}
	parts := 1 // of the name, behind its first word
	switch reference.RootName() {
	case "path", "terraform":
		return
	case "zlocals": // what is not in the stack was reported
		return
	case "data":
		parts = 2
	}
	if len(names) < parts && (declaredWords[reference.RootName()] || in.pos.File == g.component.Stack.Pos.File) { // Terraform says what is missing, or it was reported
		return
	}
	if len(names) < parts {
		g.problems.Addf(in.pos, g.component.Stack.Subject(), "a zlocal is written ${zlocals.name}, and the text itself $${name}", "component %s: the variable %s refers to %s, which is nothing", g.component.Name, in.name, reference.RootName())
		return
	}
	c, name := g.component, strings.Join(append([]string{reference.RootName()}, names[:parts]...), ".")
	if name == "module."+c.Name {
		g.problems.Addf(in.pos, c.Stack.Subject(), "a value can be that of another component, by valueFrom", "component %s: the variable %s refers to %s, which is the module that is given it", c.Name, in.name, name)
		return
	}
	if declared[name] == "" {
		hint := problem.DidYouMean(name, sortedKeys(declared))
		if other := c.Stack.FindComponent(names[parts-1]); other != nil && strings.HasPrefix(name, remoteState) {
			hint = "add " + other.Name + " to dependsOn"
		}
		g.problems.Addf(in.pos, c.Stack.Subject(), hint, "component %s: the variable %s refers to %s, which nothing in its root module declares", c.Name, in.name, name)
		return
	}
	if strings.HasPrefix(name, remoteState) && len(names) > 3 && names[2] == "outputs" {
		g.checkOutput(in, names[1], names[3])
	}
}

// declaredWords begin references to what blocks declare.
var declaredWords = map[string]bool{"data": true, "local": true, "module": true, "var": true, "each": true, "count": true, "self": true}

// remoteState begins a reference to the state of another component.
const remoteState = "data.terraform_remote_state."

func (g *generator) checkOutput(in input, component, output string) {
	from := g.component.Stack.FindComponent(component)
	if from == nil || from.IsCopied() || len(from.OverlayFiles) > 0 || len(from.OverlayData) > 0 {
		return
	}
	names := list.Convert(from.Outputs, func(o model.StackOutput) string { return o.Name.Text })
	if slices.Contains(names, output) {
		return
	}
	hint := problem.DidYouMean(output, names)
	if hint == "" {
		hint = "add it to the outputs of " + component
	}
	g.problems.Addf(in.pos, g.component.Stack.Subject(), hint, "component %s: the variable %s refers to the output %s, which %s does not have", g.component.Name, in.name, output, component)
}
