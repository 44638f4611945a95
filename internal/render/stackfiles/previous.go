package stackfiles

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/kube/kubeobject"
)

type renderedStack struct {
	Deleted
	output     tree.Tree // that has it
	name       string    // of the object in the file
	namespace  *kubeobject.Object[struct{}]
	components []*renderedComponent // sorted by name
}

type renderedComponent struct {
	name          string
	kustomization *kubeobject.Object[kustomizationSpec]
	terraform     *kubeobject.Object[terraformSpec] // nil for a chart
	source        *kubeobject.Object[gitRepositorySpec]
	release       *kubeobject.Object[deploymentSpec] // nil for Terraform, and for a chart that is uninstalled
	// apps are what deploys the Applications of Argo CD that it is.
	apps    []kubeobject.Object[deploymentSpec]
	objects tree.Tree
	resumed bool // see resumedAnnotation
}

func (c *renderedComponent) isUninstalled() bool {
	_, ok := c.objects.Lookup(WaitFile)
	return ok
}

func (c *renderedComponent) isProtected() bool {
	if c.terraform != nil {
		return isProtected(c.terraform.Metadata)
	}
	all := c.listDeployments()
	return len(all) > 0 && isProtected(all[0].Metadata)
}

// isProtected reports whether what an object makes must not be destroyed.
func isProtected(o kubeobject.Metadata) bool {
	return o.Annotations[pruneAnnotation] != "" && o.Annotations[leftOutAnnotation] == ""
}

// deploymentSpec is what of a HelmRelease, or of the Kustomization of an Application, says what becomes of
// what it has deployed when the object is removed.
type deploymentSpec struct {
	Suspend        bool       `yaml:"suspend"`
	DeletionPolicy string     `yaml:"deletionPolicy"`
	KubeConfig     kubeConfig `yaml:"kubeConfig"` // zero for the cluster that runs the stack
}

// listDeployments returns what deploys a chart, or Applications: nothing once they are uninstalled.
func (c *renderedComponent) listDeployments() []kubeobject.Object[deploymentSpec] {
	if c.release == nil {
		return c.apps
	}
	return append(slices.Clone(c.apps), *c.release)
}

// stays reports whether what the component made stays when the component is removed from its stack: Flux
// uninstalls charts and Applications, but not while they are suspended.
func (c *renderedComponent) stays() bool {
	if c.terraform != nil {
		return !c.terraform.Spec.Destroy
	}
	return !c.isUninstalled() && !slices.ContainsFunc(c.listDeployments(), func(o kubeobject.Object[deploymentSpec]) bool {
		return !keepsDeployed(o) && o.Spec.DeletionPolicy != "Orphan"
	})
}

// readRenderedStack reads a stack of an output; nil if the folder is not of a stack.
func readRenderedStack(output tree.Tree, team, env string) (*renderedStack, error) {
	s := &renderedStack{Deleted: Deleted{Team: team, Env: env}, output: output}
	folder := output.Sub(s.Folder())
	var err error
	s.namespace, err = decodeObject[struct{}](folder, namespaceFile)
	if err != nil || s.namespace == nil || s.namespace.Metadata.Labels[labelPrefix+"team"] != team || s.namespace.Metadata.Labels[labelPrefix+"stack"] != env {
		return nil, err
	}
	if s.namespace.Metadata.Annotations == nil {
		s.namespace.Metadata.Annotations = map[string]string{}
	}
	s.Namespace, s.name = s.namespace.Metadata.Name, s.namespace.Metadata.Annotations[nameAnnotation]
	for _, e := range folder.Entries() {
		if !e.IsDir() {
			continue
		}
		c, err := readRenderedComponent(e)
		if err != nil {
			return nil, err
		}
		s.components = append(s.components, c)
	}
	slices.SortFunc(s.components, func(a, b *renderedComponent) int { return strings.Compare(a.name, b.name) })
	for _, c := range s.components {
		s.Kustomizations = append(s.Kustomizations, c.kustomization.Metadata.Name)
	}
	return s, nil
}

func readRenderedComponent(e tree.Entry) (*renderedComponent, error) {
	c := &renderedComponent{name: e.Name}
	var failed [5]error
	c.objects = e.Tree().Sub(objectsName)
	c.release, failed[3] = decodeObject[deploymentSpec](c.objects, releaseFile)
	c.apps, failed[4] = readApps(c.objects)
	c.kustomization, failed[0] = decodeObject[kustomizationSpec](e.Tree(), componentFile)
	c.terraform, failed[1] = decodeObject[terraformSpec](c.objects, terraformFile)
	c.source, failed[2] = decodeObject[gitRepositorySpec](c.objects, sourceFile)
	err := errors.Join(failed[:]...)
	if err == nil && c.kustomization == nil {
		err = fmt.Errorf("there is no %s", path.Join(e.Name, componentFile))
	}
	if err == nil {
		c.restoreOrder()
	}
	if err == nil && c.terraform != nil && (c.source == nil || c.source.Spec.Ref == nil || len(c.source.Spec.Ref.Commit) < 10) {
		err = fmt.Errorf("the root module of %s has no commit", e.Name)
	}
	return c, err
}

// decodeObject reads a file with one object; nil if there is no such file.
func decodeObject[S any](folder tree.Tree, file string) (*kubeobject.Object[S], error) {
	e, ok := folder.Lookup(file)
	if !ok || e.IsDir() {
		return nil, nil
	}
	o := &kubeobject.Object[S]{}
	if err := yaml.Unmarshal(e.Data, o); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return o, nil
}

func (s *renderedStack) isTornDown() bool {
	return s.namespace.Metadata.Annotations[teardownAnnotation] != "" && !slices.ContainsFunc(s.components, func(c *renderedComponent) bool {
		return c.kustomization.Spec.Suspend || !c.isUninstalled() && (c.terraform == nil || !c.terraform.Spec.Destroy || c.terraform.Spec.Suspend)
	})
}

func (s *renderedStack) protectedNames() []string {
	var names []string
	for _, c := range s.components {
		if c.isProtected() {
			names = append(names, c.name)
		}
	}
	return names
}

// reverseOrder has each component that is destroyed wait for those that need it. What is protected goes before
// what needs it, as it did.
func (s *renderedStack) reverseOrder() {
	byName, after := map[string]*renderedComponent{}, map[*renderedComponent][]*renderedComponent{}
	for _, c := range s.components {
		byName[c.kustomization.Metadata.Name] = c
	}
	for _, c := range s.components {
		for _, d := range c.kustomization.Spec.DependsOn {
			user, needed := c, byName[d.Name]
			if needed == nil {
				continue
			}
			if isReversed(user, needed) {
				user, needed = needed, user
			}
			if !needed.isProtected() {
				user, needed = needed, user
			}
			after[user] = append(after[user], needed)
		}
	}
	for _, c := range s.components {
		slices.SortFunc(after[c], func(a, b *renderedComponent) int { return strings.Compare(a.name, b.name) })
		c.kustomization.Spec.DependsOn = nil
		for _, before := range after[c] {
			c.kustomization.Spec.DependsOn = append(c.kustomization.Spec.DependsOn, kubeobject.Reference{Name: before.kustomization.Metadata.Name})
		}
	}
}

// isReversed reports whether a component that depends on another is needed by it: that is so if both are destroyed.
func isReversed(c, before *renderedComponent) bool { return c.isDestroyed() && before.isDestroyed() }
