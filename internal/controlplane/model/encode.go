package model

import "github.com/fairlead-io/fairlead/internal/kube/yamldoc"

// EncodeObject returns the text of an object of a kind of our own.
func EncodeObject(kind, name string, spec any) ([]byte, error) {
	type metadata struct {
		Name string `yaml:"name"`
	}
	return yamldoc.Encode(struct {
		APIVersion string   `yaml:"apiVersion"`
		Kind       string   `yaml:"kind"`
		Metadata   metadata `yaml:"metadata"`
		Spec       any      `yaml:"spec"`
	}{OwnAPIVersion, kind, metadata{name}, spec})
}
