package stackfiles

import (
	"path"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// holdStack keeps a stack whose file was deleted, and whose Team protects it now, whatever the Team did
// when the stack was rendered: what is not destroyed yet stays.
func (k *keeper) holdStack(s *renderedStack, team *model.Team) error {
	k.held[s.Path()] = true
	const hint = "restore the file, or remove teardownProtection of the Team to have it destroyed"
	if !slices.ContainsFunc(s.components, (*renderedComponent).isDestroyed) {
		k.problems = append(k.problems, problem.Problem{
			Pos: team.Pos, Subject: team.Subject(), Hint: hint, Stack: s.Path(),
			Summary: "the file of the stack " + s.Path() + " was deleted, and teardownProtection of its Team keeps it",
		})
		return k.keepStack(s, map[string]any{})
	}
	k.problems.Warnf(team.Pos, team.Subject(), hint, "the file of the stack %s was deleted; teardownProtection of its Team suspends its destruction: what is not destroyed yet stays", s.Path())
	return k.suspendDestruction(s)
}

// isDestroyed reports whether the output destroys what the component made.
func (c *renderedComponent) isDestroyed() bool {
	return c.isUninstalled() || c.terraform != nil && c.terraform.Spec.Destroy
}

// suspendDestruction keeps the files of a stack with the components suspended that are being destroyed.
// An object that Flux has not applied yet is not applied either.
func (k *keeper) suspendDestruction(s *renderedStack) error {
	suspended := map[string]any{}
	for _, c := range s.components {
		folder := path.Join(s.Folder(), c.name)
		switch {
		case c.isUninstalled():
			c.kustomization.Spec.Suspend = true
			suspended[path.Join(folder, componentFile)] = c.kustomization
		case c.isDestroyed():
			c.terraform.Spec.Suspend = true
			suspended[path.Join(folder, objectsName, terraformFile)] = c.terraform
		}
	}
	return k.keepStack(s, suspended)
}
