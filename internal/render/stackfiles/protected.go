package stackfiles

import (
	"path"
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/kube/kubeobject"
	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
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
	return k.suspendDestruction(s, s.components)
}

// holdDeleted keeps a stack whose file was deleted, with a problem: something uses it, or its Team is gone, too, that
// protected it, and the end of a protection is a change of its own.
func (k *keeper) holdDeleted(s *renderedStack, hint, summary string) error {
	k.held[s.Path()] = true
	k.problems = append(k.problems, problem.Problem{
		Pos: problem.Pos{Layer: k.model.Environment}, Subject: "Environment/" + s.subject(), Stack: s.Path(), Hint: hint, Summary: summary,
	})
	return k.keepStack(s, map[string]any{})
}

func (c *renderedComponent) listMetadata() []kubeobject.Metadata {
	var all []kubeobject.Metadata
	for _, o := range c.listDeployments() {
		all = append(all, o.Metadata)
	}
	if c.terraform != nil {
		all = append(all, c.terraform.Metadata)
	}
	return all
}

func (c *renderedComponent) isProtectedByTeam() bool {
	return slices.ContainsFunc(c.listMetadata(), func(o kubeobject.Metadata) bool { return o.Annotations[teamAnnotation] != "" })
}

// endTeamProtection has the components unprotected that nothing but their Team protected: it does so no
// more. Flux must not remove their objects yet, as if selectiveReconcile left them out.
func (s *renderedStack) endTeamProtection() {
	for _, c := range s.components {
		for _, o := range c.listMetadata() {
			if o.Annotations[teamAnnotation] != "" {
				delete(o.Annotations, teamAnnotation)
				o.Annotations[leftOutAnnotation] = "true"
			}
		}
	}
}

func (c *renderedComponent) isDestroyed() bool {
	return c.isUninstalled() || c.terraform != nil && c.terraform.Spec.Destroy
}

// suspendDestruction keeps the files of a stack with those of its components suspended that are being destroyed.
// An object that Flux has not applied yet is not applied either.
func (k *keeper) suspendDestruction(s *renderedStack, components []*renderedComponent) error {
	for _, c := range components {
		switch {
		case c.isUninstalled():
			c.kustomization.Spec.Suspend = true
		case c.isDestroyed():
			c.terraform.Spec.Suspend = true
		}
	}
	changed := map[string]any{}
	if err := s.keepSuspended(changed); err != nil {
		return err
	}
	return k.keepStack(s, changed)
}

// keepSuspended has Flux remove nothing that is suspended, nor the namespace that it is in: controllers do
// nothing about an object that is removed then, and those of Terraform would not go at all.
func (s *renderedStack) keepSuspended(changed map[string]any) error {
	s.keepHeld(changed)
	for _, c := range s.components {
		folder := path.Join(s.Folder(), c.name)
		if c.kustomization.Spec.Suspend {
			keepLeftOut(&c.kustomization.Metadata)
			changed[path.Join(folder, componentFile)] = c.kustomization
		}
		if c.terraform != nil && c.terraform.Spec.Suspend {
			keepLeftOut(&c.terraform.Metadata)
			changed[path.Join(folder, objectsName, terraformFile)] = c.terraform
		}
		if slices.ContainsFunc(c.listDeployments(), isSuspendedUnkept) {
			err := c.editDeployments(folder, changed, func(o *yaml.Node) {
				annotations := &yaml.Node{Kind: yaml.MappingNode}
				yamldoc.AddPair(annotations, leftOutAnnotation, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: "true"})
				yamldoc.AddPair(annotations, pruneAnnotation, &yaml.Node{Kind: yaml.ScalarNode, Value: "disabled"})
				yamldoc.AddPair(yamldoc.FindValue(o, "metadata"), "annotations", annotations)
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func keepLeftOut(o *kubeobject.Metadata) {
	if o.Annotations[pruneAnnotation] == "" {
		setAnnotation(o, pruneAnnotation, "disabled")
		setAnnotation(o, leftOutAnnotation, "true")
	}
}

// isSuspendedUnkept reports whether Flux would remove an object while it is suspended, as one that was
// rendered before it had to be kept.
func isSuspendedUnkept(o kubeobject.Object[deploymentSpec]) bool {
	return o.Spec.Suspend && o.Metadata.Annotations[pruneAnnotation] == ""
}
