package argocd

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/stack"
	"github.com/fairlead-io/fairlead/internal/kube/manifest"
	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
)

// buildVariable is the prefix of Argo CD's variables.
const buildVariable = "$ARGOCD_"

func (t *translator) mergeValues(p part, h *helmSource) *yaml.Node {
	values := t.readValues(h)
	for i, one := range h.Parameters {
		if one.Name.Text == "" {
			t.addf(cmp.Or(one.Value.Line, p.RepoURL.Line), "name the value that it sets", "helm.parameters[%d] has no name", i)
			continue
		}
		if strings.Contains(one.Value.Text, buildVariable) {
			t.addf(one.Value.Line, "write the value", "helm.parameters: %s has a variable of Argo CD, which Flux does not have", text.Shorten(one.Name.Text, 100))
		}
		err := setParameter(values, one, len(h.ValueFiles) > 0)
		if err != nil {
			t.addf(one.Name.Line, "write it into helm.valuesObject", "helm.parameters: %s: %v", text.Shorten(one.Name.Text, 100), err)
		}
	}
	t.checkSecrets(p.RepoURL.Line, values, "")
	if len(values.Content) == 0 {
		return nil
	}
	return values
}

func (t *translator) readValues(h *helmSource) *yaml.Node {
	empty := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	if o := h.ValuesObject; o.Kind != 0 && !yamldoc.IsNull(&o) {
		if h.Values.Text != "" {
			t.warnf(h.Values.Line, "remove it", "helm.values has no effect beside helm.valuesObject")
		}
		if o.Kind != yaml.MappingNode {
			t.addf(o.Line, "", "helm.valuesObject should be a mapping, but is %s", yamldoc.DescribeType(&o))
			return empty
		}
		return withoutComments(model.ExpandNode(&o))
	}
	for _, finding := range manifest.Check([]byte(h.Values.Text)) {
		t.addf(h.Values.Line+finding.Line-1, finding.Hint, "helm.values: %s", finding.Summary)
		return empty
	}
	documents, err := yamldoc.Parse([]byte(h.Values.Text))
	switch {
	case err != nil: // already checked
		t.addf(h.Values.Line, "", "helm.values: %v", err)
		return empty
	case len(documents) == 0 || yamldoc.RootOf(documents[0]) == nil || yamldoc.IsNull(yamldoc.RootOf(documents[0])):
		return empty
	case len(documents) > 1:
		t.addf(h.Values.Line, "", "helm.values should be one document, but is %d", len(documents))
		return empty
	}
	root := yamldoc.RootOf(documents[0])
	if root.Kind != yaml.MappingNode {
		t.addf(h.Values.Line, "", "helm.values should be a mapping, but is %s", yamldoc.DescribeType(root))
		return empty
	}
	return withoutComments(model.ExpandNode(root))
}

func withoutComments(n *yaml.Node) *yaml.Node {
	n.HeadComment, n.LineComment, n.FootComment = "", "", ""
	if n.Kind == yaml.MappingNode || n.Kind == yaml.SequenceNode {
		n.Style = 0
	}
	for _, inner := range n.Content {
		withoutComments(inner)
	}
	return n
}

func (t *translator) checkSecrets(line int, n *yaml.Node, key string) {
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			t.checkSecrets(line, n.Content[i+1], n.Content[i].Value)
		}
	case yaml.SequenceNode:
		for _, item := range n.Content {
			t.checkSecrets(line, item, "")
		}
	case yaml.ScalarNode:
		if n.ShortTag() == "!!str" && stack.IsSecretName(key, n.Value) {
			t.warnf(line, "name a Secret in the values, and change it: it is in the history of the repository", "the value %s looks like a secret in clear", text.Shorten(key, 100))
		}
	}
}

type step struct {
	key   string
	index int // -1 for a key
}

const maxIndex = 1000

var indexes = regexp.MustCompile(`^(.*?)((?:\[[0-9]+\])+)$`)

