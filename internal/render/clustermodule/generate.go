package clustermodule

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/clusters"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/render/rootmodule"
)

const mainFile = "main.tf"

// Generate returns the root module of a part, and whether the called module is pinned.
// With problems it only serves to find more.
func Generate(m *model.Model, manifest *clusters.Manifest, modules *model.ClusterModules, p *Part) (files tree.Tree, fixed bool, problems problem.List) {
	g := &generator{model: m, manifest: manifest, modules: modules, part: p}
	g.addExtra()
	g.findModule()
	g.checkCall()
	texts := map[string][]byte{mainFile: g.write()}
	rootmodule.AddRequest(texts, rootmodule.FindRequest(m, manifest.PlanStack(), p.Name))
	files, err := tree.FromFiles(texts)
	if err != nil { // names are fixed
		g.addf("", "the root module cannot be written: %v", err)
	}
	return files, g.module.Fixed, g.problems
}

type generator struct {
	model    *model.Model
	manifest *clusters.Manifest
	modules  *model.ClusterModules
	part     *Part
	module   rootmodule.CalledModule
	problems problem.List
}

// addf adds a problem at the name of the part's module.
func (g *generator) addf(hint, format string, args ...any) {
	g.problems.Addf(g.modules.PositionOf(g.part.field...), g.modules.Subject(), hint, "%s: %s", g.part.Title, fmt.Sprintf(format, args...))
}

func (g *generator) addExtra() {
	for name, text := range g.part.module.Variables {
		if i := slices.IndexFunc(g.part.arguments, func(a argument) bool { return a.name == name }); i >= 0 {
			g.problems.Addf(g.modules.PositionOf(g.fieldOf(name)...), g.modules.Subject(), "remove it", "%s: the variable %s has its value from the manifest", g.part.Title, name)
			continue
		}
		g.part.arguments = append(g.part.arguments, argument{name: name, value: cty.StringVal(text), extra: true})
	}
}

func (g *generator) fieldOf(variable string) []any {
	return append(g.part.field[:len(g.part.field):len(g.part.field)], "variables", variable)
}

func (g *generator) findModule() {
	if g.part.module.Path == "" {
		if len(g.part.field) > 0 { // unknown providers are reported elsewhere
			g.addf("write the folder of the module, as in path: modules/"+g.part.kind.name, "%s.path is required", joinField(g.part.field))
		}
		return
	}
	source, err := sourceOf(&g.modules.Spec, g.part.module.Path)
	if err != nil { // checkSource reports it
		return
	}
	g.module, err = rootmodule.FindModule(g.model, source)
	if err != nil {
		g.problems.Warnf(g.modules.PositionOf(g.part.field...), g.modules.Subject(), "", "%s: the variables of the module are not checked: %v", g.part.Title, err)
	}
}

func joinField(field []any) string {
	words := make([]string, len(field))
	for i, word := range field {
		words[i] = fmt.Sprint(word)
	}
	return "spec." + strings.Join(words, ".")
}

func (g *generator) write() []byte {
	f := hclwrite.NewEmptyFile()
	body := f.Body()
	for _, v := range slices.SortedFunc(slices.Values(g.part.variables), func(a, b variable) int { return strings.Compare(a.name, b.name) }) {
		block := body.AppendNewBlock("variable", []string{v.name}).Body()
		block.SetAttributeRaw("type", hclwrite.TokensForIdentifier("string"))
		if v.sensitive {
			block.SetAttributeValue("sensitive", cty.True)
		}
		body.AppendNewline()
	}
	if ref := g.modules.Spec.Ref; g.module.Pinned && ref != "" {
		body.AppendUnstructuredTokens(hclwrite.Tokens{{Type: hclsyntax.TokenComment, Bytes: []byte("# " + ref + "\n")}})
	}
	call := body.AppendNewBlock("module", []string{g.part.kind.name}).Body()
	call.SetAttributeValue("source", cty.StringVal(g.module.Source))
	for _, a := range slices.SortedFunc(slices.Values(g.part.arguments), func(a, b argument) int { return strings.Compare(a.name, b.name) }) {
		switch {
		case g.isLeftOut(a):
		case a.tokens != nil:
			call.SetAttributeRaw(a.name, a.tokens)
		default:
			call.SetAttributeValue(a.name, a.value)
		}
	}
	for i, name := range g.part.Outputs {
		body.AppendNewline()
		from := g.part.kind.outputs[i]
		value := hclwrite.TokensForTraversal(hcl.Traversal{hcl.TraverseRoot{Name: "module"}, hcl.TraverseAttr{Name: g.part.kind.name}, hcl.TraverseAttr{Name: from}})
		if !isText(name) {
			value = hclwrite.TokensForFunctionCall("jsonencode", value)
		}
		output := body.AppendNewBlock("output", []string{name}).Body()
		output.SetAttributeRaw("value", value)
		output.SetAttributeValue("sensitive", cty.True)
	}
	return hclwrite.Format(f.Bytes())
}

