package kustomize

import (
	"encoding/json"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// FoldedText returns what kustomize makes of a folded scalar (>) by writing and rereading it. It
// adds a line break before a more indented line, and one at the end if the scalar keeps final
// breaks.
func FoldedText(text string) (string, error) {
	const key = "text"
	object := yaml.NewMapRNode(nil)
	folded := yaml.NewRNode(&yaml.Node{Kind: yaml.ScalarNode, Tag: yaml.NodeTagString, Style: yaml.FoldedStyle, Value: text})
	if err := object.PipeE(yaml.SetField(key, folded)); err != nil {
		return "", err
	}
	written, err := object.MarshalJSON()
	if err != nil {
		return "", err
	}
	read := map[string]string{}
	err = json.Unmarshal(written, &read)
	return read[key], err
}
