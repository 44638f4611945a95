package rootmodule

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/stack"
)

const (
	moduleField    = "module.source"
	variablesField = "variablesFile"
	// localFolder is the folder of a root module that holds a module of the stack's own repository.
	localFolder = "module"
)

// LocalLayer returns the name of the layer with the module of a component, if that is in none of another
// repository: the base for "base", or else the layer in which the component names it.
func LocalLayer(c *stack.Component) string {
	if c.Module.IsOfBase() {
		return model.BaseLayer
	}
	return c.Stack.LayerAt(c.Module.Source.Line)
}

// findModule returns the source of a component's module as Terraform takes it, and its version. A
// module of the stack's own repository becomes a part of the root module, and one that is read at
// the head of a branch gets the commit of that, so that its move is a change of the root module.
func (g *generator) findModule(m *model.StackModule) (source, version string) {
	if folder, local := m.LocalFolder(); local {
		if m.Version.Text != "" {
			g.problems.Warnf(g.component.Stack.PositionAt(m.Version.Line), g.component.Stack.Subject(), "remove it", "component %s: module.version has no effect on a folder of the stack's own repository", g.component.Name)
		}
		written := model.Text{Text: folder, Line: m.Source.Line}
		found, ok := g.findFile(namedFile{field: moduleField, path: written, layer: LocalLayer(g.component)})
		switch {
		case !ok:
		case !found.entry.IsDir():
			g.addf(written.Line, "name the folder that it is in", "component %s: %s: %s is a file", g.component.Name, moduleField, folder)
		default:
			files := found.entry.Tree()
			g.module = &files
			g.copyFolder(moduleField, written, found, func(file string, data []byte) {
				g.checkLocalFile(written, file, data)
				g.files[path.Join(localFolder, file)] = data
			})
		}
		return "./" + localFolder, ""
	}
	source, version = g.resolveSource(m)
	layer, folder := findModuleLayer(g.model, source)
	if layer == nil {
		g.reportNoModule(source)
		return source, version
	}
	files := layer.Files.Sub(folder)
	g.module = &files
	if layer.Moves {
		source = withCommit(source, layer.Commit)
	}
	return source, version
}

func (g *generator) reportNoModule(source string) {
	git, ok := parseGitAddress(source)
	layer, named := g.model.Stacks.Layers[stack.SourceName(git.repo, git.ref)]
	line := g.component.Module.Source.Line
	if follows, decided := stack.FollowsModules(g.model); !ok || !named || decided && !follows || g.reportUnread(layer, line) || !layer.Modules {
		return
	}
	g.addf(line, "mend module.source or module.path", "component %s: %s has no module in the folder %q at commit %s", g.component.Name, layer.Name, "/"+git.folder, layer.Commit)
}

// checkLocalFile reports what a file of a module cannot have that is published with the root module:
// state, a secret in clear, and the source of a module that is not published with it.
func (g *generator) checkLocalFile(written model.Text, file string, data []byte) {
	name := g.component.Name
	if isState(file) {
		g.reportState(moduleField, written, path.Join(written.Text, file))
		return
	}
	if stack.HasSecret(string(data)) {
		g.addf(written.Line, "read it from a secret, and change it: it is in the history of the repository", "component %s: %s: %s holds a secret in clear", name, moduleField, path.Join(written.Text, file))
	}
	for _, source := range readSources(file, data) {
		if folder := path.Join(path.Dir(file), source); folder == ".." || strings.HasPrefix(folder, "../") {
			g.addf(written.Line, "only that folder is published: move the other module into it", "component %s: %s: %s has the source %s, which is outside of %s", name, moduleField, path.Join(written.Text, file), source, written.Text)
		}
	}
}

// stateFile matches the names of files in which Terraform keeps state when it is run by hand.
var stateFile = regexp.MustCompile(`\.tfstate(\.[0-9]+)?(\.backup)?$`)

func isState(file string) bool {
	return strings.Contains("/"+file, "/.terraform/") || stateFile.MatchString(file)
}

func (g *generator) reportState(field string, written model.Text, file string) {
	g.addf(written.Line, "remove it from the repository, and change the secrets that it holds", "component %s: %s: %s is state of Terraform, which may hold secrets", g.component.Name, field, file)
}

// readSources returns the sources of modules in a file of Terraform that are folders beside it. That it
// cannot be parsed is reported elsewhere, or by Terraform.
func readSources(file string, data []byte) []string {
	if !strings.HasSuffix(file, ".tf") {
		return nil
	}
	parsed, err := parseFile(file, data)
	if err != nil {
		return nil
	}
	return listSources(parsed)
}

