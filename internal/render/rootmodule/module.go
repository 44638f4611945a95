package rootmodule

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/stack"
)

// reserved are the arguments of a module block that are not variables of the module.
var reserved = []string{"source", "version", "providers", "count", "for_each", "lifecycle", "depends_on", "locals"}

// writeModule writes the call of the component's module: inline variables, secrets, and then the
// file of variables as it stands.
func (g *generator) writeModule(body *hclwrite.Body) {
	c := g.component
	module := body.AppendNewBlock("module", []string{c.Name}).Body()
	if c.Module == nil { // it was reported
		return
	}
	source, version := g.findModule(c.Module)
	module.SetAttributeValue("source", cty.StringVal(source))
	if version != "" {
		module.SetAttributeValue("version", cty.StringVal(version))
	}
	names := map[string]bool{}
	for _, v := range c.Variables {
		pos := c.Stack.PositionAt(v.Line)
		g.checkReserved(pos, v.Name)
		names[v.Name] = true
		if v.From != nil {
			g.addInput(pos, v.Name, nil)
			module.SetAttributeRaw(v.Name, outputTokens(v.From))
			continue
		}
		tokens, err := quoteTemplate(v.Value)
		if err != nil {
			g.addf(v.Line, "write $${ for the text ${, and %%{ for the text %{", "component %s: the value of the variable %s is not a text of Terraform: %s", c.Name, v.Name, err.Error())
			continue
		}
		g.addInput(pos, v.Name, parseTemplate(v.Value))
		module.SetAttributeRaw(v.Name, tokens)
	}
	for _, secret := range c.Secrets {
		pos := c.Stack.PositionAt(secret.Name.Line)
		g.checkReserved(pos, secret.Name.Text)
		g.addInput(pos, secret.Name.Text, nil)
		names[secret.Name.Text] = true
		module.SetAttributeTraversal(secret.Name.Text, traversalOf("data", "aws_ssm_parameter", secret.Name.Text, "value"))
	}
	if c.VariablesFile != nil {
		g.unread = !g.appendVariablesFile(module, c.VariablesFile, names)
	}
}

func (g *generator) checkReserved(pos problem.Pos, name string) {
	if slices.Contains(reserved, name) {
		g.problems.Addf(pos, g.component.Stack.Subject(), "Terraform has no variables of this name", "component %s: %s cannot be a variable of a module", g.component.Name, name)
	}
}

// appendVariablesFile appends a file of variables to a module block, with its comments. It may hold
// whatever Terraform takes there, and not only constants. It reports whether the file was read.
func (g *generator) appendVariablesFile(module *hclwrite.Body, file *model.VariablesFile, names map[string]bool) bool {
	c := g.component
	found, ok := g.findFile(namedFile{field: variablesField, source: file.Source, path: file.Path, ref: file.Ref})
	if !ok {
		return false
	}
	subject := c.Stack.Subject()
	text := c.Stack.ExpandFile(string(found.entry.Data), func(line int, name string) {
		g.problems.Warnf(found.positionAt(line), subject, "a zlocal is written ${zlocals.name}, and the text itself $${name}", "component %s: ${%s} refers to nothing that is known", c.Name, name)
	})
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	tokens, _ := hclsyntax.LexConfig([]byte(text), found.pos.File, hcl.InitialPos) // parsing reports the same
	if err := checkNesting(tokens); err != nil {
		g.problems.Addf(found.pos, subject, "write it in parts", "component %s: the file of variables is not read: %v", c.Name, err)
		return false
	}
	parsed, diagnostics := hclsyntax.ParseConfig([]byte(text), found.pos.File, hcl.InitialPos)
	if diagnostics.HasErrors() {
		for _, d := range diagnostics {
			line := 0
			if d.Subject != nil {
				line = d.Subject.Start.Line
			}
			g.problems.Addf(found.positionAt(line), subject, "it is lines such as name = \"value\"", "component %s: the file of variables cannot be parsed: %s", c.Name, d.Summary)
		}
		return false
	}
	content := parsed.Body.(*hclsyntax.Body) // of native syntax
	for _, block := range content.Blocks {
		g.problems.Addf(found.positionAt(block.TypeRange.Start.Line), subject, "a mapping is written with an equals sign: "+block.Type+" = {", "component %s: the file of variables has a block %s", c.Name, block.Type)
	}
	sorted := slices.SortedFunc(maps.Values(content.Attributes), func(a, b *hclsyntax.Attribute) int {
		return cmp.Compare(a.NameRange.Start.Line, b.NameRange.Start.Line)
	})
	for _, a := range sorted {
		at := found.positionAt(a.NameRange.Start.Line)
		g.checkReserved(at, a.Name)
		g.checkClear(at, a)
		g.addInput(at, a.Name, a.Expr)
		if names[a.Name] {
			g.problems.Addf(at, subject, "remove one of them", "component %s: %s is in this file, and in the variables or secrets of the component too", c.Name, a.Name)
		}
	}
	if copied, more := hclwrite.ParseConfig([]byte(text), found.pos.File, hcl.InitialPos); !more.HasErrors() {
		module.AppendUnstructuredTokens(copied.Body().BuildTokens(nil))
	}
	return true
}

