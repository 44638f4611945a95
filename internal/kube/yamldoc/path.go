package yamldoc

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// Path leads from the root of a document to one of its values. A step is the key of a mapping, or the
// name or the index of an item of a list.
type Path []string

// ParsePath parses what [JoinPath] writes, as in "spec.labels[a/b]".
func ParsePath(text string) (Path, error) {
	var p Path
	for rest := text; ; {
		end := strings.IndexAny(rest, ".[")
		if end < 0 {
			end = len(rest)
		}
		if end > 0 {
			p = append(p, rest[:end])
		}
		rest = rest[end:]
		for strings.HasPrefix(rest, "[") {
			step, after, closed := strings.Cut(rest[1:], "]")
			if !closed || step == "" {
				return nil, fmt.Errorf("the path %s has a bracket that is not closed, or nothing in it", text)
			}
			p, rest, end = append(p, step), after, 1
		}
		switch {
		case rest == "" && end > 0:
			return p, nil
		case end == 0 || !strings.HasPrefix(rest, "."):
			return nil, fmt.Errorf("the path %s has an empty step", text)
		}
		rest = rest[1:]
	}
}

// String returns the path as [JoinPath] writes it.
func (p Path) String() string {
	text := ""
	for _, step := range p {
		text = JoinPath(text, step)
	}
	return text
}

// Find returns the value at the path, with aliases resolved; nil if there is none.
func (p Path) Find(root *yaml.Node) *yaml.Node {
	for _, step := range p {
		i := findStep(root, step)
		if i < 0 {
			return nil
		}
		root = ResolveAlias(root.Content[i])
	}
	return root
}

// findStep returns the index of the value of a step in the content of a node; -1 if it has none.
func findStep(n *yaml.Node, step string) int {
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == step {
				return i + 1
			}
		}
	case yaml.SequenceNode:
		named := slices.IndexFunc(n.Content, func(item *yaml.Node) bool { return FindText(item, "name") == step })
		if i, err := strconv.Atoi(step); named < 0 && err == nil && i >= 0 && i < len(n.Content) {
			return i
		}
		return named
	}
	return -1
}

// changeValue returns a decoded document with an edit made: what the edited text must be decoded to.
func (e TextEdit) changeValue(document any, path Path) (any, error) {
	if len(path) == 0 {
		return e.endValue(document)
	}
	step := path[0]
	switch in := document.(type) {
	case map[string]any:
		below, err := e.changeValue(in[step], path[1:])
		switch {
		case err != nil:
			return nil, err
		case below == removed:
			delete(in, step)
		default:
			in[step] = below
		}
		if len(in) == 0 && e.Value == nil {
			return removed, nil
		}
		return in, nil
	case []any:
		var n yaml.Node
		if err := n.Encode(in); err != nil {
			return nil, err
		}
		i := findStep(&n, step)
		if i < 0 {
			return nil, fmt.Errorf("there is no item %s", step)
		}
		below, err := e.changeValue(in[i], path[1:])
		switch {
		case err != nil:
			return nil, err
		case below == removed && len(in) == 1:
			return removed, nil
		case below == removed:
			return slices.Delete(in, i, i+1), nil
		}
		in[i] = below
		return in, nil
	case nil:
		below, err := e.changeValue(nil, path[1:])
		return map[string]any{step: below}, err
	}
	return nil, fmt.Errorf("%s is below a value that has no parts", step)
}

// removed is what [TextEdit.changeValue] returns for a value that is gone.
var removed any = new(int)

func (e TextEdit) endValue(old any) (any, error) {
	if e.Value == nil {
		return removed, nil
	}
	var value any
	if err := e.Value.Decode(&value); err != nil || !e.Insert {
		return value, err
	}
	items, _ := old.([]any)
	at := len(items)
	if e.After != "" {
		var n yaml.Node
		if err := n.Encode(items); err != nil {
			return nil, err
		}
		at = findStep(&n, e.After) + 1
	}
	return slices.Insert(slices.Clone(items), at, value), nil
}
