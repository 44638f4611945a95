// Package yamldoc reads, edits and writes YAML documents as nodes.
//
// What the package keeps true: an edited text keeps its comments, its documents and the order of
// its keys. An alias is never mistaken for its target.
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

// Parse returns the document nodes of a text, up to an error.
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

// CheckAliases returns an error in yaml.v3's words for an alias to an earlier document's anchor.
// YAML ends anchors with their document; yaml.v3 does not.
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

// Encode returns values or document nodes as YAML documents, indented by two.
func Encode[T any](values ...T) ([]byte, error) {
	if len(values) == 0 { // an encoder without a document fails
		return nil, nil
	}
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

// RootOf returns a document's root node; nil if it is empty.
func RootOf(document *yaml.Node) *yaml.Node {
	if len(document.Content) == 0 {
		return nil
	}
	return document.Content[0]
}

// ResolveAlias returns an alias's target, or n.
func ResolveAlias(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// IsNull reports whether a node is null.
func IsNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// FindPair returns a key and its value as written in a mapping, for editing; nil if missing. It
// ignores merged pairs.
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

// LookUpPair returns a key and its value with aliases and merges (<<) resolved; nil if missing.
func LookUpPair(n *yaml.Node, name string) (key, value *yaml.Node) {
	return lookUpPair(n, name, map[*yaml.Node]bool{})
}

// lookUpPair visits each mapping once: aliases may multiply or be cyclic.
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

// DescribeType names a node's type.
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

// FindValue returns the value at nested keys with aliases resolved, or nil.
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

// FindText returns the scalar at nested keys, or "".
func FindText(n *yaml.Node, keys ...string) string {
	value := FindValue(n, keys...)
	if value == nil || value.Kind != yaml.ScalarNode {
		return ""
	}
	return value.Value
}

// SetScalar sets a key to a scalar and keeps the old value's comments.
func SetScalar(mapping *yaml.Node, key string, scalar yaml.Node) {
	_, old := FindPair(mapping, key)
	if old == nil {
		AddPair(mapping, key, &scalar)
		return
	}
	scalar.HeadComment, scalar.LineComment, scalar.FootComment = old.HeadComment, old.LineComment, old.FootComment
	*old = scalar
}

// SetText is SetScalar for a text, which is quoted if it would be read as something else.
func SetText(mapping *yaml.Node, key, value string) {
	var n yaml.Node
	n.SetString(value)
	SetScalar(mapping, key, n)
}

// AddPair appends a key that the mapping lacks.
func AddPair(mapping *yaml.Node, key string, value *yaml.Node) {
	mapping.Content = append(mapping.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key}, value)
}

// RemoveKey removes a key and returns the text of its value.
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

// JoinPath appends a key to a path, as in "spec.labels[a/b]"; "" is the root.
func JoinPath(path, key string) string {
	switch {
	case path == "":
		return key
	case strings.ContainsAny(key, "./[] "):
		return path + "[" + key + "]"
	}
	return path + "." + key
}