// parseSteps reads a parameter name as Helm does: keys separated by dots, backslash
// escapes, and indexes in brackets.
func parseSteps(name string) ([]step, error) {
	var keys []string
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		switch c := name[i]; {
		case c == '\\' && i+1 < len(name):
			i++
			b.WriteByte(name[i])
		case c == '.':
			keys = append(keys, b.String())
			b.Reset()
		case c == ',' || c == '=' || c == '{' || c == '}':
			return nil, fmt.Errorf("its name has the character %q", c)
		default:
			b.WriteByte(c)
		}
	}
	var steps []step
	for _, key := range append(keys, b.String()) {
		found := indexes.FindStringSubmatch(key)
		if found != nil {
			key = found[1]
		}
		if key == "" {
			return nil, errors.New("its name has an empty part")
		}
		steps = append(steps, step{key, -1})
		if found == nil {
			continue
		}
		for part := range strings.SplitSeq(strings.Trim(found[2], "[]"), "][") {
			index, err := strconv.Atoi(part)
			if err != nil || index >= maxIndex {
				return nil, fmt.Errorf("the index %s is over %d", text.Shorten(part, 20), maxIndex-1)
			}
			steps = append(steps, step{"", index})
		}
	}
	return steps, nil
}

// setParameter sets a value as "helm --set" does. With values files, the contents of
// lists are unknown.
func setParameter(values *yaml.Node, p parameter, hasFiles bool) error {
	steps, err := parseSteps(p.Name.Text)
	if err != nil {
		return err
	}
	at := values
	for i, s := range steps {
		if s.index >= 0 && hasFiles {
			return errors.New("an item of a list cannot be set where helm.valueFiles may have the list")
		}
		at, err = descend(at, s, i == 0)
		if err != nil {
			return err
		}
	}
	*at = *parameterValue(p)
	return nil
}

func descend(n *yaml.Node, s step, isRoot bool) (*yaml.Node, error) {
	isNew := n.Kind == 0 || !isRoot && yamldoc.IsNull(n)
	switch {
	case s.index < 0 && isNew:
		*n = yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	case s.index >= 0 && isNew:
		*n = yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	}
	if s.index < 0 {
		if n.Kind != yaml.MappingNode {
			return nil, fmt.Errorf("there is %s where it has the key %s", yamldoc.DescribeType(n), text.Shorten(s.key, 100))
		}
		_, value := yamldoc.FindPair(n, s.key)
		if value == nil {
			value = &yaml.Node{}
			yamldoc.AddPair(n, s.key, value)
		}
		return value, nil
	}
	if n.Kind != yaml.SequenceNode {
		return nil, fmt.Errorf("there is %s where it has the index %d", yamldoc.DescribeType(n), s.index)
	}
	for len(n.Content) <= s.index {
		n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"})
	}
	return n.Content[s.index], nil
}

func parameterValue(p parameter) *yaml.Node {
	v := p.Value.Text
	if inner, isList := strings.CutPrefix(v, "{"); isList && strings.HasSuffix(inner, "}") {
		list := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		inner = strings.TrimSuffix(inner, "}")
		if inner == "" {
			return list
		}
		for item := range strings.SplitSeq(inner, ",") {
			list.Content = append(list.Content, scalarOf(strings.TrimSpace(item), p.ForceString))
		}
		return list
	}
	return scalarOf(v, p.ForceString)
}

var wholeNumber = regexp.MustCompile(`^(0|-?[1-9][0-9]{0,17})$`)

func scalarOf(v string, isText bool) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Value: v}
	switch {
	case isText:
		n.SetString(v)
	case v == "true" || v == "false":
		n.Tag = "!!bool"
	case v == "null":
		n.Tag = "!!null"
	case wholeNumber.MatchString(v):
		n.Tag = "!!int"
	default:
		n.SetString(v)
	}
	return n
}
