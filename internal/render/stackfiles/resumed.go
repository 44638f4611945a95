package stackfiles

import (
	"path"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/kube/kubeobject"
	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
	"github.com/fairlead-io/fairlead/internal/render/argocd"
)

// When a HelmRelease is removed while it is suspended, helm-controller does not uninstall its chart, and
// kustomize-controller leaves what a suspended Kustomization has applied. Neither of them removes an
// object that must not be pruned. So what is to be uninstalled is resumed first: the stack stays as it
// was until clusters have reported that, and the order of its destruction begins then.

// resumedAnnotation is on the Kustomization of a component that is resumed before it is uninstalled, with
// the names of those that it depended on. It waits for none: they may never be ready.
const resumedAnnotation = labelPrefix + "resumed"

// deletedAnnotation is on the namespace of a stack that is resumed because its file was deleted.
const deletedAnnotation = labelPrefix + "deleted"

// keepsDeployed reports whether Flux leaves what an object has deployed when the object is removed from
// the output.
func keepsDeployed(o kubeobject.Object[deploymentSpec]) bool {
	return o.Spec.Suspend || o.Metadata.Annotations[pruneAnnotation] != ""
}

// resumeRemoved keeps a stack of which components are to be uninstalled that are suspended, or that Flux
// must not remove, until clusters have reported that they are resumed. It reports whether it does so.
func (k *keeper) resumeRemoved(s *renderedStack, isUninstalled func(*renderedComponent) bool) (resuming bool, err error) {
	waiting, changed := s.Deleted, map[string]any{}
	waiting.Kustomizations = nil
	var names []string
	for _, c := range s.components {
		isKept := slices.ContainsFunc(c.listDeployments(), keepsDeployed)
		if !isUninstalled(c) || !isKept && !c.resumed {
			continue
		}
		names, waiting.Kustomizations = append(names, c.name), append(waiting.Kustomizations, c.kustomization.Metadata.Name)
		if !isKept {
			continue
		}
		if err := c.resume(path.Join(s.Folder(), c.name), changed); err != nil {
			return false, err
		}
	}
	if len(names) == 0 || len(changed) == 0 && k.previous.IsDestroyed(waiting) {
		return false, nil
	}
	if _, again := k.rendered.Lookup(path.Join(s.Folder(), namespaceFile)); !again && len(changed) > 0 {
		setAnnotation(&s.namespace.Metadata, deletedAnnotation, "true")
		changed[path.Join(s.Folder(), namespaceFile)] = s.namespace
	}
	pos, subject := k.locate(s)
	k.problems.Warnf(pos, subject, "have the Kustomizations in the namespace "+s.Namespace+" reported, or remove selectiveReconcile and destroyProtection first, in a change of its own",
		"the stack %s stays as it is until clusters have reported that what it uninstalls is resumed: %s", s.Path(), strings.Join(names, ", "))
	k.deleted = append(k.deleted, waiting)
	return true, k.keepStack(s, changed)
}

// resume changes the objects of a component in a folder so that Flux uninstalls what they have deployed
// when they are removed.
func (c *renderedComponent) resume(folder string, changed map[string]any) error {
	err := c.editDeployments(folder, changed, func(o *yaml.Node) {
		yamldoc.RemoveKey(yamldoc.FindValue(o, "spec"), "suspend")
		annotations := yamldoc.FindValue(o, "metadata", "annotations")
		if annotations == nil {
			return
		}
		for _, name := range keepingNames {
			yamldoc.RemoveKey(annotations, name)
		}
		if len(annotations.Content) == 0 {
			yamldoc.RemoveKey(yamldoc.FindValue(o, "metadata"), "annotations")
		}
	})
	if err != nil {
		return err
	}
	var after []string
	for _, d := range c.kustomization.Spec.DependsOn {
		after = append(after, d.Name)
	}
	setKept(&c.kustomization.Metadata, false)
	setAnnotation(&c.kustomization.Metadata, resumedAnnotation, strings.Join(after, " "))
	c.kustomization.Spec.DependsOn, c.kustomization.Spec.HealthChecks = nil, nil
	c.kustomization.Spec.Suspend, c.kustomization.Spec.Wait = false, false
	changed[path.Join(folder, componentFile)] = c.kustomization
	return nil
}

func (c *renderedComponent) editDeployments(folder string, changed map[string]any, edit func(*yaml.Node)) error {
	for file, e := range c.objects.Walk() {
		if !argocd.IsDeployment(file) {
			continue
		}
		documents, err := yamldoc.Parse(e.Data)
		if err != nil {
			return err
		}
		root := yamldoc.RootOf(documents[0])
		edit(root)
		changed[path.Join(folder, objectsName, file)] = root
	}
	return nil
}

// restoreOrder has a component depend on what it did before it was resumed.
func (c *renderedComponent) restoreOrder() {
	after, resumed := c.kustomization.Metadata.Annotations[resumedAnnotation]
	if !resumed {
		return
	}
	c.resumed = true
	for _, name := range strings.Fields(after) {
		c.kustomization.Spec.DependsOn = append(c.kustomization.Spec.DependsOn, kubeobject.Reference{Name: name})
	}
}

func setAnnotation(o *kubeobject.Metadata, name, value string) {
	if o.Annotations == nil {
		o.Annotations = map[string]string{}
	}
	o.Annotations[name] = value
}
