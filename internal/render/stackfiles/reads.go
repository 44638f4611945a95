package stackfiles

import (
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/stack"
)

// readsAnnotation is on a Terraform object that reads outputs of other stacks, with the paths of their components.
const readsAnnotation = labelPrefix + "reads"

func (c *renderedComponent) reads() []string {
	if c.terraform == nil {
		return nil
	}
	return strings.Fields(c.terraform.Metadata.Annotations[readsAnnotation])
}

func visitComponents(output tree.Tree, visit func(*renderedStack, *renderedComponent)) error {
	objects := output.Sub(ObjectsFolder)
	for _, team := range objects.Entries() {
		for _, env := range team.Tree().Entries() {
			s, err := readRenderedStack(output, team.Name, env.Name)
			if err != nil {
				return err
			}
			if s == nil {
				continue
			}
			for _, c := range s.components {
				visit(s, c)
			}
		}
	}
	return nil
}

// findUse returns why a stack without a file must stay; "" if nothing uses it. Where all stacks of the environment are
// gone, none is active any more.
func findUse(k *keeper, s *renderedStack) string {
	blueprint := s.namespace.Metadata.Annotations[model.BlueprintAnnotation]
	if blueprint != "" && stack.FindActive(k.model, blueprint) == s.name && len(k.model.Stacks.List) > 0 {
		return "it is the active one of the blueprint " + blueprint
	}
	use := ""
	err := visitComponents(k.previous.Tree, func(other *renderedStack, c *renderedComponent) {
		isReader := slices.ContainsFunc(c.reads(), func(read string) bool { return strings.HasPrefix(read, s.Path()+"/") })
		if isReader && !c.isDestroyed() {
			use = other.Path() + "/" + c.name + " reads it"
		}
	})
	if err != nil { // findStacks reports it
		return "what reads it is not known, because the output cannot be read"
	}
	return use
}

func findReaders(k *keeper, output tree.Tree, component string) (readers []string, err error) {
	err = visitComponents(output, func(s *renderedStack, c *renderedComponent) {
		if err != nil || !slices.Contains(c.reads(), component) {
			return
		}
		var before *renderedStack
		before, err = readRenderedStack(k.previous.Tree, s.Team, s.Env)
		if err == nil && !k.isReportedDestroyed(s, c, before.find(c.name)) {
			readers = append(readers, s.Path()+"/"+c.name)
		}
	})
	return readers, err
}
