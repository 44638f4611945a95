package stackfiles

import (
	"path"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/stack"
)

// Before a Terraform object goes, tofu-controller reads its source and runs a pod in its namespace, also where
// it has nothing to destroy. If these go at the same moment, the object stays for ever, and the namespace with
// it. So Flux removes neither of them with a stack. Once a deleted stack is destroyed, it is released: its
// Terraform objects are removed while the rest is there. Only when clusters have reported that, all of it
// goes.

// sourceFile is the file of a component with the source of its root module.
const sourceFile = "gitrepository.yaml"

// terraformKind is the kind of the objects of tofu-controller.
const terraformKind = "Terraform"

func (s *renderedStack) needsRelease() bool {
	return slices.ContainsFunc(s.components, func(c *renderedComponent) bool { return c.terraform != nil })
}

// releaseStack keeps a deleted stack that is destroyed, without its Terraform objects. Flux may remove the rest
// after that.
func (k *keeper) releaseStack(s *renderedStack) error {
	k.problems.Warnf(problem.Pos{Layer: k.model.Environment}, "Environment/"+s.subject(), "",
		"the stack %s is destroyed: its Terraform objects are removed, and the rest after that, with the namespace %s", s.Path(), s.Namespace)
	for _, c := range s.components {
		if c.terraform == nil {
			continue
		}
		if err := c.releaseTerraform(k.model); err != nil {
			return err
		}
	}
	k.deleted = append(k.deleted, s.Deleted)
	return k.addTeardown(s)
}

// releaseTerraform has a Job in the place of the Terraform object, which waits until that is gone.
func (c *renderedComponent) releaseTerraform(m *model.Model) error {
	setKept(&c.source.Metadata, false)
	files := TerraformWait(m, c.kustomization.Metadata, c.terraform.Metadata.Name)
	files[sourceFile] = c.source
	objects, err := EncodeFiles(files)
	if err != nil {
		return err
	}
	c.objects, c.terraform, c.kustomization.Spec.HealthChecks = objects, nil, nil
	setAnnotation(&c.kustomization.Metadata, typeAnnotation, stack.Terraform)
	return nil
}

// isHeld reports whether Flux leaves the namespace and the sources of the stack when it removes the stack.
func (s *renderedStack) isHeld() bool {
	return s.namespace.Metadata.Annotations[pruneAnnotation] != "" && !slices.ContainsFunc(s.components, func(c *renderedComponent) bool {
		return c.terraform != nil && c.source.Metadata.Annotations[pruneAnnotation] == ""
	})
}

func (s *renderedStack) keepHeld(changed map[string]any) {
	setAnnotation(&s.namespace.Metadata, pruneAnnotation, "disabled")
	changed[path.Join(s.Folder(), namespaceFile)] = s.namespace
	for _, c := range s.components {
		if c.terraform != nil && c.source.Metadata.Annotations[pruneAnnotation] == "" {
			setAnnotation(&c.source.Metadata, pruneAnnotation, "disabled")
			changed[path.Join(s.Folder(), c.name, objectsName, sourceFile)] = c.source
		}
	}
}
