package publish

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
	"github.com/fairlead-io/fairlead/internal/render/tfobject"
)

// trailerModules marks commits of a root module branch with the environment.
const trailerModules = "Fairlead-Modules"

// publishModules keeps every pinned commit reachable from the branch of root modules. Each commit
// has its predecessor and the changed pins as parents. Its tree has all root modules, which shows
// the reachable pins.
func (w *attempt) publishModules(ctx context.Context) error {
	if w.p.Modules == nil || len(w.p.Modules.Pins) == 0 || !w.options.writes(ctx) {
		return nil
	}
	branch := w.p.Modules.Branch
	head, err := w.findModules(branch)
	if err != nil {
		return err
	}
	before, err := w.repo.View(head)
	if err != nil {
		return err
	}
	next, err := w.p.Modules.Tree()
	if err != nil || tree.Equal(before.Tree, next) {
		return err
	}
	if err := w.options.Remote.Prefetch(ctx, before.Tree, next, stackfiles.ModuleDepth+1); err != nil {
		return err
	}
	commits := w.modulesCommits(head, before.Tree, next)
	if err := before.Err(); err != nil { // an unreadable folder would look changed
		return err
	}
	pack, err := w.options.Remote.Write(ctx, commits...)
	if err != nil {
		return err
	}
	w.options.Announce("push the root modules")
	return w.options.Remote.Push(ctx, pack, git.RefUpdate{Ref: heads + branch, Old: head, New: pack.Commits[len(commits)-1]})
}

// findModules returns the head of the module branch; "" if missing. It refuses a foreign branch.
func (w *attempt) findModules(branch string) (head string, err error) {
	head, err = w.repo.FindBranch(branch)
	if err != nil {
		return "", err
	}
	if head == "" {
		return "", w.checkName(branch)
	}
	info, err := w.repo.Commit(head)
	if err == nil && !slices.Equal(Trailers(info.Message)[trailerModules], []string{w.p.Environment}) {
		err = newBlocked("rename the branch, or name another one in spec.modules.branch of the StackSettings",
			"the branch %s is to hold the root modules of %s, and its last commit is not of them", branch, w.p.Environment)
	}
	return head, err
}

func (w *attempt) modulesCommits(head string, before, all tree.Tree) []git.Commit {
	next := git.Commit{
		Tree: all, Author: w.options.Author, Sign: w.options.Sign, When: commitTime(w.p.Inputs), Known: []tree.Tree{before},
		Message: fmt.Sprintf("Root modules of %s\n\n%s: %s\n", w.p.Environment, trailerModules, w.p.Environment),
	}
	if head != "" {
		next.Parents = []string{head}
	}
	var commits []git.Commit
	for _, p := range w.p.Modules.Pins {
		if before.Sub(p.Folder).ID() == p.Tree.Sub(p.Folder).ID() {
			continue
		}
		next.Parents = append(next.Parents, p.ID().String())
		commits = append(commits, newPinCommit(p))
	}
	return append(commits, next)
}

func newPinCommit(p tfobject.Pin) git.Commit {
	return git.Commit{Tree: p.Tree, Author: git.Signature{Name: tfobject.PinAuthor, Email: tfobject.PinEmail}, When: time.Unix(0, 0).UTC(), Message: p.Message}
}
