package loop

import (
	"cmp"
	"context"
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
	"github.com/fairlead-io/fairlead/internal/render/clusterfiles"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
)

// deletedStacks are the stacks that an environment's output tears down because their files were
// deleted.
type deletedStacks struct {
	waiting  []stackfiles.Deleted
	carriers []clusterfiles.Carrier
	mirror   *git.Repository
	head     string // of the output branch
	folder   string
	commits  map[string][]string // see findCommits
	err      error               // the first one
	// asked are the stacks and components that followPrevious has asked about, and answers what it was told, while it
	// runs: a report that comes later is news.
	asked   []stackfiles.Deleted
	answers map[string]bool
	// management is the cluster whose reports count, by StackSettings. Where none is named, those of all
	// clusters count for stacks, and none for clusters.
	management string
	intact     clusterfiles.Intact
}

// maxTeardownCommits bounds how far back a report on a teardown may be: clusters report on each commit
// of the output.
const maxTeardownCommits = 50

// followPrevious returns the rendered output with the teardown of stacks that the output branch has
// and that have no file any more. It reports approvals of plans that the branch does not have, and what
// would destroy clusters that it has.
func (l *Loop) followPrevious(ctx context.Context, e *environment, to *model.GitOpsRepo, out *repos.Remote, r source.Rendered) (tree.Tree, problem.List, error) {
	head, err := out.Mirror().FindBranch(to.Branch)
	if err != nil {
		return tree.Tree{}, nil, err
	}
	e.deleted = deletedStacks{mirror: out.Mirror(), head: head, folder: publish.CleanFolder(to.Path), commits: map[string][]string{}, answers: map[string]bool{}, management: r.Model.Stacks.ManagementCluster()}
	defer func() {
		e.destroyed, e.deleted.answers = l.destroyedStacks(e), nil
	}()
	former, err := l.findFormerOutputs(e, to, out)
	if err != nil {
		return tree.Tree{}, nil, err
	}
	var before []tree.Tree
	for _, f := range former {
		before = append(before, f.view.Tree.Sub(f.folder))
	}
	var problems problem.List
	follow := func(previous tree.Tree) (all tree.Tree, err error) {
		all, e.deleted.waiting, problems, err = stackfiles.FollowPrevious(r.Model, r.Tree, stackfiles.Previous{
			Tree: previous.Sub(e.deleted.folder), Former: before, Since: e.deleted.listVersions,
			IsDestroyed: func(d stackfiles.Deleted) bool { return l.isDestroyed(e, d) },
		})
		if err == nil {
			e.deleted.intact, err = l.findIntact(e, r.Model)
		}
		if err == nil {
			problems = append(problems, clusterfiles.CheckFormer(r.Model, before, previous.Sub(e.deleted.folder))...)
			all, problems = l.followClusters(ctx, e, r, all, previous.Sub(e.deleted.folder), problems)
		}
		for _, f := range former {
			err = cmp.Or(f.view.Err(), err)
		}
		return all, cmp.Or(e.deleted.err, err)
	}
	if head == "" {
		all, err := follow(tree.Tree{})
		return all, problems, err
	}
	all, err := git.InspectTree(out.Mirror(), head, follow)
	if err != nil {
		return tree.Tree{}, nil, fmt.Errorf("compare with the output branch: %w", err)
	}
	return all, problems, nil
}

// formerOutput is a place where the output of an environment was before.
type formerOutput struct {
	view   *git.View
	folder string
}

// findFormerOutputs returns the places where the output of an environment was before, unless it is in
// the one that it has now: the stacks that are torn down there are torn down here.
func (l *Loop) findFormerOutputs(e *environment, to *model.GitOpsRepo, out *repos.Remote) ([]formerOutput, error) {
	if len(e.former) == 0 {
		return nil, nil
	}
	there, _, err := inspectMirror(out.Mirror(), &l.records, e.name, outputTo(to))
	if err != nil || there {
		return nil, err
	}
	var all []formerOutput
	for _, o := range e.former {
		remote := l.remotes.KnownRemote(l.remotes.ReadLocation(o.Repo))
		if remote == nil || remote.Mirror() == nil {
			continue
		}
		head, err := remote.Mirror().FindBranch(o.Branch)
		if err != nil {
			return nil, err
		}
		if head == "" {
			continue
		}
		view, err := remote.Mirror().View(head)
		if err != nil {
			return nil, err
		}
		all = append(all, formerOutput{view, o.Path})
	}
	return all, nil
}

// maxApprovalCommits bounds how many commits of the output branch an approval may be older than its
// head when it begins to count.
const maxApprovalCommits = 1_000

// listVersions returns a folder of the output in each commit of its branch from the head back to the
// given one, newest first, without equal ones behind each other; false if that commit is not among them.
func (d *deletedStacks) listVersions(commit, folder string) (versions []tree.Tree, found bool) {
	if d.err != nil || d.head == "" {
		return nil, false
	}
	commits, err := d.mirror.FirstParents(d.head, maxApprovalCommits, func(c string) bool { return c == commit })
	if err != nil || commits[len(commits)-1] != commit {
		d.err = err
		return nil, false
	}
	last := tree.ID{}
	for _, c := range commits {
		view, err := d.mirror.View(c)
		if err != nil {
			d.err = err
			return nil, false
		}
		now := view.Tree.Sub(path.Join(d.folder, folder))
		if id := now.ID(); id != last {
			versions, last = append(versions, now.Expand()), id
		}
		if err := view.Err(); err != nil {
			d.err = err
			return nil, false
		}
	}
	return versions, true
}

