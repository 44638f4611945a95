package rootmodule

import (
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/stack"
)

// NewClaims returns the stacks that an environment has files of, with the states of their components.
func NewClaims(m *model.Model) stack.Claims {
	claims := stack.NewClaims(m)
	if len(claims.Written) == 0 {
		return claims
	}
	settings, _ := stack.ResolveSettings(m) // rendering reports the problems
	stacks, _ := stack.Resolve(m)
	for _, s := range stacks {
		for _, c := range s.Components {
			if c.Type != stack.Terraform {
				continue
			}
			if id := newGenerator(m, c, settings).backendOf(c).sharedState(s.Workspace); id != "" {
				claims.States = append(claims.States, stack.State{Stack: s.Path(), Component: c.Name, ID: id})
			}
		}
	}
	return claims
}
