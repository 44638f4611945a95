package stackfiles

import (
	"path"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/stack"
)

// The annotations of the namespace of a stack with objects that outlive their component.
const (
	// orphansAnnotation holds the names of components that were removed from the stack while Flux must not
	// remove their objects: these are in the namespace still.
	orphansAnnotation = labelPrefix + "orphans"
	// abandonedAnnotation is on the namespace of an abandoned stack whose output did not have Flux keep it.
	abandonedAnnotation = labelPrefix + "abandoned"
)

func (k *keeper) isAbandoned(name string) bool {
	return slices.ContainsFunc(k.model.Stacks.Settings, func(s *model.StackSettings) bool {
		return slices.ContainsFunc(s.Abandoned, func(a model.Text) bool { return a.Text == name })
	})
}

// abandonStack leaves a stack out of the output. Its namespace stays on the cluster, with what Flux must not
// remove: if the output does not say that of the namespace, the stack stays until it does. If its Team
// protects it, what would be uninstalled keeps all of it.
func (k *keeper) abandonStack(s *renderedStack) error {
	if team := stack.FindProtectingTeam(k.model, s.Team); team != nil && slices.ContainsFunc(s.components, (*renderedComponent).wouldGo) {
		return k.holdStack(s, team)
	}
	var kept []string
	for _, c := range s.components {
		if c.isKept() {
			kept = append(kept, c.name)
		}
	}
	kept = append(kept, s.listOrphans()...)
	if len(kept) == 0 && s.isTornDown() && !s.needsRelease() {
		return nil
	}
	pos, subject := problem.Pos{Layer: k.model.Environment}, "Environment/"+s.subject()
	if len(kept) == 0 {
		k.problems.Warnf(pos, subject, "delete the namespace by hand once no Terraform object and no HelmRelease is in it",
			"the objects of the stack %s are removed, except the namespace %s and the sources of root modules in it", s.Path(), s.Namespace)
	} else {
		k.problems.Warnf(pos, subject, "delete them and the namespace by hand once nothing needs them",
			"the objects of the stack %s are removed, except the namespace %s and what is protected or suspended in it, which nothing manages any more: %s", s.Path(), s.Namespace, strings.Join(kept, ", "))
	}
	_, marked := s.namespace.Metadata.Annotations[abandonedAnnotation]
	if s.isHeld() && (!marked || k.previous.IsDestroyed(Deleted{Team: s.Team, Env: s.Env, Namespace: s.Namespace})) {
		return nil
	}
	k.held[s.Path()] = true
	setAnnotation(&s.namespace.Metadata, abandonedAnnotation, "true")
	changed := map[string]any{}
	if err := s.keepSuspended(changed); err != nil {
		return err
	}
	return k.keepStack(s, changed)
}

func (c *renderedComponent) wouldGo() bool { return c.terraform == nil && !c.stays() }

// isKept reports whether Flux must not remove what the component consists of, or would do so while it is
// suspended.
func (c *renderedComponent) isKept() bool {
	if c.kustomization.Spec.Suspend {
		return true
	}
	if c.terraform != nil {
		return c.terraform.Spec.Suspend || c.terraform.Metadata.Annotations[pruneAnnotation] != ""
	}
	return slices.ContainsFunc(c.listDeployments(), keepsDeployed)
}

func (s *renderedStack) subject() string {
	if s.name == "" {
		return s.Path()
	}
	return s.name
}

// listOrphans returns the names of components that were removed while Flux must not remove their objects.
func (s *renderedStack) listOrphans() []string {
	return strings.Fields(s.namespace.Metadata.Annotations[orphansAnnotation])
}

// keepOrphans has Flux keep the namespace of a stack that is rendered again, if objects of components stay
// in it that were removed.
func (k *keeper) keepOrphans(s *renderedStack) error {
	orphans := s.listOrphans()
	for _, c := range s.components {
		if c.isKept() {
			orphans = append(orphans, c.name)
		}
	}
	slices.Sort(orphans)
	orphans = slices.DeleteFunc(slices.Compact(orphans), func(name string) bool {
		_, again := k.rendered.Lookup(path.Join(s.Folder(), name, componentFile))
		return again
	})
	if len(orphans) == 0 {
		return nil
	}
	file := path.Join(s.Folder(), namespaceFile)
	namespace, err := decodeObject[struct{}](k.rendered.Sub(s.Folder()), namespaceFile)
	if err != nil {
		return err
	}
	setAnnotation(&namespace.Metadata, orphansAnnotation, strings.Join(orphans, " "))
	k.replaced[file] = true
	return k.addObject(file, namespace)
}

// checkReturned reports components that come back to be uninstalled, after they were removed while Flux must
// not remove their objects: these have to be resumed, and the output does not have them.
func (k *keeper) checkReturned(s *renderedStack) (found bool) {
	for _, name := range s.listOrphans() {
		if _, ok := k.rendered.Lookup(path.Join(s.Folder(), name, objectsName, WaitFile)); !ok {
			continue
		}
		for _, now := range k.model.Stacks.List {
			if now.Path() == s.Path() {
				found = true
				k.stopStack(now, now.Pos.Line, "have it deployed first, without destroy and teardown",
					"the component %s cannot be uninstalled yet: it was removed while Flux must not remove its objects", name)
			}
		}
	}
	return found
}

// checkMoved reports a stack whose objects would be in another namespace: Flux would remove those that are
// there, and uninstall its charts.
func (k *keeper) checkMoved(s *renderedStack) bool {
	namespace, err := decodeObject[struct{}](k.rendered.Sub(s.Folder()), namespaceFile)
	if err != nil || namespace.Metadata.Name == s.Namespace {
		return false
	}
	for _, now := range k.model.Stacks.List {
		if now.Path() == s.Path() {
			k.stopStack(now, now.Pos.Line, "keep metadata.namespace, and spec.company of the StackSettings, as they were",
				"the namespace of the stack's objects cannot change: it was %s, and would be %s", s.Namespace, namespace.Metadata.Name)
		}
	}
	return true
}

// checkTypes reports components that have another type than before, and were not destroyed: what
// Terraform made would stay, and a chart would be uninstalled.
func (k *keeper) checkTypes(s *renderedStack) (changed bool) {
	for _, now := range k.model.Stacks.List {
		if now.Path() != s.Path() {
			continue
		}
		for _, c := range s.components {
			i := slices.IndexFunc(now.Components, func(w *model.StackComponent) bool { return w != nil && w.Name.Text == c.name })
			if i < 0 || now.Components[i].Type.Text == c.typeName() || c.isDestroyed() {
				continue
			}
			changed = true
			k.stopStack(now, now.Components[i].Name.Line, "give the new one another name, or set destroy: true, and change the type once it is destroyed",
				"the type of the component %s cannot change: it was %s, and what it made is there", c.name, c.typeName())
		}
	}
	return changed
}
