package clustermodule

import (
	"maps"
	"slices"
	"strconv"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
)

// argument is what a root module gives to a variable of the module that it calls: a constant, or an
// expression of variables of its own.
type argument struct {
	name   string
	value  cty.Value       // of a constant
	tokens hclwrite.Tokens // of an expression
	pos    []any           // of the manifest, where the value is written; nil for the part as a whole
	// unset is true if nothing is written, and value says so: a module without the variable lacks nothing.
	unset bool
	// extra is true if the ClusterModules names it.
	extra bool
}

// variable is a variable of a root module. Its value is that of a key of a Secret.
type variable struct {
	name, secret, key string
	sensitive         bool
}

func newConstant(name string, value cty.Value) argument { return argument{name: name, value: value} }

// newWritten returns an argument whose value may be written at a path of the manifest.
func newWritten(name string, value cty.Value, isWritten bool, pos ...any) argument {
	return argument{name: name, value: value, pos: pos, unset: !isWritten}
}

// newExpression returns an argument that is known only when Terraform runs.
func newExpression(name string, tokens hclwrite.Tokens) argument {
	return argument{name: name, tokens: tokens}
}

// readVariable adds a variable that is read from a Secret, and returns the expression of its value.
func (p *Part) readVariable(v variable) hclwrite.Tokens {
	if !slices.Contains(p.variables, v) {
		p.variables = append(p.variables, v)
	}
	return hclwrite.TokensForTraversal(hcl.Traversal{hcl.TraverseRoot{Name: "var"}, hcl.TraverseAttr{Name: v.name}})
}

// readOutput returns the expression of an output of another part, which this one depends on.
func (p *Part) readOutput(from *Part, name, output string, sensitive bool) hclwrite.Tokens {
	if !slices.Contains(p.After, from) {
		p.After = append(p.After, from)
	}
	return p.readVariable(variable{name: name, secret: from.OutputsSecret, key: output, sensitive: sensitive})
}

// decodeJSON returns the expression of a value that is JSON in a Secret.
func decodeJSON(tokens hclwrite.Tokens) hclwrite.Tokens {
	return hclwrite.TokensForFunctionCall("jsondecode", tokens)
}

// pair is a key of an object, with the expression of its value.
type pair struct {
	key   string
	value hclwrite.Tokens
}

// objectOf returns the expression of an object.
func objectOf(pairs []pair) hclwrite.Tokens {
	all := make([]hclwrite.ObjectAttrTokens, len(pairs))
	for i, p := range pairs {
		all[i] = hclwrite.ObjectAttrTokens{Name: hclwrite.TokensForValue(cty.StringVal(p.key)), Value: p.value}
	}
	return hclwrite.TokensForObject(all)
}

func newTexts(all []string) cty.Value {
	values := make([]cty.Value, len(all))
	for i, text := range all {
		values[i] = cty.StringVal(text)
	}
	return cty.TupleVal(values)
}

func textMap(all map[string]string) cty.Value {
	values := map[string]cty.Value{}
	for key, text := range all {
		values[key] = cty.StringVal(text)
	}
	return cty.ObjectVal(values)
}

func newNumber(n int) cty.Value { return cty.NumberIntVal(int64(n)) }

// orNull returns a text, or null if there is none.
func orNull(text string) cty.Value {
	if text == "" {
		return cty.NullVal(cty.String)
	}
	return cty.StringVal(text)
}

// twoDigits returns the number of a node as its name has it.
func twoDigits(n int) string {
	text := strconv.FormatInt(int64(n), 16)
	if len(text) < 2 {
		return "0" + text
	}
	return text
}

// Secret is a Secret that a part reads, with its keys as "key:variable".
type Secret struct {
	Name string
	Keys []string
}

// Secrets returns the Secrets that the part reads, sorted by name.
func (p *Part) Secrets() []Secret {
	keys := map[string][]string{}
	for _, v := range p.variables {
		keys[v.secret] = append(keys[v.secret], v.key+":"+v.name)
	}
	var all []Secret
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		slices.Sort(keys[name])
		all = append(all, Secret{name, keys[name]})
	}
	return all
}
