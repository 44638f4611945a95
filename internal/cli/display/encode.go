package display

import (
	"bytes"
	"encoding/json"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/kube/manifest"
)

// JSON returns a value as indented JSON.
func JSON(value any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(value)
	return b.Bytes(), err
}

// YAML returns the YAML equivalent of the value's JSON, in the same order: types have
// `json` tags only.
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

// plain removes the flow style and the quotes of JSON.
func plain(n *yaml.Node) {
	n.Style = 0
	for _, c := range n.Content {
		plain(c)
	}
}