func listSources(parsed *hcl.File) []string {
	var all []string
	content, _, _ := parsed.Body.PartialContent(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "module", LabelNames: []string{"name"}}}})
	for _, block := range content.Blocks {
		attributes, _, _ := block.Body.PartialContent(&hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "source"}}})
		if source := constantAttribute(attributes, "source"); strings.HasPrefix(source, ".") {
			all = append(all, source)
		}
	}
	return all
}

// findModuleLayer returns the layer with the module of a source, and its folder; nil if it was not
// read.
func findModuleLayer(m *model.Model, source string) (*model.Layer, string) {
	git, ok := parseGitAddress(source)
	if !ok {
		return nil, ""
	}
	layer, read := m.Stacks.Layers[stack.SourceName(git.repo, git.ref)]
	follows, decided := stack.FollowsModules(m)
	if !read || decided && !follows || !HasModule(layer.Files, git.folder) {
		return nil, ""
	}
	return &layer, git.folder
}

// isFixed reports whether the module of the component is the same one whenever Terraform runs.
func (g *generator) isFixed(m *model.StackModule) bool {
	if _, local := m.LocalFolder(); local || IsVersioned(m) {
		return true
	}
	source, _ := (&generator{model: g.model, component: g.component}).resolveSource(m) // its problems were reported
	layer, _ := findModuleLayer(g.model, source)
	return layer != nil
}

// input is an input of a component's module, and the expression of its value; nil if that is not
// known before Terraform runs.
type input struct {
	pos   problem.Pos
	name  string
	value hcl.Expression
}

func (g *generator) addInput(pos problem.Pos, name string, value hcl.Expression) {
	g.inputs = append(g.inputs, input{pos, name, value})
}

// parseTemplate returns the expression of a text in quotes; nil if it cannot be parsed.
func parseTemplate(value string) hcl.Expression {
	template, diagnostics := hclsyntax.ParseTemplate([]byte(value), "", hcl.InitialPos)
	if diagnostics.HasErrors() {
		return nil
	}
	return template
}

type moduleVariable struct {
	kind       string // string, number, bool, list, set, map, object, tuple or any; "" if it is not known
	hasDefault bool
}

type moduleInterface struct {
	variables map[string]moduleVariable
	outputs   map[string]bool // whether each is marked as sensitive
}

// checkModule reports inputs that the module of the component does not have, those that it lacks,
// values of other types, and outputs that it does not have.
func (g *generator) checkModule() {
	if g.module == nil || g.hasOwnCall() {
		return
	}
	c := g.component
	found, err := g.found, g.foundError
	if err != nil && g.hasLocalModule() && lineOf(err) > 0 { // it was reported
		return
	}
	if err != nil {
		g.problems.Warnf(c.Stack.PositionAt(c.Module.Source.Line), c.Stack.Subject(), "", "component %s: its variables are not checked: %v", c.Name, err)
		return
	}
	names, given := slices.Sorted(maps.Keys(found.variables)), map[string]bool{}
	for _, in := range g.inputs {
		given[in.name] = true
		v, known := found.variables[in.name]
		switch {
		case !known && !slices.Contains(reserved, in.name): // those were reported
			g.problems.Addf(in.pos, c.Stack.Subject(), hintNames(in.name, names, "variables"), "component %s: its module has no variable %s", c.Name, in.name)
		case known:
			g.checkValue(in, v)
		}
	}
	for _, name := range names {
		if !found.variables[name].hasDefault && !given[name] && !g.unread {
			g.addf(c.Module.Source.Line, "add it to variables", "component %s: its module needs the variable %s, which has no default", c.Name, name)
		}
	}
	for _, o := range g.distinctOutputs() {
		if _, has := found.outputs[o.Name.Text]; !has {
			g.addf(o.Name.Line, hintNames(o.Name.Text, slices.Sorted(maps.Keys(found.outputs)), "outputs"), "component %s: its module has no output %s", c.Name, o.Name.Text)
		}
	}
}

// hasOwnCall reports whether an overlay takes the place of the call of the module, or changes it.
func (g *generator) hasOwnCall() bool {
	for name := range g.overlays {
		if name == "module.tf" || overrideRank(name) > 0 || strings.HasPrefix(name, localFolder+"/") {
			return true
		}
	}
	return false
}

// maxHintNames bounds the names that a hint lists.
const maxHintNames = 20

func hintNames(name string, names []string, what string) string {
	near := problem.DidYouMean(name, names)
	switch {
	case near != "":
		return near
	case len(names) == 0:
		return "the module has no " + what
	case len(names) > maxHintNames:
		return fmt.Sprintf("the module has %d %s", len(names), what)
	}
	return "its " + what + " are " + strings.Join(names, ", ")
}

