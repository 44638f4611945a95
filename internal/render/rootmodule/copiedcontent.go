package rootmodule

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclparse"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// rootContent is what is read of the files of a copied root module.
type rootContent struct {
	outputs   map[string]hclwrite.Tokens // their values; nil of those that are written in JSON
	sensitive map[string]bool            // outputs that are marked as that
	modules   map[string]string          // their sources
	backend   *backend
	cloud     bool
	hasFiles  bool // of Terraform, and not in folders alone
	complete  bool // all files were read
	fixed     bool // all modules that it calls have a version
}

// readRoot reads the files of a copied root module, with the overlays. Files of overrides are read
// last, as Terraform does.
func (g *generator) readRoot() *rootContent {
	content := &rootContent{outputs: map[string]hclwrite.Tokens{}, sensitive: map[string]bool{}, modules: map[string]string{}, complete: true, fixed: true}
	for _, name := range moduleFilesInOrder(g.files) {
		f, err := parseFile(name, g.files[name])
		if err != nil {
			content.complete = false
			g.addAt(name, lineOf(err), "", "component %s: its root module cannot be read: %v", g.component.Name, err)
			continue
		}
		if isModuleFile(name) {
			content.hasFiles = content.hasFiles || !strings.Contains(name, "/")
			g.readRootFile(content, name, f)
		}
	}
	return content
}

// moduleFilesInOrder returns the names of files of Terraform in the order in which it reads them: those of
// overrides are last.
func moduleFilesInOrder[V any](files map[string]V) []string {
	names := slices.DeleteFunc(sortedKeys(files), func(name string) bool { return !isModuleFile(name) && !isVariablesFile(name) })
	slices.SortStableFunc(names, func(a, b string) int { return overrideRank(a) - overrideRank(b) })
	return names
}

// isVariablesFile reports whether Terraform reads values of variables from a file of a root module
// without being told to.
func isVariablesFile(name string) bool {
	base := strings.TrimSuffix(name, ".json")
	return !strings.Contains(name, "/") && (base == "terraform.tfvars" || strings.HasSuffix(base, ".auto.tfvars"))
}

func overrideRank(name string) int {
	base := strings.TrimSuffix(path.Base(name), ".json")
	if base == "override.tf" || strings.HasSuffix(base, "_override.tf") {
		return 1
	}
	return 0
}

func (g *generator) addAt(file string, line int, hint, format string, args ...any) {
	s := g.component.Stack
	pos, has := g.origins[file]
	if !has || g.overlays[file] {
		pos, line = s.PositionAt(0), g.component.StackComponent.Name.Line
	}
	pos.Line = line
	g.problems.Addf(pos, s.Subject(), hint, format, args...)
}

func parseFile(name string, data []byte) (*hcl.File, error) {
	parser := hclparse.NewParser()
	if strings.HasSuffix(name, ".json") {
		var bad *json.SyntaxError
		if err := json.Unmarshal(data, new(json.RawMessage)); errors.As(err, &bad) { // which bounds how deep it is nested
			return nil, &syntaxError{1 + bytes.Count(data[:min(int(bad.Offset), len(data))], []byte("\n")), "it is not JSON"}
		}
		f, diagnostics := parser.ParseJSON(data, name)
		return f, errorOf(diagnostics)
	}
	tokens, _ := hclsyntax.LexConfig(data, name, hcl.InitialPos) // parsing reports the same
	if err := checkNesting(tokens); err != nil {
		return nil, err
	}
	f, diagnostics := parser.ParseHCL(data, name)
	return f, errorOf(diagnostics)
}

var rootSchema = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
	{Type: "output", LabelNames: []string{"name"}}, {Type: "module", LabelNames: []string{"name"}}, {Type: "terraform"},
}}