// checkClear reports a secret in clear in a file of variables: the root module is published.
func (g *generator) checkClear(pos problem.Pos, a *hclsyntax.Attribute) {
	const hint = "put it into secrets, and change it: it is in the history of the repository"
	name, subject := g.component.Name, g.component.Stack.Subject()
	value, diagnostics := a.Expr.Value(nil)
	if diagnostics.HasErrors() { // it refers to something
		return
	}
	switch text := constantText(value); {
	case stack.HasSecret(text):
		g.problems.Addf(pos, subject, hint, "component %s: %s holds a secret in clear", name, a.Name)
	case value.Type() == cty.String && stack.IsSecretName(a.Name, text):
		g.problems.Warnf(pos, subject, hint, "component %s: %s looks like a secret in clear", name, a.Name)
	}
}

func constantText(value cty.Value) string {
	var b strings.Builder
	_ = cty.Walk(value, func(_ cty.Path, v cty.Value) (bool, error) { // the function returns no error
		if v.Type() == cty.String && v.IsKnown() && !v.IsNull() {
			b.WriteString(v.AsString() + "\n")
		}
		return true, nil
	})
	return strings.TrimSuffix(b.String(), "\n")
}

func outputTokens(ref *stack.OutputRef) hclwrite.Tokens {
	tokens := hclwrite.TokensForTraversal(traversalOf("data", "terraform_remote_state", ref.StateName(), "outputs", ref.Output))
	return append(tokens, &hclwrite.Token{Type: hclsyntax.TokenIdent, Bytes: []byte(ref.Index)})
}

func traversalOf(names ...string) hcl.Traversal {
	all := hcl.Traversal{hcl.TraverseRoot{Name: names[0]}}
	for _, name := range names[1:] {
		all = append(all, hcl.TraverseAttr{Name: name})
	}
	return all
}

// escapes are what cannot stand in a quoted text.
var escapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "\t", `\t`)

// quoteTemplate returns a text as a quoted one of Terraform, in which ${…} and %{…} stay alive, as
// CloudKnit has them. A text that is one expression and nothing else is that expression: it means
// the same, and Terraform formats it so.
func quoteTemplate(value string) (hclwrite.Tokens, error) {
	tokens, _ := hclsyntax.LexTemplate([]byte(value), "", hcl.InitialPos) // parsing reports the same
	if err := checkNesting(tokens); err != nil {
		return nil, err
	}
	template, diagnostics := hclsyntax.ParseTemplate([]byte(value), "", hcl.InitialPos)
	if diagnostics.HasErrors() {
		return nil, errorOf(diagnostics)
	}
	text := "\"" + escapeLiterals(value, tokens) + "\""
	if whole, ok := template.(*hclsyntax.TemplateWrapExpr); ok {
		text = string(whole.Wrapped.Range().SliceBytes([]byte(value)))
	}
	f, diagnostics := hclwrite.ParseConfig([]byte("value = "+text+"\n"), "", hcl.InitialPos)
	if diagnostics.HasErrors() {
		return nil, errorOf(diagnostics)
	}
	return f.Body().GetAttribute("value").Expr().BuildTokens(nil), nil
}

// escapeLiterals escapes a template of these tokens, which can be parsed, for quotes. What is in its expressions is
// left as it is.
func escapeLiterals(template string, tokens hclsyntax.Tokens) string {
	var b strings.Builder
	end, depth := 0, 0 // of the token before, since blanks are no tokens; of expressions
	for _, t := range tokens {
		b.WriteString(template[end:t.Range.Start.Byte])
		end = t.Range.End.Byte
		text := string(t.Bytes)
		switch t.Type {
		case hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl:
			depth++
		case hclsyntax.TokenTemplateSeqEnd:
			depth--
		case hclsyntax.TokenStringLit:
			if depth == 0 {
				text = escapes.Replace(text)
			}
		}
		b.WriteString(text)
	}
	return b.String()
}
