package stack

import (
	"cmp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
)

var fields = []string{"autoApprove", "description", "workspace"}

func (c *cloner) set(s Setting) error {
	of, name, nested := strings.Cut(s.Key, ".")
	switch {
	case s.Key == "autoApprove":
		if s.Value != "true" && s.Value != "false" {
			return problem.Refusef("it is true or false", "autoApprove cannot be %q", s.Value)
		}
		yamldoc.SetScalar(c.spec, s.Key, yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: s.Value})
		return nil
	case slices.Contains(fields, s.Key):
		yamldoc.SetText(c.spec, s.Key, s.Value)
		return nil
	case !nested || name == "":
		return problem.Refusef("a key is zlocals.NAME, COMPONENT.VARIABLE, "+strings.Join(fields, ", "), "%q cannot be set", s.Key)
	case of == "zlocals":
		return c.setLocal(name, s.Value)
	}
	var known []string
	for _, component := range c.from.StackSpec.Components {
		if component != nil && component.Name.Text == of {
			return setVariable(findNamed(c.spec, "components", of), name, s.Value)
		}
		if component != nil {
			known = append(known, component.Name.Text)
		}
	}
	return problem.Refusef(cmp.Or(problem.DidYouMean(of, known), "the components are "+strings.Join(known, ", ")), "%s has no component %s", c.fromName(), of)
}

func (c *cloner) setLocal(name, value string) error {
	var known []string
	for _, local := range c.from.Zlocals {
		if local.Name.Text == name {
			yamldoc.SetText(findNamed(c.spec, "zlocals", name), "value", value)
			return nil
		}
		known = append(known, local.Name.Text)
	}
	return problem.Refusef(problem.DidYouMean(name, known), "%s has no zlocal %s", c.fromName(), name)
}

// findNamed returns the item of that name in a list at a key of a mapping: a new one if only the blueprint
// has it.
func findNamed(mapping *yaml.Node, key, name string) *yaml.Node {
	list := yamldoc.FindValue(mapping, key)
	if list == nil {
		list = &yaml.Node{Kind: yaml.SequenceNode}
		yamldoc.AddPair(mapping, key, list)
	}
	for _, n := range list.Content {
		if item := yamldoc.ResolveAlias(n); yamldoc.FindText(item, "name") == name {
			return item
		}
	}
	item := &yaml.Node{Kind: yaml.MappingNode}
	yamldoc.SetText(item, "name", name)
	list.Content = append(list.Content, item)
	return item
}

func setVariable(component *yaml.Node, name, value string) error {
	v := findNamed(component, "variables", name)
	yamldoc.RemoveKey(v, "valueFrom")
	yamldoc.SetText(v, "value", value)
	return nil
}
