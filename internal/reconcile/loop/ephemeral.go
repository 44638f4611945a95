package loop

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/cost"
	"github.com/fairlead-io/fairlead/internal/base/panics"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/reconcile/ephemeral"
	"github.com/fairlead-io/fairlead/internal/reconcile/promoter"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/repos"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/render/stackfiles"
)

// ephemeralLife is what becomes of environments that are there for a time: when they begin, end,
// and are removed. What it knows is read anew in each round that reads the control plane.
type ephemeralLife struct {
	settings     *config.Settings
	remotes      *repos.Set
	barrier      panics.Barrier
	logger       *slog.Logger
	beforeEffect func(what string)
	promoter     *promoter.Promoter
	orders       *promoter.Policy // of the round

	source *source.Source // the control plane, as this round has read it
	now    time.Time      // of the round

	all    map[string]*source.Ephemeral // that live, by name
	ending map[string]bool              // whose time is over, and that have stacks to be destroyed first
	ended  []retiredOutput              // whose time is over
	next   time.Time                    // when something becomes of one though no reference moves; zero for never
	logged string                       // the problems that were logged last
}

// addEphemerals returns the names of all environments to work on: those that are there to
// stay, and ephemeral ones whose time is not over.
func (f *ephemeralLife) addEphemerals(ctx context.Context, names []string) ([]string, error) {
	found, problems, err := f.source.Ephemerals(ctx)
	if err != nil {
		return nil, err
	}
	before := *f
	f.all, f.ending, f.ended, f.next = map[string]*source.Ephemeral{}, map[string]bool{}, nil, time.Time{}
	if said := fmt.Sprint(problems); said != f.logged {
		f.logged = said
		for _, p := range problems {
			f.logger.Warn("a branch is no ephemeral environment", "problem", p.String(), "hint", p.Hint)
		}
	}
	for _, e := range found {
		if !f.isWanted(e, before.all[e.Name] != nil) {
			continue
		}
		names = slices.DeleteFunc(names, func(name string) bool { return name == e.Name })
		var over bool
		err := f.barrier.Run("look at", e.Name, func() (err error) {
			over, err = f.isOver(ctx, e)
			return err
		})
		if err != nil && !panics.Is(err) { // what has panicked is reported, and stays as it is
			*f = before
			return nil, err
		}
		if over {
			continue
		}
		f.all[e.Name], names = e, append(names, e.Name)
		f.orders.Merge[e.Name] = string(f.mergeOf(e.Name))
		f.promoter.WithholdEnvironment(ctx, e.Name, f.orders)
	}
	return names, nil
}

// mergeOf returns who merges the pull requests of an ephemeral environment: Fairlead, if the
// settings do not say who.
func (f *ephemeralLife) mergeOf(name string) publish.Merge {
	if merge, ok := f.orders.Merge[name]; ok {
		return publish.Merge(merge)
	}
	return publish.Direct
}

// isWanted reports whether an ephemeral environment is one to look at: it is named in the
// settings, or the one is that it was made from.
func (f *ephemeralLife) isWanted(e *source.Ephemeral, known bool) bool {
	only := f.settings.Environments
	return len(only) == 0 || known || slices.Contains(only, e.Name) || e.Spec != nil && slices.Contains(only, e.Spec.From)
}

// isOver reports whether the time of an environment is over, and remembers it; or else
// when to look again. A broken one stays until people have mended it: it is not known
// what would have to be removed.
func (f *ephemeralLife) isOver(ctx context.Context, e *source.Ephemeral) (bool, error) {
	if !e.Settled() {
		return false, nil
	}
	for _, at := range []time.Time{ephemeral.NearEnd(e), e.Spec.Expires} {
		if at.After(f.now) && (f.next.IsZero() || at.Before(f.next)) {
			f.next = at
		}
	}
	if e.Spec.Expires.After(f.now) {
		return false, nil
	}
	gone := retiredOutput{name: e.Name, whole: true, merge: f.mergeOf(e.Name), ended: e}
	to, err := f.source.OutputOf(ctx, e.Name)
	if err != nil { // its branch is broken; that must not keep anything else from going on
		f.logger.Warn("an ephemeral environment that is over cannot be read, and is left as it is", "environment", e.Name, "error", err)
		return false, nil
	}
	if to != nil {
		gone.output = outputTo(to)
		f.ending[e.Name], err = f.hasStacks(ctx, e, gone.output)
	}
	if err != nil || f.ending[e.Name] {
		return false, err
	}
	f.ended = append(f.ended, gone)
	return true, nil
}

// hasStacks reports whether the output of an environment whose time is over has stacks: they are
// destroyed first, as those whose files are deleted, and so are those that spec.stacks no longer names.
// While its repository cannot be read, that is not known, and the environment stays.
func (f *ephemeralLife) hasStacks(ctx context.Context, e *source.Ephemeral, output model.RepoRef) (bool, error) {
	out, err := f.remotes.OpenOutput(ctx, f.remotes.ReadLocation(output.Repo))
	if err != nil {
		f.logger.Warn("an ephemeral environment is over, and stays until its output can be read", "environment", e.Name, "error", err)
		return true, nil
	}
	head, err := out.Mirror().FindBranch(output.Branch)
	if err != nil || head == "" {
		return false, err
	}
	return git.InspectTree(out.Mirror(), head, func(t tree.Tree) (bool, error) {
		all, err := stackfiles.Summarize(t.Sub(publish.CleanFolder(output.Path)))
		return len(all) > 0, err
	})
}

