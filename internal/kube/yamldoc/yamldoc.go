// Package yamldoc reads, edits and writes YAML documents as nodes, with their comments.
//
// What the package keeps true: an edited text keeps its comments, its documents and the order of
// its keys; and a node is never taken for the alias that stands for it.
package yamldoc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// Parse returns the document nodes of a text, in order. If there is an error, they are those
// before it.
func Parse(text []byte) ([]*yaml.Node, error) {
	var documents []*yaml.Node
	for decoder := yaml.NewDecoder(bytes.NewReader(text)); ; {
		document := &yaml.Node{}
		err := decoder.Decode(document)
		if errors.Is(err, io.EOF) {
			return documents, nil
		}
		if err == nil {
			err = CheckAliases(document)
		}
		if err != nil {
			return documents, err
		}
		documents = append(documents, document)
	}
}

// CheckAliases returns an error, worded as yaml.v3 does, if an alias of a document refers to an anchor of an
// earlier document. YAML ends anchors with their document; yaml.v3 keeps them for the whole text.
func CheckAliases(document *yaml.Node) error {
	return checkAliases(document, document.Line)
}

func checkAliases(n *yaml.Node, begin int) error {
	if n.Kind == yaml.AliasNode && n.Alias.Line < begin {
		return fmt.Errorf("yaml: line %d: unknown anchor '%s' referenced", n.Line, n.Value)
	}
	for _, child := range n.Content {
		if err := checkAliases(child, begin); err != nil {
			return err
		}
	}
	return nil
}

// Encode returns values, or document nodes, as YAML for people: a document each, indented by two.
func Encode[T any](values ...T) ([]byte, error) {
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	for _, v := range values {
		if err := e.Encode(v); err != nil {
			return nil, err
		}
	}
	err := e.Close()
	return b.Bytes(), err
}

// RootOf returns the root node of a document; nil if the document is empty.
func RootOf(document *yaml.Node) *yaml.Node {
	if len(document.Content) == 0 {
		return nil
	}
	return document.Content[0]
}

// ResolveAlias returns the node that an alias stands for, and any other node itself.
func ResolveAlias(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// IsNull reports whether a node is null.
func IsNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// FindPair returns a key of a mapping and its value as they are written in it, for changing
// them; nil if there is none. Pairs that are merged in are not written there.
func FindPair(n *yaml.Node, name string) (key, value *yaml.Node) {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil, nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i], n.Content[i+1]
		}
	}
	return nil, nil
}

// LookUpPair returns a key of a mapping and its value as YAML reads them: with aliases resolved, and
// also those that are merged into the mapping (<<); nil if there is none.
func LookUpPair(n *yaml.Node, name string) (key, value *yaml.Node) {
	return lookUpPair(n, name, map[*yaml.Node]bool{})
}

// lookUpPair looks into each mapping once: aliases may multiply, or stand for what contains them.
func lookUpPair(n *yaml.Node, name string, visited map[*yaml.Node]bool) (key, value *yaml.Node) {
	if n == nil || n.Kind != yaml.MappingNode || visited[n] {
		return nil, nil
	}
	visited[n] = true
	var merged []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value = ResolveAlias(n.Content[i]), ResolveAlias(n.Content[i+1])
		switch {
		case key.ShortTag() == "!!merge" && value.Kind == yaml.SequenceNode:
			merged = append(merged, value.Content...)
		case key.ShortTag() == "!!merge" && value.Kind == yaml.MappingNode:
			merged = append(merged, value)
		case key.Kind == yaml.ScalarNode && key.Value == name:
			return key, value
		}
	}
	for _, m := range merged {
		key, value = lookUpPair(ResolveAlias(m), name, visited)
		if key != nil {
			return key, value
		}
	}
	return nil, nil
}

// DescribeType names the type of a node for people.
func DescribeType(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	}
	switch n.ShortTag() {
	case "!!int", "!!float":
		return "a number"
	case "!!bool":
		return "a boolean"
	case "!!null":
		return "null"
	case "!!str":
		return "text"
	case "!!timestamp":
		return "a date"
	}
	return "of type " + n.ShortTag()
}

// FindValue returns the value at the end of keys of nested mappings, with aliases resolved; nil
// if there is none.
func FindValue(n *yaml.Node, keys ...string) *yaml.Node {
	for _, key := range keys {
		_, n = FindPair(n, key)
		if n == nil {
			return nil
		}
		n = ResolveAlias(n)
	}
	return n
}

// FindText returns the text of the scalar at the end of keys of nested mappings; "" if there is
// none.
func FindText(n *yaml.Node, keys ...string) string {
	value := FindValue(n, keys...)
	if value == nil || value.Kind != yaml.ScalarNode {
		return ""
	}
	return value.Value
}

// SetScalar sets a key of a mapping to a scalar, and keeps the comments of the value before.
func SetScalar(mapping *yaml.Node, key string, scalar yaml.Node) {
	_, old := FindPair(mapping, key)
	if old == nil {
		AddPair(mapping, key, &scalar)
		return
	}
	scalar.HeadComment, scalar.LineComment, scalar.FootComment = old.HeadComment, old.LineComment, old.FootComment
	*old = scalar
}

// AddPair adds a key to the end of a mapping that does not have it.
func AddPair(mapping *yaml.Node, key string, value *yaml.Node) {
	mapping.Content = append(mapping.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key}, value)
}

// RemoveKey removes a key from a mapping, and returns the text of its value.
func RemoveKey(mapping *yaml.Node, key string) string {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			value := ResolveAlias(mapping.Content[i+1]).Value
			mapping.Content = slices.Delete(mapping.Content, i, i+2)
			return value
		}
	}
	return ""
}

// JoinPath returns the path of a key below the path of a mapping, as in "spec.labels[a/b]"; ""
// is the path of the root.
func JoinPath(path, key string) string {
	switch {
	case path == "":
		return key
	case strings.ContainsAny(key, "./[] "):
		return path + "[" + key + "]"
	}
	return path + "." + key
}
