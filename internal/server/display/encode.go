package display

import (
	"bytes"
	"encoding/json"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
)

// EncodeJSON returns a value as indented JSON.
func EncodeJSON(value any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(value)
	return b.Bytes(), err
}

// EncodeYAML returns the YAML equivalent of the value's JSON, in the same order: types have
// `json` tags only.
func EncodeYAML(value any) ([]byte, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	var node yaml.Node
	if err := yaml.Unmarshal(data, &node); err != nil {
		return nil, err
	}
	clearStyle(&node)
	return yamldoc.Encode(&node)
}

// clearStyle removes the flow style and the quotes of JSON.
func clearStyle(n *yaml.Node) {
	n.Style = 0
	for _, c := range n.Content {
		clearStyle(c)
	}
}
