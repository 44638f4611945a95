package kustomize

import (
	"encoding/json"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// FoldedText returns what becomes of the text of a folded scalar (>) when kustomize
// reads an object: it is written and read again, and gets a line break before a line
// that is indented more, and one more at the end if it keeps those at its end.
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
