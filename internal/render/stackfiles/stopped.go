package stackfiles

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/stack"
	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
	"github.com/fairlead-io/fairlead/internal/render/rootmodule"
)

// findStopped finds the stacks that have a file and were not rendered: a problem stops them.
func (k *keeper) findStopped() {
	for _, s := range k.model.Stacks.List {
		name := s.Path()
		if _, rendered := k.rendered.Lookup(path.Join(ObjectsFolder, name, namespaceFile)); !rendered {
			k.stopped[name] = true
		}
	}
	for _, p := range k.model.Stacks.Stopped {
		if !strings.HasSuffix(p.Stack, problem.AllStacks) {
			k.stopped[p.Stack] = true
		}
	}
}

// findUnread finds the stacks that the previous output has, and whose files cannot be read.
func (k *keeper) findUnread() {
	for _, u := range k.model.Stacks.Unread {
		if k.isPlaced(u) {
			k.stopped[u.Name()] = true
		}
	}
}

func (k *keeper) isPlaced(u model.UnreadStacks) bool {
	if u.Env == "" || u.OfTeam || slices.ContainsFunc(k.model.Stacks.List, func(s *model.Stack) bool { return s.Path() == u.Name() }) {
		return false
	}
	_, before := k.previous.Tree.Lookup(path.Join(ObjectsFolder, u.Name(), namespaceFile))
	return before
}

// holdUnread keeps a stack without a file as it is while it may be written where nothing can be read, or
// while its Team, which may protect it, cannot be read. It reports whether it does.
func (k *keeper) holdUnread(s *renderedStack) (bool, error) {
	reason := k.model.Stacks.FindUnreadTeam(s.Team)
	for i, u := range k.model.Stacks.Unread {
		if reason == nil && !u.OfTeam && !k.isPlaced(u) && (u.Team == s.Team || !strings.HasPrefix(u.Pos.Layer, model.TeamLayerPrefix)) {
			reason = &k.model.Stacks.Unread[i]
		}
	}
	if reason == nil {
		return false, nil
	}
	what := "its file may be " + reason.Pos.String() + ", which cannot be read"
	if reason.OfTeam {
		what = "its Team has a mistake, at " + reason.Pos.String() + ", and may protect it"
	}
	k.problems.Warnf(problem.Pos{Layer: k.model.Environment}, "Environment/"+cmp.Or(s.name, s.Path()), "fix that, and a stack without a file is destroyed",
		"the stack %s has no file, and stays as it is: %s", s.Path(), what)
	k.held[s.Path()] = true
	return true, k.keepStack(s, map[string]any{})
}

