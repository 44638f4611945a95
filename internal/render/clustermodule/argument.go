package clustermodule

import (
	"maps"
	"slices"
	"strconv"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
)

// argument is the value of a variable of the called module: a constant, or an
// expression of own variables.
type argument struct {
	name   string
	value  cty.Value       // of a constant
	tokens hclwrite.Tokens // of an expression
	pos    []any           // in the manifest; nil for the whole part
	// unset means that nothing is written: a module may lack the variable.
	unset bool
	// extra is true for values of the ClusterModules.
	extra bool
}

// variable is a root module's variable with the value of a Secret's key.
type variable struct {
	name, secret, key string
	sensitive         bool
}

func newConstant(name string, value cty.Value) argument { return argument{name: name, value: value} }

func newWritten(name string, value cty.Value, isWritten bool, pos ...any) argument {
	return argument{name: name, value: value, pos: pos, unset: !isWritten}
}

func newExpression(name string, tokens hclwrite.Tokens) argument {
	return argument{name: name, tokens: tokens}
}

func (p *Part) readVariable(v variable) hclwrite.Tokens {
	if !slices.Contains(p.variables, v) {
		p.variables = append(p.variables, v)
	}
	return hclwrite.TokensForTraversal(hcl.Traversal{hcl.TraverseRoot{Name: "var"}, hcl.TraverseAttr{Name: v.name}})
}

func (p *Part) readOutput(from *Part, name, output string, sensitive bool) hclwrite.Tokens {
	if !slices.Contains(p.After, from) {
		p.After = append(p.After, from)
	}
	return p.readVariable(variable{name: name, secret: from.OutputsSecret, key: output, sensitive: sensitive})
}

func decodeJSON(tokens hclwrite.Tokens) hclwrite.Tokens {
	return hclwrite.TokensForFunctionCall("jsondecode", tokens)
}

type pair struct {
	key   string
	value hclwrite.Tokens
}

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

func orNull(text string) cty.Value {
	if text == "" {
		return cty.NullVal(cty.String)
	}
	return cty.StringVal(text)
}

func twoDigits(n int) string {
	text := strconv.FormatInt(int64(n), 16)
	if len(text) < 2 {
		return "0" + text
	}
	return text
}

// Secret is a Secret that a part reads, with "key:variable" keys.
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
