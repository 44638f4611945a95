package loop

import (
	"context"
	"fmt"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/repos"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

// refusal says why the output of an environment may not go where it says.
type refusal struct {
	sentence, hint string
	always         bool // also for a place that the environment has
}

// reserved is what no environment may write to: the repositories that the control plane is
// read from, and in them the branches.
type reserved struct {
	repos    map[string][]giturl.Identity // by host and path
	branches map[string]bool              // in lower case
}

func (t reserved) addRepo(repo string) {
	if repo == "" {
		return
	}
	id := giturl.Identify(repo)
	t.repos[id.Host+"/"+id.Path] = append(t.repos[id.Host+"/"+id.Path], id)
}

func (t reserved) hasRepo(repo string) bool {
	id := giturl.Identify(repo)
	for _, known := range t.repos[id.Host+"/"+id.Path] {
		if known.Same(id) {
			return true
		}
	}
	return false
}

func (l *Loop) findReserved(ctx context.Context, all []*environment) (reserved, error) {
	t := reserved{map[string][]giturl.Identity{}, map[string]bool{strings.ToLower(l.options.Settings.ControlPlane.Branch): true}}
	found, _, err := l.source.Environments(ctx)
	if err != nil {
		return t, err
	}
	seen := map[string]bool{}
	add := func(repo string) {
		if !seen[repo] {
			seen[repo] = true
			t.addRepo(repo)
			t.addRepo(l.remotes.ReadLocation(repo))
		}
	}
	add(l.options.Settings.ControlPlane.Repo)
	for _, e := range found {
		add(e.ControlPlane.Repo)
		t.branches[strings.ToLower(e.ControlPlane.Branch)] = true
	}
	for _, e := range all {
		for _, in := range e.outcome.commits { // of the last cycle, if it could not be read in this one
			add(in.Repo)
		}
		for _, c := range e.attempt.rendered.Commits {
			add(c.Repo)
		}
		if m := e.attempt.rendered.Model; m != nil {
			for _, r := range m.Registrations {
				add(r.Workload.Repo)
			}
		}
	}
	return t, nil
}

// checkLocations finds environments whose output may not go where they say. A place with a
// record of the environment goes on as it is, unless the settings do not allow it.
func (l *Loop) checkLocations(ctx context.Context, all []*environment) {
	t, err := l.findReserved(ctx, all)
	for _, e := range all {
		to := e.attempt.rendered.Model.OutputRepo()
		if e.attempt.err != nil || to == nil {
			continue
		}
		e.attempt.err = err
		if err == nil {
			e.attempt.err = l.barrier.Run("place", e.name, func() (err error) {
				e.attempt.refusal, err = l.checkLocation(ctx, e, to.RepoRef, t)
				return err
			})
		}
	}
}

// checkLocation decides about the place of an environment's output. That of an ephemeral one is
// beside the place of the environment that it was made from, and is judged as that.
func (l *Loop) checkLocation(ctx context.Context, e *environment, to model.RepoRef, t reserved) (*refusal, error) {
	if e.name == "promotion" && (t.hasRepo(to.Repo) || t.hasRepo(l.remotes.ReadLocation(to.Repo))) {
		ours := l.options.proposalBranch(e.name)
		return &refusal{
			fmt.Sprintf("Git has no branch %s beside %s/…, which Fairlead proposes the records of environments from", ours, ours),
			"give the environment another name, or have its output go to a repository of its own", true,
		}, nil
	}
	if no := l.checkAllowed(to, t); no != nil && no.always {
		return no, nil
	}
	name := e.name
	if e.ephemeral != nil {
		from, err := l.source.OutputOf(ctx, e.ephemeral.From.Name)
		if err != nil || from == nil {
			return nil, err
		}
		name, to = e.ephemeral.From.Name, from.RepoRef
		e.attempt.chosen, _, err = inspectLocation(ctx, l.remotes, &l.records, name, to)
		if err != nil {
			return nil, err
		}
	}
	no := l.checkAllowed(to, t)
	if no == nil || strings.EqualFold(to.Branch, l.options.proposalBranch(name)) { // publishing reports what is wrong with one's own
		return nil, nil
	}
	if no.always {
		return no, nil
	}
	if own, _, err := inspectLocation(ctx, l.remotes, &l.records, name, to); err != nil || own {
		return nil, err
	}
	return no, nil
}

// checkAllowed returns why nothing of Fairlead's output belongs in a place; nil if it may.
func (l *Loop) checkAllowed(to model.RepoRef, t reserved) *refusal {
	lower, shown := strings.ToLower(to.Branch), giturl.Redact(to.Repo)
	place := l.remotes.ReadLocation(to.Repo)
	allowed, named, literally := l.options.Settings.AllowsOutput(to.Repo, to.Branch)
	if !allowed || !named {
		a, n, b := l.options.Settings.AllowsOutput(place, to.Branch)
		allowed, named, literally = allowed || a, named || n, literally || b
	}
	entry := fmt.Sprintf("output.allow in the settings, as {repo: %s, branches: [%s]}, is what lets output go there", shown, to.Branch)
	switch {
	case !allowed:
		return &refusal{fmt.Sprintf("the settings do not let output go to branch %s of %s", to.Branch, shown), entry, true}
	case strings.HasPrefix(lower, strings.ToLower(l.options.Settings.Output.BranchPrefix)):
		return &refusal{
			fmt.Sprintf("Fairlead proposes changes from branches whose names begin with %s, and output cannot go to %s", l.options.Settings.Output.BranchPrefix, to.Branch),
			"have the output go to another branch", false}
	case strings.HasPrefix(lower, source.EphemeralBranches) || strings.HasPrefix(lower, "ephemeral-output/"):
		return &refusal{
			fmt.Sprintf("%s is where an ephemeral environment is, and the output of another one cannot go there", to.Branch), "have the output go to another branch", false}
	case !named && git.IsWorkingClone(place):
		return &refusal{
			fmt.Sprintf("%s is a clone that people work in, and output does not go there", shown),
			"name the repository that it is a clone of, as git remote get-url origin prints it there, or a bare one (git init --bare); or " + entry, false}
	case !t.hasRepo(to.Repo) && !t.hasRepo(place) || named && (literally || !t.branches[lower]):
		return nil
	}
	return &refusal{
		fmt.Sprintf("the control plane is read from %s, and output does not go there (branch %s) unless the settings say so", shown, to.Branch),
		"have the output go to a repository of its own; or " + entry, false}
}

func inspectLocation(ctx context.Context, remotes *repos.Set, records *publish.Records, environment string, to model.RepoRef) (own, empty bool, err error) {
	out, err := remotes.OpenOutput(ctx, remotes.ReadLocation(to.Repo))
	if err != nil {
		return false, false, fmt.Errorf("read the GitOps repository: %w", err)
	}
	return inspectMirror(out.Mirror(), records, environment, to)
}

func inspectMirror(mirror *git.Repository, records *publish.Records, environment string, to model.RepoRef) (own, empty bool, err error) {
	head, err := mirror.FindBranch(to.Branch)
	if err != nil || head == "" {
		return false, true, err
	}
	own, err = git.InspectTree(mirror, head, func(t tree.Tree) (bool, error) {
		there := t.Sub(publish.CleanFolder(to.Path))
		empty = there.IsEmpty()
		own, err := publish.HasRecord(records, there, environment)
		return own && err == nil, nil // a record that cannot be parsed names nothing
	})
	return own, empty, err
}
