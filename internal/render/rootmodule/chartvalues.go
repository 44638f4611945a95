package rootmodule

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"github.com/fairlead-io/fairlead/internal/controlplane/stack"
)

// ValuesPrefix begins the names of the outputs that hold values of charts.
const ValuesPrefix = "fairlead_values_"

// ValuesOutput returns the name of the output that holds the values which a chart takes from a
// component: one text in YAML, since a value that is no text would lose its type on the way.
func ValuesOutput(chart *stack.Component) string { return ValuesPrefix + chart.Name }

// ValuesOutputs returns the names of all such outputs of a component, sorted.
func ValuesOutputs(c *stack.Component) []string {
	var names []string
	for _, chart := range chartsOf(c) {
		names = append(names, ValuesOutput(chart))
	}
	return names
}

func chartsOf(c *stack.Component) []*stack.Component {
	var all []*stack.Component
	for _, user := range c.NeededBy {
		if user.Type == stack.Helm && slices.ContainsFunc(user.Variables, func(v stack.Variable) bool { return v.From != nil && v.From.Component == c.Name }) {
			all = append(all, user)
		}
	}
	slices.SortFunc(all, func(a, b *stack.Component) int { return strings.Compare(a.Name, b.Name) })
	return all
}

type values struct {
	tokens hclwrite.Tokens // nil for a mapping
	keys   map[string]*values
}

// add adds an expression at the end of keys. What is there twice was reported.
func (v *values) add(keys []string, tokens hclwrite.Tokens) {
	if len(keys) == 0 {
		v.tokens = tokens
		return
	}
	if v.keys == nil {
		v.keys = map[string]*values{}
	}
	if v.keys[keys[0]] == nil {
		v.keys[keys[0]] = &values{}
	}
	v.keys[keys[0]].add(keys[1:], tokens)
}

func (v *values) expression() hclwrite.Tokens {
	if v.tokens != nil {
		return v.tokens
	}
	var names []string
	for name := range v.keys {
		names = append(names, name)
	}
	slices.Sort(names)
	var all []hclwrite.ObjectAttrTokens
	for _, name := range names {
		all = append(all, hclwrite.ObjectAttrTokens{Name: hclwrite.TokensForValue(cty.StringVal(name)), Value: v.keys[name].expression()})
	}
	return hclwrite.TokensForObject(all)
}

func (g *generator) writeChartValues(body *hclwrite.Body) {
	for _, chart := range chartsOf(g.component) {
		all, sensitive := &values{}, false
		for _, v := range chart.Variables {
			if v.From == nil || v.From.Component != g.component.Name {
				continue
			}
			tokens, own := g.values[v.From.Output]
			if !own {
				tokens = hclwrite.TokensForTraversal(traversalOf("module", g.component.Name, v.From.Output))
			}
			all.add(stack.SplitValueName(v.Name), append(slices.Clone(tokens), &hclwrite.Token{Type: hclsyntax.TokenIdent, Bytes: []byte(v.From.Index)}))
			sensitive = sensitive || g.isSensitive(v.From.Output)
		}
		if len(body.Blocks()) > 0 {
			body.AppendNewline()
		}
		output := body.AppendNewBlock("output", []string{ValuesOutput(chart)}).Body()
		output.SetAttributeRaw("value", hclwrite.TokensForFunctionCall("yamlencode", all.expression()))
		if sensitive {
			output.SetAttributeValue("sensitive", cty.True)
		}
	}
}