// checkValue reports a constant that is not of the type of its variable. CloudKnit has all inline
// values as texts, and Terraform converts those that are numbers and booleans.
func (g *generator) checkValue(in input, v moduleVariable) {
	if in.value == nil {
		return
	}
	value, diagnostics := in.value.Value(nil)
	if diagnostics.HasErrors() || value.IsNull() || !value.IsWhollyKnown() { // it refers to something
		return
	}
	if v.takes(value) {
		return
	}
	hint, article := "", "a"
	if v.kind == "object" {
		article = "an"
	}
	if !v.isPrimitive() && g.component.Stack.IsWrittenIn(in.pos) {
		hint = "write it in a variablesFile, or as ${[\"a\", \"b\"]}"
	}
	g.problems.Addf(in.pos, g.component.Stack.Subject(), hint, "component %s: the variable %s of its module is %s %s, and cannot be %s", g.component.Name, in.name, article, v.kind, describeValue(value))
}

var primitives = map[string]cty.Type{"string": cty.String, "number": cty.Number, "bool": cty.Bool}

func (v moduleVariable) isPrimitive() bool {
	_, is := primitives[v.kind]
	return is
}

func (v moduleVariable) takes(value cty.Value) bool {
	if v.isPrimitive() {
		_, err := convert.Convert(value, primitives[v.kind])
		return err == nil
	}
	return v.kind == "" || v.kind == "any" || !value.Type().IsPrimitiveType()
}

func describeValue(value cty.Value) string {
	if !value.Type().IsPrimitiveType() {
		return "a " + value.Type().FriendlyName()
	}
	converted, err := convert.Convert(value, cty.String)
	if err != nil { // all primitives can be texts
		return "a " + value.Type().FriendlyName()
	}
	return fmt.Sprintf("%q", text.Shorten(converted.AsString(), 40))
}

var (
	moduleSchema = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
		{Type: "variable", LabelNames: []string{"name"}}, {Type: "output", LabelNames: []string{"name"}},
	}}
	variableSchema = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "type"}, {Name: "default"}}}
)

// readInterface reads the blocks of a module that say what it is given and what it returns.
func readInterface(files tree.Tree) (moduleInterface, error) {
	found := moduleInterface{map[string]moduleVariable{}, map[string]bool{}}
	for _, e := range files.Entries() {
		switch {
		case e.IsDir() || !isModuleFile(e.Name):
			continue
		case strings.HasSuffix(e.Name, ".json"):
			return found, fmt.Errorf("%s of its module is JSON", e.Name)
		case e.Mode == tree.ModeSymlink || e.Data == nil && e.ID != tree.HashBlob(nil):
			return found, fmt.Errorf("%s of its module was not read", e.Name)
		}
		f, err := parseFile(e.Name, e.Data)
		if err != nil {
			return found, fmt.Errorf("%s of its module cannot be read: %w", e.Name, err)
		}
		found.addFile(f)
	}
	return found, nil
}

// addFile adds the blocks of a file. A file of overrides may add a default to a variable of another.
func (i moduleInterface) addFile(f *hcl.File) {
	content, _, _ := f.Body.PartialContent(moduleSchema) // what else is there is Terraform's
	for _, block := range content.Blocks {
		name := block.Labels[0]
		if block.Type == "output" {
			i.outputs[name] = i.outputs[name] || isSensitiveOutput(block.Body)
			continue
		}
		attributes, _, _ := block.Body.PartialContent(variableSchema)
		v := i.variables[name]
		if written := attributes.Attributes["type"]; written != nil {
			v.kind = typeKind(written.Expr)
		}
		v.hasDefault = v.hasDefault || attributes.Attributes["default"] != nil
		i.variables[name] = v
	}
}

func isSensitiveOutput(body hcl.Body) bool {
	attributes, _, _ := body.PartialContent(&hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "sensitive"}}})
	written := attributes.Attributes["sensitive"]
	if written == nil {
		return false
	}
	value, diagnostics := written.Expr.Value(nil)
	if diagnostics.HasErrors() || value.IsNull() || !value.IsWhollyKnown() {
		return false // Terraform refuses it
	}
	is, err := convert.Convert(value, cty.Bool)
	return err == nil && is.True()
}

// typeKind returns the word that a type begins with; "" for one that Terraform has had before 0.12.
func typeKind(expression hcl.Expression) string {
	if call, diagnostics := hcl.ExprCall(expression); !diagnostics.HasErrors() {
		return call.Name
	}
	return hcl.ExprAsKeyword(expression)
}