// checkCosts warns of stacks that cost too much, as far as plans were sent with costs. All of an ephemeral environment is new.
func (f *ephemeralLife) checkCosts(e *environment) {
	limit, r := f.settings.Costs.Limit, &e.attempt.rendered
	if limit == nil || f.promoter == nil {
		return
	}
	sum := promoter.SumCosts(f.promoter, r.Tree, e.name, e.ephemeral.From.Name)
	e.costs = cost.Text(sum)
	for _, c := range sum {
		if c.Currency == limit.Currency && c.Exceeds(limit.Increase) {
			r.Problems.Warnf(e.ephemeral.Spec.Pos, "Ephemeral/"+e.name, fmt.Sprintf("fairlead ephemeral remove %s, or raise costs.limit in the settings", e.name),
				"its stacks cost %s, and the settings allow +%d", cost.Text([]cost.Change{c}), limit.Increase)
		}
	}
}

func (f *ephemeralLife) hasNewCosts(all map[string]*environment) bool {
	if f.settings.Costs.Limit == nil {
		return false
	}
	for _, e := range all {
		if e.ephemeral != nil && e.ephemeral.Settled() && !e.attempt.paused && e.attempt.err == nil &&
			cost.Text(promoter.SumCosts(f.promoter, e.attempt.rendered.Tree, e.name, e.ephemeral.From.Name)) != e.costs {
			return true
		}
	}
	return false
}

// checkEphemeral stops an ephemeral environment whose output does not go where it should:
// who may make its branch need not be allowed to choose where else we write. Its problems are
// reported where it should go. That its end is near is a warning.
func (f *ephemeralLife) checkEphemeral(ctx context.Context, e *environment) error {
	if e.ephemeral == nil || !e.ephemeral.Settled() {
		return nil
	}
	r, spec := &e.attempt.rendered, e.ephemeral.Spec
	if f.ending[e.name] {
		r.Problems.Warnf(spec.Pos, "Ephemeral/"+e.name, "approve the plans that destroy them, or fairlead ephemeral extend keeps it",
			"its time is over, and it is removed when its stacks are destroyed")
	} else if !f.now.Before(ephemeral.NearEnd(e.ephemeral)) {
		r.Problems.Warnf(spec.Pos, "Ephemeral/"+e.name, fmt.Sprintf("fairlead ephemeral extend %s --ttl 24h", e.name),
			"it ends at %s, and is removed then", spec.Expires.UTC().Format(time.RFC3339))
	}
	f.checkCosts(e)
	to := r.Model.OutputRepo()
	from, err := f.source.OutputOf(ctx, e.ephemeral.From.Name)
	if err != nil || to == nil || from == nil {
		return err
	}
	right := *to
	right.Repo = from.Repo
	right.Branch, right.Path = ephemeral.OutputLocation(e.name, e.ephemeral.From.Name, from.RepoRef, f.remotes.IsSameRepository(from.Repo, f.settings.ControlPlane.Repo))
	if f.remotes.IsSameRepository(to.Repo, right.Repo) && to.Branch == right.Branch && publish.CleanFolder(to.Path) == publish.CleanFolder(right.Path) {
		return f.checkFree(ctx, e, to)
	}
	r.Problems.Addf(to.Pos, to.Subject(), fmt.Sprintf("that is repo: %s, branch: %s, path: %s", giturl.Redact(right.Repo), right.Branch, cmp.Or(right.Path, ".")),
		"the output of an ephemeral environment goes beside that of %s, and nowhere else", e.ephemeral.From.Name)
	m := *r.Model
	m.GitOpsRepos = []*model.GitOpsRepo{&right}
	r.Model = &m
	return nil
}

// checkFree stops an ephemeral environment where something is already that is not its
// own: it would be replaced, and removed in the end.
func (f *ephemeralLife) checkFree(ctx context.Context, e *environment, to *model.GitOpsRepo) error {
	if _, err := f.remotes.OpenOutput(ctx, f.remotes.ReadLocation(to.Repo)); err != nil { // publishing reports it
		return nil
	}
	own, empty, err := inspectLocation(ctx, f.remotes, nil, e.name, to.RepoRef)
	if err != nil || own || empty {
		return err
	}
	e.attempt.rendered.Problems.Addf(to.Pos, to.Subject(), "give the ephemeral environment another name",
		"there is something in the place of its output already, which is not its own")
	return nil
}

// hasEnded asks the control plane once more: what was read may be old, and a person may
// have extended the environment since.
func (f *ephemeralLife) hasEnded(ctx context.Context, e *source.Ephemeral) (ephemeral.Cleared, error) {
	now, err := f.remotes.ControlPlane().ListReferences(ctx)
	if err != nil {
		return ephemeral.Cleared{}, fmt.Errorf("ask whether %s was extended: %w", e.Name, err)
	}
	if now.Branches[e.Branch] != e.Head {
		return ephemeral.Cleared{Reason: "its branch has moved, and is looked at again", Again: true}, nil
	}
	return ephemeral.Cleared{Done: true}, nil
}

// removeBranch removes the branch of an environment whose time is over, last of all. If
// a person has extended it meanwhile, it stays, and gets its output again.
func (f *ephemeralLife) removeBranch(ctx context.Context, e *source.Ephemeral) error {
	f.beforeEffect("remove the branch of an ephemeral environment")
	if err := f.remotes.ControlPlane().Push(ctx, nil, git.RefUpdate{Ref: "refs/heads/" + e.Branch, Old: e.Head}); err != nil {
		return fmt.Errorf("remove the branch %s of the control plane: %w", e.Branch, err)
	}
	f.logger.Info("an ephemeral environment is over, and was removed", "environment", e.Name, "from", e.Spec.From, "expired", e.Spec.Expires)
	return nil
}