// readRootFile reads the blocks of a file. Of files in folders, only the modules count that they call.
func (g *generator) readRootFile(content *rootContent, name string, f *hcl.File) {
	found, _, _ := f.Body.PartialContent(rootSchema) // what else is there is Terraform's
	for _, block := range found.Blocks {
		switch {
		case block.Type == "module":
			source, fixed := readCall(block.Body)
			content.fixed = content.fixed && fixed
			if !strings.Contains(name, "/") {
				content.modules[block.Labels[0]] = source
			}
		case strings.Contains(name, "/"):
		case block.Type == "output":
			name := block.Labels[0]
			content.outputs[name] = valueTokens(block.Body, f.Bytes)
			content.sensitive[name] = content.sensitive[name] || isSensitiveOutput(block.Body)
		default:
			g.readTerraformBlock(content, name, block.Body)
		}
	}
}

// readCall returns the source of the module of a call, and whether that is the same one whenever Terraform runs.
func readCall(body hcl.Body) (source string, fixed bool) {
	attributes, _, _ := body.PartialContent(&hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "source"}, {Name: "version"}}})
	source, version := constantAttribute(attributes, "source"), constantAttribute(attributes, "version")
	return source, strings.HasPrefix(source, ".") || IsVersioned(&model.StackModule{Source: model.Text{Text: source}, Version: model.Text{Text: version}})
}

func constantAttribute(content *hcl.BodyContent, name string) string {
	written := content.Attributes[name]
	if written == nil {
		return ""
	}
	value, diagnostics := written.Expr.Value(nil)
	if diagnostics.HasErrors() || value.IsNull() || !value.IsWhollyKnown() || value.Type() != cty.String {
		return ""
	}
	return value.AsString()
}

// valueTokens returns the expression of an output; nil if that cannot be written elsewhere, as JSON.
func valueTokens(body hcl.Body, text []byte) hclwrite.Tokens {
	native, ok := body.(*hclsyntax.Body)
	if !ok || native.Attributes["value"] == nil {
		return nil
	}
	expression := native.Attributes["value"].Expr.Range().SliceBytes(text)
	f, diagnostics := hclwrite.ParseConfig(fmt.Appendf(nil, "value = (%s)\n", expression), "", hcl.InitialPos)
	if diagnostics.HasErrors() {
		return nil
	}
	return f.Body().GetAttribute("value").Expr().BuildTokens(nil)
}

func (g *generator) readTerraformBlock(content *rootContent, name string, body hcl.Body) {
	found, _, _ := body.PartialContent(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "backend", LabelNames: []string{"type"}}, {Type: "cloud"}}})
	for _, block := range found.Blocks {
		line := block.DefRange.Start.Line
		if block.Type == "cloud" {
			content.cloud = true
			continue
		}
		if content.backend != nil && overrideRank(name) == 0 {
			content.complete = false
			g.addAt(name, line, "remove one of them", "component %s: its root module has two backends", g.component.Name)
			continue
		}
		b, err := readBackend(block)
		if err != nil {
			content.complete = false
			g.addAt(name, line, "write its settings as constants: name = \"value\"", "component %s: the backend %s of its root module cannot be read: %v", g.component.Name, b.kind, err)
			continue
		}
		content.backend = &b
	}
}

func readBackend(block *hcl.Block) (backend, error) {
	b := backend{kind: block.Labels[0]}
	attributes, diagnostics := block.Body.JustAttributes()
	if diagnostics.HasErrors() {
		return b, errorOf(diagnostics)
	}
	for _, name := range sortedKeys(attributes) {
		a := attributes[name]
		value, diagnostics := a.Expr.Value(nil)
		switch {
		case diagnostics.HasErrors() || !value.IsWhollyKnown():
			return b, fmt.Errorf("%s is no constant", name)
		case !hclsyntax.ValidIdentifier(name):
			return b, fmt.Errorf("%q cannot be the name of a setting", name)
		}
		if !value.IsNull() {
			b.attributes = append(b.attributes, attribute{name, value})
		}
	}
	return b, nil
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
