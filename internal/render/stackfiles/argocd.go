package stackfiles

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/stack"
	"github.com/fairlead-io/fairlead/internal/kube/kubeobject"
	"github.com/fairlead-io/fairlead/internal/render/argocd"
	"github.com/fairlead-io/fairlead/internal/render/rootmodule"
)

// A component of type argocd holds Applications of Argo CD. Each becomes objects of Flux in a folder of
// its own, which the component's Kustomization applies, and waits for, with all others.

// The kinds of what deploys a component: a chart, and manifests of an Application.
const (
	releaseKind = "HelmRelease"
	appKind     = "Kustomization"
)

// typeAnnotation is on the Kustomization of a component whose objects do not tell its type.
const typeAnnotation = labelPrefix + "type"

func (r *renderer) addApplications(folder string, c *stack.Component) {
	before := len(r.problems)
	files, problems := rootmodule.FindApplications(r.model, c)
	apps, more := argocd.Read(files)
	r.problems = append(append(r.problems, problems...), more...)
	component := argocd.Component{
		Metadata: componentMetadata(c), Interval: r.interval(), Suspended: c.Skipped, Protected: c.Protected, Destroyed: c.Destroyed,
		Annotations: keepingAnnotations(c), Settings: r.settings.Applications,
	}
	var deployed []kubeobject.Reference
	owners := map[string]string{} // Applications, by folder
	for _, a := range apps {
		objects, found := argocd.Translate(a, component)
		r.problems = append(r.problems, found...)
		for _, o := range objects {
			into := path.Dir(o.File)
			if other := owners[into]; other != "" && other != a.Name() {
				r.problems.Addf(c.Stack.PositionAt(c.Module.Source.Line), c.Stack.Subject(), "give one of them another name",
					"component %s: objects of the Applications %s and %s have the same name", c.Name, other, a.Name())
				return
			}
			owners[into] = a.Name()
			if argocd.IsDeployment(o.File) {
				deployed = append(deployed, o.Deployment)
				r.targets = append(r.targets, o.Target)
			}
			if !component.Destroyed {
				r.addObject(path.Join(folder, o.File), o.Value)
			}
		}
	}
	if len(deployed) == 0 && c.Module != nil && !r.problems[before:].Stops() { // Flux would wait for a folder that is not there
		r.problems.Addf(c.Stack.PositionAt(c.StackComponent.Name.Line), c.Stack.Subject(), "write an Application with a chart or a path, or remove the component",
			"component %s: its Applications deploy nothing", c.Name)
		return
	}
	slices.SortFunc(deployed, compareReferences)
	if component.Destroyed && len(deployed) > 0 {
		r.addUninstall(folder, componentMetadata(c), deployed)
	}
}

// checkTargets reports what the Applications of a component deploy, and another one does, too: a clone of a
// stack, for instance, has the same Applications.
func (r *renderer) checkTargets(c *stack.Component, targets []string) {
	if r.deployers == nil {
		r.deployers = map[string]*stack.Component{}
	}
	for _, target := range targets {
		other := r.deployers[target]
		switch {
		case other == c:
			r.stopComponent(c, "remove one of the Applications", "component %s deploys %s twice", c.Name, target)
		case other != nil:
			const hint = "name Applications of their own in module.source, or remove one of the components"
			r.stopComponent(c, hint, "component %s deploys %s, and so does the component %s of the stack %s", c.Name, target, other.Name, other.Stack.Path())
			if other.Stack != c.Stack {
				r.stopComponent(other, hint, "component %s deploys %s, and so does the component %s of the stack %s", other.Name, target, c.Name, c.Stack.Path())
			}
		}
		r.deployers[target] = c
	}
}

func readApps(objects tree.Tree) ([]kubeobject.Object[deploymentSpec], error) {
	var all []kubeobject.Object[deploymentSpec]
	for file, data := range objects.All() {
		if path.Dir(file) == "." || !argocd.IsDeployment(file) {
			continue
		}
		var o kubeobject.Object[deploymentSpec]
		if err := yaml.Unmarshal(data, &o); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, o)
	}
	return all, nil
}

// deployments returns the objects that are gone when a chart, or Applications, are uninstalled.
func (c *renderedComponent) deployments() []kubeobject.Reference {
	if c.typeName() != stack.ArgoCD {
		return []kubeobject.Reference{{Kind: releaseKind, Name: c.kustomization.Metadata.Name}}
	}
	all := make([]kubeobject.Reference, len(c.apps))
	for i, o := range c.apps {
		all[i] = kubeobject.Reference{Kind: o.Kind, Name: o.Metadata.Name}
	}
	slices.SortFunc(all, compareReferences)
	return all
}

func compareReferences(a, b kubeobject.Reference) int { return strings.Compare(a.Name, b.Name) }

func (c *renderedComponent) typeName() string {
	if c.terraform != nil {
		return stack.Terraform
	}
	return cmp.Or(c.kustomization.Metadata.Annotations[typeAnnotation], stack.Helm)
}
