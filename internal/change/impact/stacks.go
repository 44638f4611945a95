package impact

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/render/clusterfiles"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
	"github.com/fairlead-io/fairlead/internal/render/tfobject"
)

// StackChange is the change of one stack.
type StackChange struct {
	Stack      string            `json:"stack"` // "team/environment"
	Components []ComponentChange `json:"components"`
	// EndsTeardown is true if the change ends the teardown of the stack.
	EndsTeardown bool `json:"endsTeardown,omitempty"`
	// Deleted is true if the stack's file was deleted: charts are resumed, and the next
	// change destroys the stack.
	Deleted bool `json:"deleted,omitempty"`
}

// ComponentChange is the change of one component of a stack.
type ComponentChange struct {
	Name   string         `json:"name"`
	Change ComponentState `json:"change,omitempty"` // "" for none
	After  []string       `json:"after"`            // the components that must be ready before it
	// Waits is true if a plan waits for approval.
	Waits bool `json:"waits,omitempty"`
}

// ComponentState is the change of a component.
type ComponentState string

// The states of components.
const (
	ComponentDestroyed ComponentState = "destroyed"
	// ComponentApproved means that the plan to destroy it becomes approved.
	ComponentApproved ComponentState = "destroyed as approved"
	// ComponentOrphaned and ComponentUninstalled are removed without destruction. What
	// an orphaned one made stays; charts and Applications are uninstalled.
	ComponentOrphaned    ComponentState = "orphaned"
	ComponentUninstalled ComponentState = "uninstalled"
	ComponentCleared     ComponentState = "removed" // it was destroyed before
	// ComponentKept and ComponentReinstalled are no longer destroyed; the latter are
	// charts and Applications. ComponentResumed is uninstalled by the next change.
	ComponentKept        ComponentState = "kept"
	ComponentReinstalled ComponentState = "installed again"
	ComponentResumed     ComponentState = "resumed"
	ComponentAdded       ComponentState = "added"
	ComponentChanged     ComponentState = "changed"
)

func isOfStacks(name string, old, new tree.Tree) bool {
	return (name == stackfiles.ObjectsFolder || name == stackfiles.ModulesFolder) && (stackfiles.HasStacks(old) || stackfiles.HasStacks(new))
}

func isOfClusters(name string, old, new tree.Tree) bool {
	return name == clusterfiles.Folder && (clusterfiles.HasClusters(old) || clusterfiles.HasClusters(new))
}

func isOfNoType(name string, old, new tree.Tree) bool {
	return isOfStacks(name, old, new) || isOfClusters(name, old, new)
}

type stackName struct{ team, env string }

func (n stackName) String() string { return n.team + "/" + n.env }

// changedComponents returns the changed components by stack; "" stands for the stack's
// own files.
func changedComponents(old, new tree.Tree) map[stackName]map[string]bool {
	found := map[stackName]map[string]bool{}
	add := func(team, env, component string, isDir bool) {
		name := stackName{team, env}
		if found[name] == nil {
			found[name] = map[string]bool{}
		}
		if !isDir {
			component = ""
		}
		found[name][component] = true
	}
	for _, at := range []struct{ folder, team, env string }{
		{stackfiles.ObjectsFolder, "", ""}, {stackfiles.ModulesFolder, stackfiles.TeamSuffix, stackfiles.EnvSuffix},
	} {
		for was, is := range tree.ZipChanged(old.Sub(at.folder), new.Sub(at.folder)) {
			team := strings.TrimSuffix(cmp.Or(was.Name, is.Name), at.team)
			for a, b := range tree.ZipChanged(was.Tree(), is.Tree()) {
				env := strings.TrimSuffix(cmp.Or(a.Name, b.Name), at.env)
				for x, y := range tree.ZipChanged(a.Tree(), b.Tree()) {
					add(team, env, cmp.Or(x.Name, y.Name), x.IsDir() || y.IsDir())
				}
			}
		}
	}
	return found
}

