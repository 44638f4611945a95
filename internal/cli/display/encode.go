package display

import (
	"bytes"
	"encoding/json"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/kube/manifest"
)

// JSON writes a value as indented JSON.
func JSON(value any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(value)
	return b.Bytes(), err
}

// YAML writes the YAML that says the same as the value's JSON, in the same
// order: types have `json` tags only.
func YAML(value any) ([]byte, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	var node yaml.Node
	if err := yaml.Unmarshal(data, &node); err != nil {
		return nil, err
	}
	plain(&node)
	return manifest.Encode(&node)
}

// plain takes the flow style and the quotes off that JSON has.
func plain(n *yaml.Node) {
	n.Style = 0
	for _, c := range n.Content {
		plain(c)
	}
}
