package stackfiles

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// tryDestroy destroys a stack that has no file. A mistake in an approval of it stops that, and nothing else:
// the stack stays as it is.
func (k *keeper) tryDestroy(s *renderedStack) error {
	try := *k
	try.kept, try.problems, try.deleted = tree.Builder{}, nil, nil
	err := try.destroyStack(s)
	destroyed := try.kept.Tree()
	if err == nil {
		try.checkApprovals(s.Path())
		destroyed, err = try.refuseUnseen(destroyed)
	}
	if err != nil {
		return err
	}
	if try.problems.Stops() {
		mistakes := slices.DeleteFunc(try.problems.StoppingStack(s.Path()), func(p problem.Problem) bool { return p.Warning })
		k.stopped[s.Path()], k.problems = true, append(k.problems, mistakes...)
		unchanged, err := readRenderedStack(s.output, s.Team, s.Env)
		if err != nil {
			return err
		}
		return k.keepStack(unchanged, map[string]any{})
	}
	k.problems, k.deleted = append(k.problems, try.problems...), append(k.deleted, try.deleted...)
	for file, e := range destroyed.Walk() {
		if err := k.kept.AddEntry(file, e); err != nil {
			return err
		}
	}
	return nil
}

func (k *keeper) destroyStack(s *renderedStack) error {
	subject := s.subject()
	pos := problem.Pos{Layer: k.model.Environment}
	waits := s.isTornDown() && k.previous.IsDestroyed(s.Deleted)
	switch protected := s.protectedNames(); {
	case len(protected) > 0:
		k.problems.Warnf(pos, "Environment/"+subject, "add "+s.Path()+" to spec.abandoned of the StackSettings to remove its objects",
			"the file of the stack %s was deleted: its components are destroyed, except those that are protected: %s", s.Path(), strings.Join(protected, ", "))
	case waits && k.findApproval(s.Path(), "") == nil && !s.needsRelease():
		return nil
	case waits && k.findApproval(s.Path(), "") == nil:
		return k.releaseStack(s)
	case waits:
		k.problems.Warnf(pos, "Environment/"+subject, "remove the approvals of its plans", "the stack %s is destroyed; its objects are removed when no PlanApproval names it", s.Path())
	default:
		k.problems.Warnf(pos, "Environment/"+subject, "restore the file to keep the stack", "the file of the stack %s was deleted: its components are destroyed, and its objects are removed after that", s.Path())
	}
	k.deleted = append(k.deleted, s.Deleted)
	return k.addTeardown(s)
}

// findApproval returns the approval of a plan of a component, or of any of a stack if it is ""; nil
// if there is none.
func (k *keeper) findApproval(name, component string) *model.PlanApproval {
	i := slices.IndexFunc(k.model.Stacks.Approvals, func(a *model.PlanApproval) bool {
		return a.Stack == name && (component == "" || a.Component == component)
	})
	if i < 0 {
		return nil
	}
	return k.model.Stacks.Approvals[i]
}

// checkApprovals reports approvals of stacks that are neither written nor kept, of components that
// these do not have, and several of one component: an approval must not wait for what comes back. It
// checks those of one stack, or all if that is "".
func (k *keeper) checkApprovals(only string) {
	for i, a := range k.model.Stacks.Approvals {
		written := slices.ContainsFunc(k.model.Stacks.List, func(s *model.Stack) bool { return s.Path() == a.Stack })
		if only != "" && a.Stack != only || written || k.stopped[a.Stack] || isOfClusters(k.model, a.Stack) { // rendering has checked it
			continue
		}
		if k.held[a.Stack] {
			k.problems.Warnf(a.Pos, a.Subject(), "remove it", "it has no effect: the stack %s has no file, and stays as it is", a.Stack)
			continue
		}
		if !slices.ContainsFunc(k.deleted, func(d Deleted) bool { return d.Path() == a.Stack && k.hasKept(d, a.Component) }) {
			k.stopUnwritten(a, "remove it", "the plan is of the component %s of the stack %s, which is not in this environment", a.Component, a.Stack)
		}
		if j := slices.IndexFunc(k.model.Stacks.Approvals, func(b *model.PlanApproval) bool { return b.Stack == a.Stack && b.Component == a.Component }); j < i {
			first := k.model.Stacks.Approvals[j]
			k.stopUnwritten(a, "remove one of them", "there is another PlanApproval of the component %s, %s, at %s", a.Component, first.Name, first.Pos)
		}
	}
}

// stopUnwritten adds a problem of an approval of a stack that has no file. It stops that stack, or the
// environment if the approval does not say which it is.
func (k *keeper) stopUnwritten(a *model.PlanApproval, hint, format string, args ...any) {
	found := problem.Problem{Pos: a.Pos, Subject: a.Subject(), Hint: hint, Summary: fmt.Sprintf(format, args...)}
	if strings.Count(a.Stack, "/") == 1 && tree.CheckPath(a.Stack) == nil && !strings.HasSuffix(a.Stack, problem.AllStacks) {
		found.Stack = a.Stack
	}
	k.problems = append(k.problems, found)
}

func (k *keeper) hasKept(d Deleted, component string) bool {
	_, ok := k.kept.Tree().Lookup(path.Join(d.Folder(), component, componentFile))
	return ok
}
