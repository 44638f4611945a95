package promoter

import (
	"maps"
	"slices"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// forgetRetired drops caches of environments that are no longer stages.
func (m *Promoter) forgetRetired(chain model.Chain) {
	names := make([]string, len(chain.Stages))
	for i, s := range chain.Stages {
		names[i] = s.Name
	}
	keepOnly(m.published, names)
	keepOnly(m.proofs, names)
	keepOnly(m.previousOutputs, names)
	keepOnly(m.loggedErrors, names)
}

func keepOnly[V any](all map[string]V, names []string) {
	maps.DeleteFunc(all, func(name string, _ V) bool { return !slices.Contains(names, name) })
}