// keepUnreadable stops a stack whose files in the output cannot be read, which somebody has edited. It stays as it
// is: nothing says what it protects, or destroys.
func (k *keeper) keepUnreadable(output tree.Tree, d Deleted, why error) error {
	pos, subject := k.locate(&renderedStack{Deleted: d, name: d.Path()})
	k.stopped[d.Path()] = true
	k.problems = append(k.problems, problem.Problem{
		Pos: pos, Subject: subject, Hint: "restore the files below " + d.Folder() + " on the branch of the output, from the commit before they were edited",
		Summary: fmt.Sprintf("what the output has of the stack %s cannot be read: %v", d.Path(), why), Stack: d.Path(),
	})
	for _, folder := range []string{d.Folder(), d.ModulesFolder()} {
		for file, e := range output.Sub(folder).Walk() {
			if err := k.kept.AddEntry(path.Join(folder, file), e); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkUnpinned reports components whose modules were pinned to a commit, and cannot be read now: without it,
// the next plan would be of whatever is in their repositories.
func (k *keeper) checkUnpinned(s *renderedStack) (found bool) {
	for _, now := range k.model.Stacks.List {
		if now.Path() != s.Path() {
			continue
		}
		for _, c := range now.Components {
			folder := path.Join(s.ModulesFolder(), c.Name.Text, "terraform")
			why, unpinned := rootmodule.FindUnpinned(k.model, s.output.Sub(folder), k.rendered.Sub(folder))
			if unpinned {
				found = true
				k.stopStack(now, c.Module.Source.Line, why.Hint, "component %s: its module is pinned to a commit, and cannot be read now: %s", c.Name.Text, why.Summary)
			}
		}
	}
	return found
}

// findUnplaced returns a stack that is stopped and that the previous output does not have; "" if there
// is none. It may be one of this team that was renamed, and has its state under the old name.
func (k *keeper) findUnplaced(team string) string {
	for _, s := range k.model.Stacks.List {
		name := s.Path()
		if strings.HasPrefix(s.Pos.Layer, model.TeamLayerPrefix) && s.TeamName.Text != team { // it can be none of another team
			continue
		}
		if _, before := k.previous.Tree.Lookup(path.Join(ObjectsFolder, name, namespaceFile)); !before && k.stopped[name] {
			return name
		}
	}
	return ""
}

// stopStack adds a problem that stops a stack, at a line of its file.
func (k *keeper) stopStack(s *model.Stack, line int, hint, format string, args ...any) {
	name := s.Path()
	k.stopped[name] = true
	k.problems = append(k.problems, problem.Problem{Pos: s.PositionAt(line), Subject: s.Subject(), Hint: hint, Summary: fmt.Sprintf(format, args...), Stack: name})
}

// stopApproved adds a problem of an approval, which stops the stack that it is of, if that has a file.
func (k *keeper) stopApproved(a *model.PlanApproval, hint, format string, args ...any) {
	found := problem.Problem{Pos: a.Pos, Subject: a.Subject(), Hint: hint, Summary: fmt.Sprintf(format, args...)}
	for _, s := range k.model.Stacks.List {
		if s.Path() == a.Stack {
			found.Stack, k.stopped[a.Stack] = a.Stack, true
		}
	}
	k.problems = append(k.problems, found)
}

// ModulesFolder returns the folder of the root modules of the stack in the output.
func (d Deleted) ModulesFolder() string {
	return path.Join(ModulesFolder, d.Team+TeamSuffix, d.Env+EnvSuffix)
}

// keepStack keeps the files of a stack as the previous output has them, apart from changed objects. If the
// output was in another folder, its Kustomizations lead to this one.
func (k *keeper) keepStack(s *renderedStack, changed map[string]any) error {
	for _, c := range s.components {
		folder := path.Join(s.Folder(), c.name)
		if moved := stack.OutputFolder(k.model) + path.Join(folder, objectsName); c.kustomization.Spec.Path != moved {
			c.kustomization.Spec.Path = moved
			changed[path.Join(folder, componentFile)] = c.kustomization
		}
	}
	resealed, err := k.changeSealed(s, changed)
	if err != nil {
		return err
	}
	for _, folder := range []string{s.Folder(), s.ModulesFolder()} {
		for file, e := range s.output.Sub(folder).Walk() {
			file = path.Join(folder, file)
			if isSealOf(file, resealed) {
				continue
			}
			if o, ok := changed[file]; ok {
				text, err := yamldoc.Encode(o)
				if err != nil {
					return err
				}
				e.ID, e.Data = tree.HashBlob(text), text
			}
			if err := k.kept.AddEntry(file, e); err != nil {
				return err
			}
		}
	}
	return nil
}

// keepStopped keeps a stack that a problem stops as it is. It suspends the destruction of components that the
// file of the stack no longer asks for.
func (k *keeper) keepStopped(s *renderedStack) error {
	i := slices.IndexFunc(k.model.Stacks.List, func(now *model.Stack) bool { return now.Path() == s.Path() })
	if i < 0 || k.model.Stacks.List[i].Teardown {
		return k.keepStack(s, map[string]any{})
	}
	now, names := k.model.Stacks.List[i], []string{}
	unasked := slices.DeleteFunc(slices.Clone(s.components), func(c *renderedComponent) bool {
		isAsked := !slices.ContainsFunc(now.Components, func(w *model.StackComponent) bool {
			return w != nil && w.Name.Text == c.name && !w.IsToBeDestroyed()
		})
		return isAsked || !c.isDestroyed()
	})
	if len(unasked) == 0 {
		return k.keepStack(s, map[string]any{})
	}
	for _, c := range unasked {
		names = append(names, c.name)
	}
	k.problems.Warnf(now.Pos, now.Subject(), "mend what stops the stack, and they are as its file says",
		"the stack %s no longer destroys %s, and a problem stops it: their destruction is suspended until then", s.Path(), strings.Join(names, ", "))
	return k.suspendDestruction(s, unasked)
}

// withoutKept returns the rendered output without the stacks that are stopped, and the files that others
// take the place of.
func (k *keeper) withoutKept() (tree.Tree, error) {
	if len(k.stopped)+len(k.replaced) == 0 {
		return k.rendered, nil
	}
	var folders []string
	for name := range k.stopped {
		if _, rendered := k.rendered.Lookup(path.Join(ObjectsFolder, name, namespaceFile)); !rendered { // as it is with a name that no folder has
			continue
		}
		team, env, _ := strings.Cut(name, "/")
		d := Deleted{Team: team, Env: env}
		folders = append(folders, d.Folder()+"/", d.ModulesFolder()+"/")
	}
	var b tree.Builder
	var others []tree.Entry
	for _, top := range k.rendered.Entries() {
		if top.Name != ObjectsFolder && top.Name != ModulesFolder {
			others = append(others, top)
			continue
		}
		for file, e := range top.Tree().Walk() {
			file = path.Join(top.Name, file)
			if k.replaced[file] || slices.ContainsFunc(folders, func(folder string) bool { return strings.HasPrefix(file, folder) }) {
				continue
			}
			if err := b.AddEntry(file, e); err != nil {
				return tree.Tree{}, err
			}
		}
	}
	return tree.FromEntries(append(others, b.Tree().Entries()...)), nil
}