func (s *survey) visitStacks(old, new tree.Tree) {
	all := changedComponents(old, new)
	names := slices.SortedFunc(maps.Keys(all), func(a, b stackName) int {
		return cmp.Or(strings.Compare(a.team, b.team), strings.Compare(a.env, b.env))
	})
	for _, name := range names {
		s.visitStack(name, old, new, all[name])
	}
}

func (s *survey) visitStack(name stackName, old, new tree.Tree, components map[string]bool) {
	before, was, failed := stackfiles.SummarizeStack(old, name.team, name.env)
	after, is, err := stackfiles.SummarizeStack(new, name.team, name.env)
	if failed != nil || err != nil || !was && !is {
		s.wholeGroup(File, "", Unclassified).add("", path.Join(stackfiles.ObjectsFolder, name.String()))
		return
	}
	s.report.Stacks++
	change := StackChange{Stack: name.String()}
	whole := was != is
	switch {
	case !was:
		s.wholeGroup(Stack, "", StackAdded).add(name.String(), name.String())
	case !is:
		s.wholeGroup(Stack, "", StackRemoved).add(name.String(), name.String())
	default:
		change.EndsTeardown, change.Deleted = before.Teardown && !after.Teardown, after.Deleted && !before.Deleted
		isReleased := slices.ContainsFunc(after.Components, func(c stackfiles.ComponentSummary) bool { return isReleased(before, c) })
		isTitled := slices.ContainsFunc(after.Components, func(c stackfiles.ComponentSummary) bool {
			was, there := before.FindComponent(c.Name)
			return there && changedState(was, c).isTitled()
		})
		s.visitNamespace(name, old, new, isReleased, isTitled)
	}
	for _, c := range mergeComponents(before, after) {
		one := ComponentChange{Name: c.Name, After: c.After}
		if components[c.Name] {
			one.Change = s.visitComponent(name, c.Name, before, after, [2]tree.Tree{
				stackfiles.ComponentFiles(old, name.team, name.env, c.Name), stackfiles.ComponentFiles(new, name.team, name.env, c.Name),
			}, whole)
			now, there := after.FindComponent(c.Name)
			one.Waits = there && now.Plan != "" && now.Approval == "" && now.Action != stackfiles.Suspend
		}
		change.Components = append(change.Components, one)
	}
	s.report.StackChanges = append(s.report.StackChanges, change)
}

func mergeComponents(before, after stackfiles.Summary) []stackfiles.ComponentSummary {
	all := slices.Clone(after.Components)
	for _, c := range before.Components {
		if _, there := after.FindComponent(c.Name); !there {
			all = append(all, c)
		}
	}
	return all
}

// isReleased reports whether the Terraform object of a destroyed component is removed.
// Its other objects go later.
func isReleased(before stackfiles.Summary, is stackfiles.ComponentSummary) bool {
	was, there := before.FindComponent(is.Name)
	return there && was.Action == stackfiles.Destroy && is.Action == stackfiles.Destroy && was.Plan != "" && is.Plan == ""
}

// visitNamespace records differences of the stack's own file, which in a released stack
// follow from the rest.
func (s *survey) visitNamespace(name stackName, old, new tree.Tree, released, titled bool) {
	folder := path.Join(stackfiles.ObjectsFolder, name.String())
	for c := range tree.Diff(old.Sub(folder), new.Sub(folder)) {
		if c.Path == stackfiles.NamespaceFile {
			s.countFile(c)
			if released {
				continue
			}
			s.recordChange(location{clusterType: name.String(), stack: true, titled: titled}, Stack, []tree.Change{c})
		}
	}
}

