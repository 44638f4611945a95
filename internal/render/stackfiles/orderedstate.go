package stackfiles

import (
	"bytes"
	"fmt"

	"github.com/fairlead-io/fairlead/internal/kube/manifest"
	"github.com/fairlead-io/fairlead/internal/render/rootmodule"
)

// ListStates returns what identifies the states that Terraform objects name a backend for. States that each
// cluster keeps itself, or has settings of its own for, are left out.
func ListStates(objects []byte) ([]string, error) {
	if !bytes.Contains(objects, []byte("backendConfig")) {
		return nil, nil
	}
	read, err := manifest.Decode(objects)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, o := range read {
		var written struct {
			Spec struct {
				Workspace     string
				BackendConfig struct {
					CustomConfiguration string `yaml:"customConfiguration"`
				} `yaml:"backendConfig"`
				BackendConfigsFrom []struct{} `yaml:"backendConfigsFrom"`
			}
		}
		if o.APIVersion != terraformAPI || o.Kind != "Terraform" || o.Node.Decode(&written) != nil || written.Spec.BackendConfig.CustomConfiguration == "" {
			continue
		}
		state, err := rootmodule.FindState(written.Spec.BackendConfig.CustomConfiguration, written.Spec.Workspace)
		if err != nil {
			return nil, fmt.Errorf("the backend of %s: %w", o.Name, err)
		}
		if state != "" && len(written.Spec.BackendConfigsFrom) == 0 {
			all = append(all, state)
		}
	}
	return all, nil
}
