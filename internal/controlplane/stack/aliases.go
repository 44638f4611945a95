package stack

import (
	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
)

// hasAliases reports whether a document has aliases: to change what one stands for changes others too.
func hasAliases(n *yaml.Node) bool {
	if n.Kind == yaml.AliasNode {
		return true
	}
	for _, inner := range n.Content {
		if hasAliases(inner) {
			return true
		}
	}
	return false
}

// expandAliases puts copies of what aliases stand for in their places, and into mappings what is merged
// into them. How large that makes a document was checked when it was read.
func expandAliases(n *yaml.Node) {
	n.Anchor = ""
	for i, inner := range n.Content {
		if inner.Kind == yaml.AliasNode {
			n.Content[i] = copyNode(inner.Alias)
		}
		expandAliases(n.Content[i])
	}
	if n.Kind == yaml.MappingNode {
		mergePairs(n)
	}
}

func copyNode(n *yaml.Node) *yaml.Node {
	c := *n
	c.Content = nil
	for _, inner := range n.Content {
		c.Content = append(c.Content, copyNode(inner))
	}
	return &c
}

// mergePairs replaces the keys "<<" of a mapping by the pairs that they merge into it: those that it does
// not have, and of several the first.
func mergePairs(n *yaml.Node) {
	pairs := n.Content
	n.Content = nil
	var merged []*yaml.Node
	for i := 0; i+1 < len(pairs); i += 2 {
		key, value := pairs[i], pairs[i+1]
		switch {
		case key.ShortTag() != "!!merge":
			n.Content = append(n.Content, key, value)
		case value.Kind == yaml.SequenceNode:
			merged = append(merged, value.Content...)
		default:
			merged = append(merged, value)
		}
	}
	for _, m := range merged {
		for i := 0; i+1 < len(m.Content); i += 2 {
			known, _ := yamldoc.FindPair(n, m.Content[i].Value)
			if known == nil {
				n.Content = append(n.Content, m.Content[i], m.Content[i+1])
			}
		}
	}
}
