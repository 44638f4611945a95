package loop

import (
	"path"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/repos"
	"github.com/fairlead-io/fairlead/internal/reconcile/stackview"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
)

type renderedStacks struct {
	folder tree.ID
	merged []stackfiles.Summary
	at     deletedStacks // the commit that they were read at
}

// reportStacks has people see the stacks of an environment: those that it is rendered to, and those that its
// output branch has. What cannot be read is logged: nothing is decided by it.
func (l *Loop) reportStacks(e *environment, m *model.Model, rendered tree.Tree, done *outcome, out *repos.Remote) {
	e.deleted.follow(done.result.Head)
	wanted, err := stackview.ListStacks(e.name, rendered, done.problems)
	if err == nil {
		err = e.stacks.readMerged(out.Mirror(), done.result.Head, publish.CleanFolder(done.output.Path))
	}
	if err != nil {
		l.options.Logger.Warn("the stacks of an environment cannot be shown", "environment", e.name, "error", err)
		return
	}
	l.options.Store.SetStacks(e.name, stackview.NewKnown(e.name, wanted, e.stacks.merged, m))
}

func (l *Loop) isTornDown(e *environment, s stackfiles.Summary) bool {
	ready := l.findReady(e, e.stacks.at.findCommits(path.Join(stackfiles.ObjectsFolder, s.Stack)), e.deleted.isManagement)
	remaining := l.findRemaining(e, e.deleted.isManagement)
	return !slices.ContainsFunc(listDestroyed(s), func(c stackfiles.ComponentSummary) bool {
		object := s.Namespace + "/" + c.Object
		return !ready["Kustomization/"+object] || remaining["Terraform/"+object]
	})
}

func (s *renderedStacks) readMerged(mirror *git.Repository, head, folder string) error {
	if head == "" {
		*s = renderedStacks{}
		return nil
	}
	id, err := mirror.FolderID(head, path.Join(folder, stackfiles.ObjectsFolder))
	if s.at.head != head {
		s.at = deletedStacks{mirror: mirror, head: head, folder: folder, commits: map[string][]string{}}
	}
	if err != nil || id == s.folder {
		return err
	}
	merged, err := git.InspectTree(mirror, head, func(t tree.Tree) ([]stackfiles.Summary, error) { return stackfiles.Summarize(t.Sub(folder)) })
	if err == nil {
		s.folder, s.merged = id, merged
	}
	return err
}