func (s *survey) visitComponent(name stackName, component string, before, after stackfiles.Summary, files [2]tree.Tree, whole bool) ComponentState {
	at := location{clusterType: name.String(), target: component, stack: true}
	was, wasThere := before.FindComponent(component)
	is, isThere := after.FindComponent(component)
	cause := printableText("component " + component)
	if whole {
		cause = printableText("with stack " + name.String())
	}
	switch {
	case !wasThere:
		s.report.Components.Added++
		s.report.Files.Added += files[1].Count()
		s.wholeGroup(Component, cause, ComponentAddedClass).add(at.clusterType, at.path())
		return ComponentAdded
	case !isThere:
		s.report.Components.Removed++
		s.report.Files.Removed += files[0].Count()
		state := removedState(was)
		class := ComponentRemovedClass
		if state == ComponentCleared {
			class = ComponentClearedClass
		}
		s.wholeGroup(Component, cause, class).add(at.clusterType, at.path())
		return state
	}
	s.report.Components.Changed++
	if isReleased(before, is) {
		for c := range tree.Diff(files[0], files[1]) {
			s.countFile(c)
		}
		s.wholeGroup(Component, cause, ComponentClearedClass).add(at.clusterType, at.path())
		return ComponentCleared
	}
	s.changes = slices.AppendSeq(s.changes[:0], tree.Diff(files[0], files[1]))
	slices.SortStableFunc(s.changes, func(a, b tree.Change) int { // the root module first: the rest follows from it
		return list.CompareBools(strings.HasPrefix(a.Path, "terraform/"), strings.HasPrefix(b.Path, "terraform/"))
	})
	for _, c := range s.changes {
		s.countFile(c)
	}
	state := changedState(was, is)
	at.titled = state.isTitled()
	if state == ComponentReinstalled { // what waited for the uninstallation goes with it
		s.changes = slices.DeleteFunc(s.changes, func(c tree.Change) bool { return c.Removed() && strings.HasPrefix(c.Path, "objects/") })
	}
	s.recordChange(at, Component, s.changes)
	if was.State != is.State && is.Approval == tfobject.AutoApproved && is.Action != stackfiles.Destroy {
		s.report.remade = append(s.report.remade, component+" of "+name.String())
	}
	return state
}

func changedState(was, is stackfiles.ComponentSummary) ComponentState {
	destroyed := func(c stackfiles.ComponentSummary) bool { return c.Action == stackfiles.Destroy }
	switch {
	case destroyed(is) && !destroyed(was):
		return ComponentDestroyed
	case destroyed(is) && was.Approval != is.Approval && is.Approval != "":
		return ComponentApproved
	case destroyed(was) && !destroyed(is) && is.Plan != "":
		return ComponentKept
	case destroyed(was) && !destroyed(is):
		return ComponentReinstalled
	case is.Resumed && !was.Resumed:
		return ComponentResumed
	}
	return ComponentChanged
}

func (s ComponentState) isTitled() bool {
	return s == ComponentKept || s == ComponentReinstalled || s == ComponentResumed
}

func removedState(was stackfiles.ComponentSummary) ComponentState {
	switch {
	case was.Action == stackfiles.Destroy:
		return ComponentCleared
	case was.Stays:
		return ComponentOrphaned
	}
	return ComponentUninstalled
}

func (s ComponentState) isLost() bool {
	return s == ComponentDestroyed || s == ComponentApproved || s == ComponentOrphaned || s == ComponentUninstalled
}

// withoutDerived omits the pin of a root module and its names, which follow from other
// changes.
func withoutDerived(all []change) []change {
	isDerived := func(c change) bool {
		at := strings.Join(c.path, ".")
		switch c.kind {
		case "Kustomization":
			return strings.HasPrefix(at, "spec.healthCheckExprs") || strings.HasPrefix(at, "spec.components")
		case "GitRepository":
			return at == "spec.ref.commit"
		case "Terraform":
			return at == "metadata.annotations."+stackfiles.InputsAnnotation
		}
		return false
	}
	rest := slices.DeleteFunc(slices.Clone(all), isDerived)
	if len(rest) == 0 {
		return all
	}
	return rest
}
