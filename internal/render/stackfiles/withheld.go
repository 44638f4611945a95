package stackfiles

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/kube/kubeobject"
	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
	"github.com/fairlead-io/fairlead/internal/render/tfplan"
)

// The order of a teardown rests on two checks. The Kustomizations depend on each other, and count as ready when what
// their objects made is destroyed. In addition, a plan that destroys what others need is approved only once clusters
// have reported that these are destroyed, each step by a change of the output: until then, tofu-controller makes the
// plan and applies nothing, whatever Flux takes for ready. Once the output has the approval, it stays: a later report
// takes nothing back, and the output can be made again from its commits and itself.

// withheldAnnotation is on a Terraform object whose approval is withheld, with that.
const withheldAnnotation = labelPrefix + "withheld"

// withholdDestruction returns an output without the approvals of plans that destroy too early.
func (k *keeper) withholdDestruction(all tree.Tree) (tree.Tree, error) {
	objects := all.Sub(ObjectsFolder)
	if _, ours := objects.Lookup(kubeobject.KustomizationFile); !ours {
		return all, nil
	}
	for _, team := range objects.Entries() {
		for _, env := range team.Tree().Entries() {
			name := path.Join(team.Name, env.Name)
			if k.stopped[name] || k.held[name] || !hasDestruction(env.Tree()) { // or it is as it was
				continue
			}
			s, err := readRenderedStack(all, team.Name, env.Name)
			if err != nil || s == nil {
				return all, err
			}
			all, err = k.withholdStack(all, s)
			if err != nil {
				return all, err
			}
		}
	}
	return all, nil
}

func hasDestruction(stack tree.Tree) bool {
	return slices.ContainsFunc(stack.Entries(), func(e tree.Entry) bool {
		file, ok := e.Tree().Lookup(path.Join(objectsName, terraformFile))
		return ok && bytes.Contains(file.Data, []byte("\n  destroy: true\n"))
	})
}

func (k *keeper) withholdStack(all tree.Tree, s *renderedStack) (tree.Tree, error) {
	before, err := readRenderedStack(k.previous.Tree, s.Team, s.Env)
	if err != nil {
		return all, err
	}
	users := s.listUsers()
	for _, c := range s.components {
		if c.terraform == nil || !c.terraform.Spec.Destroy || c.terraform.Spec.ApprovePlan == "" {
			continue
		}
		was := before.find(c.name)
		if was.hasPlanOf(c) && was.terraform.Spec.ApprovePlan == c.terraform.Spec.ApprovePlan {
			continue
		}
		var waits []string
		for _, user := range closure(users, c) {
			if !k.isReportedDestroyed(s, user, before.find(user.name)) {
				waits = append(waits, user.name)
			}
		}
		if waits == nil {
			waits, err = findReaders(k, all, s.Path()+"/"+c.name)
			if err != nil {
				return all, err
			}
		}
		if len(waits) == 0 {
			continue
		}
		all, err = c.disapprove(all, path.Join(s.Folder(), c.name), withheldAnnotation, c.terraform.Spec.ApprovePlan)
		if err != nil {
			return all, err
		}
		pos, subject := k.locate(s)
		k.problems.Warnf(pos, subject, "approve and merge their plans; the next step is proposed when clusters have reported it",
			"the plan that destroys the component %s is made, and applied only after %s, which need it, are destroyed", c.name, text.Join(waits, " and "))
	}
	return all, nil
}

// isReportedDestroyed reports whether clusters have reported a component as destroyed, as it is in an output and
// was in the previous one.
func (k *keeper) isReportedDestroyed(s *renderedStack, c, before *renderedComponent) bool {
	if before == nil || !c.isDestroyed() || !before.isDestroyed() || before.kustomization.Spec.Suspend {
		return false
	}
	isSame := c.terraform == nil || before.hasPlanOf(c) && !before.terraform.Spec.Suspend
	return isSame && k.previous.IsDestroyed(Deleted{Team: s.Team, Env: s.Env, Namespace: s.Namespace, Kustomizations: []string{c.kustomization.Metadata.Name}})
}

// hasPlanOf reports whether a component, nil for none, makes the plan that another one makes.
func (c *renderedComponent) hasPlanOf(other *renderedComponent) bool {
	if c == nil || c.terraform == nil || other.terraform == nil {
		return false
	}
	return c.terraform.Metadata.Annotations[InputsAnnotation] == other.terraform.Metadata.Annotations[InputsAnnotation]
}

func (s *renderedStack) find(name string) *renderedComponent {
	if s == nil {
		return nil
	}
	i := slices.IndexFunc(s.components, func(c *renderedComponent) bool { return c.name == name })
	if i < 0 {
		return nil
	}
	return s.components[i]
}

func (s *renderedStack) listUsers() map[*renderedComponent][]*renderedComponent {
	users := map[*renderedComponent][]*renderedComponent{}
	for _, c := range s.components {
		for _, d := range c.kustomization.Spec.DependsOn {
			i := slices.IndexFunc(s.components, func(o *renderedComponent) bool { return o.kustomization.Metadata.Name == d.Name })
			if i < 0 {
				continue
			}
			user, needed := c, s.components[i]
			if isReversed(user, needed) {
				user, needed = needed, user
			}
			users[needed] = append(users[needed], user)
		}
	}
	return users
}

// closure returns what leads from a component, directly or not, sorted by name.
func closure(edges map[*renderedComponent][]*renderedComponent, from *renderedComponent) []*renderedComponent {
	found := slices.Clone(edges[from])
	for i := 0; i < len(found); i++ {
		for _, next := range edges[found[i]] {
			if next != from && !slices.Contains(found, next) {
				found = append(found, next)
			}
		}
	}
	slices.SortFunc(found, func(a, b *renderedComponent) int { return strings.Compare(a.name, b.name) })
	return slices.Compact(found)
}

// disapprove returns an output in which the plan of a component in a folder is not approved. An annotation says why.
func (c *renderedComponent) disapprove(all tree.Tree, folder, annotation, value string) (tree.Tree, error) {
	setAnnotation(&c.terraform.Metadata, annotation, value)
	c.terraform.Spec.ApprovePlan = ""
	delete(c.terraform.Metadata.Annotations, tfplan.DigestAnnotation)
	objects, _, err := c.changeObjects("", map[string]any{terraformFile: c.terraform})
	if err != nil {
		return all, err
	}
	seal, err := sealedComponent{c.kustomization, objects}.seal()
	if err != nil {
		return all, err
	}
	text, err := yamldoc.Encode(c.kustomization)
	if err != nil {
		return all, err
	}
	var b tree.Builder
	for _, file := range []tree.Entry{tree.File(seal, []byte(sealText)), tree.File(componentFile, text)} {
		if err := b.Add(file.Name, file.Data); err != nil {
			return all, err
		}
	}
	files := tree.FromEntries(append(slices.Clone(b.Tree().Entries()), tree.Dir(objectsName, objects)))
	return replaceFolder(all, strings.Split(folder, "/"), files), nil
}

func replaceFolder(t tree.Tree, at []string, folder tree.Tree) tree.Tree {
	if len(at) == 0 {
		return folder
	}
	entries := slices.Clone(t.Entries())
	for i, e := range entries {
		if e.Name == at[0] {
			entries[i] = tree.Dir(e.Name, replaceFolder(e.Tree(), at[1:], folder))
		}
	}
	return tree.FromEntries(entries)
}