// follow has reports count at a commit that the output branch has got since: where Fairlead merges its own pull request,
// no poll finds that the branch has moved.
func (d *deletedStacks) follow(head string) {
	if head != "" && head != d.head {
		d.head, d.commits = head, map[string][]string{}
	}
}

// findCommits returns the last commits of the output branch that hold a folder of the output as its head
// does.
func (d *deletedStacks) findCommits(name string) []string {
	commits, known := d.commits[name]
	if known || d.err != nil {
		return commits
	}
	folder := path.Join(d.folder, name)
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
	d.commits[name], d.err = commits, err
	return commits
}

// isDestroyed reports whether clusters have reported every Kustomization of a deleted stack as ready,
// at a commit that tears it down as the head of the output branch does.
func (l *Loop) isDestroyed(e *environment, d stackfiles.Deleted) bool {
	question := strings.Join(append([]string{d.Path()}, d.Kustomizations...), " ")
	answer, known := e.deleted.answers[question]
	if !known {
		answer = l.isReported(e, d)
		if e.deleted.answers != nil {
			e.deleted.asked = append(e.deleted.asked, d)
		}
	}
	if e.deleted.answers != nil {
		e.deleted.answers[question] = answer
	}
	return answer
}

// isReported reports whether clusters have reported every Kustomization of a stack as ready, and none of its Terraform
// objects as anything but destroyed: a Kustomization is ready when its health checks say so, which know less.
func (l *Loop) isReported(e *environment, d stackfiles.Deleted) bool {
	ready, remaining := l.findReady(e, e.deleted.findCommits(d.Folder()), e.deleted.isManagement), l.findRemaining(e, e.deleted.isManagement)
	return !slices.ContainsFunc(d.Kustomizations, func(name string) bool {
		object := d.Namespace + "/" + name
		return !ready["Kustomization/"+object] || remaining["Terraform/"+object]
	})
}

// findRemaining returns the Terraform objects of which clusters that count report that something is left to destroy, or
// may be.
func (l *Loop) findRemaining(e *environment, counts func(cluster string) bool) map[string]bool {
	remaining := map[string]bool{}
	if l.options.Inbox == nil {
		return remaining
	}
	l.options.Inbox.Reports(func(event observe.Event) (current, ok bool) {
		object, _, _ := strings.Cut(event.Object, "@")
		isDestroyed := event.Phase == rollout.Ready && event.Plan.Destroys
		if strings.HasPrefix(object, "Terraform/") && !isDestroyed && counts(event.Cluster) && e.isReportedBy(event) {
			remaining[object] = true
		}
		return false, false
	})
	return remaining
}

func (d *deletedStacks) isManagement(cluster string) bool {
	return d.management == "" || d.management == cluster
}

// findReady returns, for the objects that clusters report at one of some commits, whether all clusters
// that count report them as ready.
func (l *Loop) findReady(e *environment, commits []string, counts func(cluster string) bool) map[string]bool {
	ready := map[string]bool{}
	if l.options.Inbox == nil {
		return ready
	}
	for _, r := range l.options.Inbox.Reports(func(event observe.Event) (current, ok bool) {
		return slices.Contains(commits, event.Commit), counts(event.Cluster) && e.isReportedBy(event)
	}) {
		object, _, _ := strings.Cut(r.Object, "@")
		before, known := ready[object]
		ready[object] = r.Current && r.Phase == rollout.Ready && (before || !known)
	}
	return ready
}

func (e *environment) origin() string {
	if e.ephemeral == nil || e.ephemeral.From == nil {
		return ""
	}
	return e.ephemeral.From.Name
}

// isReportedBy reports whether an event is of a cluster that may run an environment: one of it, of the environment that an
// ephemeral one was made from, or of none, unless it is excluded from both.
func (e *environment) isReportedBy(event observe.Event) bool {
	mayBeOf := func(environment string) bool {
		return (event.Environment == "" || event.Environment == environment) && !event.Membership.Excludes(event.Cluster, environment)
	}
	return mayBeOf(e.name) || e.origin() != "" && mayBeOf(e.origin())
}

// hasCopiedStacks reports whether an ephemeral environment has copies of stacks, or some that are not
// destroyed yet: if its branch is deleted, a person decides what becomes of what they made.
func (e *environment) hasCopiedStacks() bool {
	return e.ephemeral != nil && (e.ephemeral.Spec != nil && len(e.ephemeral.Spec.Stacks) > 0 || len(e.deleted.waiting) > 0)
}

// destroyedStacks returns the deleted stacks of an environment that are destroyed, the manifests of clusters that are
// carried out and were waited for, and the stacks of the output branch that are torn down.
func (l *Loop) destroyedStacks(e *environment) []string {
	var all []string
	for _, d := range e.deleted.waiting {
		if l.isDestroyed(e, d) {
			all = append(all, d.Path())
		}
	}
	for _, d := range e.deleted.asked {
		if l.isDestroyed(e, d) {
			all = append(all, "destroyed: "+d.Path()+" "+strings.Join(d.Kustomizations, " "))
		}
	}
	for _, c := range e.deleted.carriers {
		if l.isCarriedOut(e, c) {
			all = append(all, c.Manifest)
		}
	}
	for _, s := range e.stacks.merged {
		if len(listDestroyed(s)) > 0 && l.isTornDown(e, s) {
			all = append(all, "torn down: "+s.Stack)
		}
	}
	return all
}

func (l *Loop) hasDestroyedStacks() bool {
	for _, e := range l.environments {
		if !slices.Equal(l.destroyedStacks(e), e.destroyed) {
			return true
		}
	}
	return false
}