func isText(output string) bool { return output == Kubeconfig || output == "endpoint" }

// isLeftOut reports whether an unwritten argument can be omitted, since the module has
// or may have a default.
func (g *generator) isLeftOut(a argument) bool {
	if !a.unset || !g.module.IsRead() {
		return a.unset
	}
	_, hasDefault := g.module.Variables()
	return !g.module.HasVariable(a.name) || hasDefault(a.name)
}

func isAlwaysGiven(a argument) bool { return !a.extra && a.pos == nil }

// checkCall reports unknown and missing variables, wrong types and missing outputs.
func (g *generator) checkCall() {
	if !g.module.IsRead() {
		return
	}
	names, hasDefault := g.module.Variables()
	given := map[string]bool{}
	for _, a := range g.part.arguments {
		given[a.name] = true
		switch {
		case !g.module.HasVariable(a.name):
			g.reportUnknown(a, names)
		case a.tokens == nil && !a.value.IsNull() && !g.module.Takes(a.name, a.value):
			pos, subject := g.positionOf(a)
			g.problems.Addf(pos, subject, "declare it with the type of what is written there", "%s: the variable %s of %s is of the type %s, and cannot have this value", g.part.Title, a.name, g.part.module.Path, g.module.Kind(a.name))
		}
	}
	for _, name := range names {
		if !given[name] && !hasDefault(name) {
			g.addf("add it to variables, or give it a default", "%s needs the variable %s, which has no default", g.part.module.Path, name)
		}
	}
	for _, name := range g.part.kind.outputs {
		if outputs := g.module.Outputs(); !slices.Contains(outputs, name) {
			g.addf(rootmodule.HintNames(name, outputs, "outputs"), "%s has no output %s", g.part.module.Path, name)
		}
	}
}

func (g *generator) positionOf(a argument) (problem.Pos, string) {
	switch {
	case a.extra:
		return g.modules.PositionOf(g.fieldOf(a.name)...), g.modules.Subject()
	case a.pos != nil:
		return g.manifest.PositionOf(a.pos...), g.manifest.Subject()
	}
	return g.modules.PositionOf(g.part.field...), g.modules.Subject()
}

func (g *generator) reportUnknown(a argument, names []string) {
	pos, subject := g.positionOf(a)
	switch {
	case a.unset:
	case a.extra:
		g.problems.Addf(pos, subject, rootmodule.HintNames(a.name, names, "variables"), "%s: %s has no variable %s", g.part.Title, g.part.module.Path, a.name)
	case isAlwaysGiven(a):
		g.addf("declare it: every "+strings.ReplaceAll(g.part.kind.name, "_", " ")+" module is given "+a.name, "%s has no variable %s", g.part.module.Path, a.name)
	default:
		g.problems.Addf(pos, subject, "declare it in the module, or remove what is written here", "%s: %s has no variable %s, and so would not do this", g.part.Title, g.part.module.Path, a.name)
	}
}

var errFolder = errors.New("it is no folder of the repository: write it as in modules/hetzner/network")

func sourceOf(modules *model.ClusterModulesSpec, folder string) (string, error) {
	clean := strings.Trim(folder, "/")
	if clean == "" || strings.Contains(clean, "//") || slices.ContainsFunc(strings.Split(clean, "/"), func(s string) bool { return !folderName.MatchString(s) }) {
		return "", errFolder
	}
	return rootmodule.GitSource(modules.Repo, clean, modules.Ref)
}
