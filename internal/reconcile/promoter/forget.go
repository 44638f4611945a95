package promoter

import (
	"maps"
	"slices"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// forgetRetired drops caches of environments that are no longer stages.
func (m *Mover) forgetRetired(chain model.Chain) {
	names := make([]string, len(chain.Stages))
	for i, s := range chain.Stages {
		names[i] = s.Name
	}
	keepOnly(m.said, names)
	keepOnly(m.proven, names)
	keepOnly(m.pasts, names)
	keepOnly(m.failures, names)
}

func keepOnly[V any](all map[string]V, names []string) {
	maps.DeleteFunc(all, func(name string, _ V) bool { return !slices.Contains(names, name) })
}
