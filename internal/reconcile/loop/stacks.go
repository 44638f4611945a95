package loop

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/promotion/rollout"
	"github.com/fairlead-io/fairlead/internal/reconcile/observe"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/repos"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
)

// deletedStacks are the stacks that an environment's output tears down because their files were
// deleted.
type deletedStacks struct {
	waiting []stackfiles.Deleted
	mirror  *git.Repository
	head    string // of the output branch
	folder  string
	commits map[string][]string // see findCommits
	err     error               // the first one
}

// maxTeardownCommits bounds how far back a report on a teardown may be: clusters report on each commit
// of the output.
const maxTeardownCommits = 50

// keepDeletedStacks returns the rendered output with the teardown of stacks that the output branch has
// and that have no file any more.
func (l *Loop) keepDeletedStacks(e *environment, to *model.GitOpsRepo, out *repos.Remote, r source.Rendered) (tree.Tree, problem.List, error) {
	head, err := out.Mirror().FindBranch(to.Branch)
	if err != nil {
		return tree.Tree{}, nil, err
	}
	e.deleted = deletedStacks{mirror: out.Mirror(), head: head, folder: publish.CleanFolder(to.Path), commits: map[string][]string{}}
	var problems problem.List
	keep := func(previous tree.Tree) (all tree.Tree, err error) {
		all, e.deleted.waiting, problems, err = stackfiles.KeepDeleted(r.Model, r.Tree, previous.Sub(e.deleted.folder), func(d stackfiles.Deleted) bool {
			return l.isDestroyed(e, d)
		})
		return all, cmp.Or(e.deleted.err, err)
	}
	if head == "" {
		all, err := keep(tree.Tree{})
		return all, problems, err
	}
	all, err := git.InspectTree(out.Mirror(), head, keep)
	if err != nil {
		return tree.Tree{}, nil, fmt.Errorf("compare the stacks with the output branch: %w", err)
	}
	return all, problems, nil
}

// findCommits returns the last commits of the output branch that hold a stack as its head does.
func (d *deletedStacks) findCommits(stack stackfiles.Deleted) []string {
	commits, known := d.commits[stack.Path()]
	if known || d.err != nil {
		return commits
	}
	folder := path.Join(d.folder, stack.Folder())
	now, err := d.mirror.FolderID(d.head, folder)
	if err == nil {
		commits, err = d.mirror.FirstParents(d.head, maxTeardownCommits, func(string) bool { return false })
	}
	for i, commit := range commits {
		id, failed := d.mirror.FolderID(commit, folder)
		err = cmp.Or(err, failed)
		if err != nil || id != now {
			commits = commits[:i]
			break
		}
	}
	d.commits[stack.Path()], d.err = commits, err
	return commits
}

// isDestroyed reports whether clusters have reported every Kustomization of a deleted stack as ready,
// at a commit that tears it down as the head of the output branch does.
func (l *Loop) isDestroyed(e *environment, d stackfiles.Deleted) bool {
	if l.options.Inbox == nil {
		return false
	}
	commits, ready := e.deleted.findCommits(d), map[string]bool{}
	for _, r := range l.options.Inbox.Reports(func(event observe.Event) (current, ok bool) {
		return slices.Contains(commits, event.Commit), event.Environment == "" || event.Environment == e.name
	}) {
		object, _, _ := strings.Cut(r.Object, "@")
		before, known := ready[object]
		ready[object] = r.Current && r.Phase == rollout.Ready && (before || !known)
	}
	return !slices.ContainsFunc(d.Kustomizations, func(name string) bool { return !ready["Kustomization/"+d.Namespace+"/"+name] })
}

// destroyedStacks returns the deleted stacks of an environment that are destroyed.
func (l *Loop) destroyedStacks(e *environment) []string {
	var all []string
	for _, d := range e.deleted.waiting {
		if l.isDestroyed(e, d) {
			all = append(all, d.Path())
		}
	}
	return all
}

// hasDestroyedStacks reports whether a deleted stack is destroyed, and the output still has it.
func (l *Loop) hasDestroyedStacks() bool {
	for _, e := range l.environments {
		if !slices.Equal(l.destroyedStacks(e), e.destroyed) {
			return true
		}
	}
	return false
}
