package manifest

import (
	"bytes"

	"gopkg.in/yaml.v3"
)

// Encode returns values as YAML for people: a document each, indented by two.
func Encode(values ...any) ([]byte, error) {
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

// Pair returns a key of a mapping and its value as they are written in it, for changing
// them; nil if there is none. Pairs that are merged in are not written there.
func Pair(n *yaml.Node, name string) (key, value *yaml.Node) {
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
