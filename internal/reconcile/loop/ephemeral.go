package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/panics"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/reconcile/ephemeral"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// ephemerals are the environments that are there for a time. All of it is read anew in
// each round that reads the control plane.
type ephemerals struct {
	all    map[string]*source.Ephemeral // that live, by name
	ended  []retiredOutput              // whose time is over
	next   time.Time                    // when something becomes of one though no reference moves; zero for never
	logged string                       // the problems that were logged last
}

// addEphemerals returns the names of all environments to work on: those that are there to
// stay, and ephemeral ones whose time is not over.
func (l *Loop) addEphemerals(ctx context.Context, names []string) ([]string, error) {
	t := ephemerals{all: map[string]*source.Ephemeral{}, logged: l.ephemerals.logged}
	found, problems, err := l.source.Ephemerals(ctx)
	if err != nil {
		return nil, err
	}
	if said := fmt.Sprint(problems); said != t.logged {
		t.logged = said
		for _, p := range problems {
			l.options.Logger.Warn("a branch is no ephemeral environment", "problem", p.String(), "hint", p.Hint)
		}
	}
	for _, e := range found {
		if !l.isWanted(e) {
			continue
		}
		names = slices.DeleteFunc(names, func(name string) bool { return name == e.Name })
		var over bool
		err := l.barrier.Run("look at", e.Name, func() (err error) {
			over, err = l.isOver(ctx, &t, e)
			return err
		})
		if err != nil && !panics.Is(err) { // what has panicked is reported, and stays as it is
			return nil, err
		}
		if over {
			continue
		}
		t.all[e.Name], names = e, append(names, e.Name)
		l.orders.Merge[e.Name] = string(l.mergeOf(e.Name))
		l.promoter.Withhold(ctx, l.source, e.Name, &l.orders)
	}
	l.ephemerals = t
	return names, nil
}

// mergeOf returns who merges the pull requests of an ephemeral environment: Fairlead, if the
// settings do not say who.
func (l *Loop) mergeOf(name string) publish.Merge {
	if merge, ok := l.orders.Merge[name]; ok {
		return publish.Merge(merge)
	}
	return publish.Direct
}

// isWanted reports whether an ephemeral environment is one to look at: it is named in the
// settings, or the one is that it was made from.
func (l *Loop) isWanted(e *source.Ephemeral) bool {
	only := l.options.Settings.Environments
	known := l.ephemerals.all[e.Name] != nil // what cannot be read any more is still there
	return len(only) == 0 || known || slices.Contains(only, e.Name) || e.Spec != nil && slices.Contains(only, e.Spec.From)
}

// isOver reports whether the time of an environment is over, and remembers it; or else
// when to look again. A broken one stays until people have mended it: it is not known
// what would have to be removed.
func (l *Loop) isOver(ctx context.Context, t *ephemerals, e *source.Ephemeral) (bool, error) {
	if !e.Settled() {
		return false, nil
	}
	now := l.roundTime
	for _, at := range []time.Time{ephemeral.NearEnd(e), e.Spec.Expires} {
		if at.After(now) {
			t.wakeAt(at)
		}
	}
	if e.Spec.Expires.After(now) {
		return false, nil
	}
	gone := retiredOutput{name: e.Name, whole: true, merge: l.mergeOf(e.Name), ended: e}
	to, err := l.source.OutputOf(ctx, e.Name)
	if err != nil { // its branch is broken; that must not keep anything else from going on
		l.options.Logger.Warn("an ephemeral environment that is over cannot be read, and is left as it is", "environment", e.Name, "error", err)
		return false, nil
	}
	if to != nil {
		gone.output = status.Output{Repo: giturl.Redact(to.Repo), Branch: to.Branch, Folder: publish.CleanFolder(to.Path)}
	}
	t.ended = append(t.ended, gone)
	return true, nil
}

func (t *ephemerals) wakeAt(at time.Time) {
	if t.next.IsZero() || at.Before(t.next) {
		t.next = at
	}
}

// isEnded reports whether the time of an environment is over.
func (l *Loop) isEnded(name string) bool {
	return slices.ContainsFunc(l.ephemerals.ended, func(e retiredOutput) bool { return e.name == name })
}

// nextPollTime returns when to begin a cycle that asks all repositories: as scheduled, when
// something becomes of an ephemeral environment, or when a freeze begins or ends.
func (l *Loop) nextPollTime() time.Time {
	if at := earlierTime(l.ephemerals.next, l.orders.Next); !at.IsZero() && at.Before(l.nextPoll) {
		return at
	}
	return l.nextPoll
}

// isTimeUp reports, once, whether something becomes of an ephemeral environment now, or a
// freeze begins or ends.
func (l *Loop) isTimeUp() bool {
	up := false
	for _, next := range []*time.Time{&l.ephemerals.next, &l.orders.Next} {
		if !next.IsZero() && !l.roundTime.Before(*next) {
			up, *next = true, time.Time{}
		}
	}
	return up
}

// checkEphemeral stops an ephemeral environment whose output does not go where it should:
// who may make its branch need not be allowed to choose where else we write. Its problems are
// reported where it should go. That its end is near is a warning.
func (l *Loop) checkEphemeral(ctx context.Context, e *environment) error {
	if e.ephemeral == nil || !e.ephemeral.Settled() {
		return nil
	}
	l.warnOfEnd(e)
	r := &e.attempt.rendered
	to := r.Model.OutputRepo()
	from, err := l.source.OutputOf(ctx, e.ephemeral.From.Name)
	if err != nil || to == nil || from == nil {
		return err
	}
	same := func(a, b string) bool {
		return giturl.Normalize(l.readLocation(a)) == giturl.Normalize(l.readLocation(b))
	}
	right := *to
	right.Repo = from.Repo
	right.Branch, right.Path = ephemeral.OutputLocation(e.name, e.ephemeral.From.Name, from.RepoRef, same(from.Repo, l.options.Settings.ControlPlane.Repo))
	if same(to.Repo, right.Repo) && to.Branch == right.Branch && publish.CleanFolder(to.Path) == publish.CleanFolder(right.Path) {
		return l.checkFree(ctx, e, to)
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
func (l *Loop) checkFree(ctx context.Context, e *environment, to *model.GitOpsRepo) error {
	out, err := l.remotes.OpenOutput(ctx, l.readLocation(to.Repo))
	if err != nil { // publishing reports it
		return nil
	}
	repo := out.Mirror()
	head, err := repo.Branch(to.Branch)
	if errors.Is(err, git.ErrNoRevision) {
		return nil
	}
	if err != nil {
		return err
	}
	view, err := repo.View(head)
	if err != nil {
		return err
	}
	there := view.Tree.Sub(publish.CleanFolder(to.Path))
	record, _ := there.Lookup(publish.RecordFile)
	empty := there.IsEmpty()
	if err := view.Err(); err != nil || empty {
		return err
	}
	if written, err := publish.ReadRecord(record.Data); err == nil {
		if slices.ContainsFunc(written.Environments, func(w publish.Written) bool { return w.Environment == e.name }) {
			return nil
		}
	}
	e.attempt.rendered.Problems.Addf(to.Pos, to.Subject(), "give the ephemeral environment another name",
		"there is something in the place of its output already, which is not its own")
	return nil
}

// warnOfEnd adds a warning to the report of an environment whose end is near.
func (l *Loop) warnOfEnd(e *environment) {
	if l.roundTime.Before(ephemeral.NearEnd(e.ephemeral)) {
		return
	}
	e.attempt.rendered.Problems.Warnf(e.ephemeral.Spec.Pos, "Ephemeral/"+e.name, fmt.Sprintf("fairlead ephemeral extend %s --ttl 24h", e.name),
		"it ends at %s, and is removed then", e.ephemeral.Spec.Expires.UTC().Format(time.RFC3339))
}

// hasEnded asks the control plane once more: what was read may be old, and a person may
// have extended the environment since.
func (l *Loop) hasEnded(ctx context.Context, e *source.Ephemeral) (ephemeral.Cleared, error) {
	now, err := l.remotes.ControlPlane().ListBranches(ctx)
	if err != nil {
		return ephemeral.Cleared{}, fmt.Errorf("ask whether %s was extended: %w", e.Name, err)
	}
	if now[e.Branch] != e.Head {
		return ephemeral.Cleared{Reason: "its branch has moved, and is looked at again", Again: true}, nil
	}
	return ephemeral.Cleared{Done: true}, nil
}

// removeBranch removes the branch of an environment whose time is over, last of all. If
// a person has extended it meanwhile, it stays, and gets its output again.
func (l *Loop) removeBranch(ctx context.Context, e *source.Ephemeral) error {
	l.options.BeforeEffect("remove the branch of an ephemeral environment")
	if err := l.remotes.ControlPlane().Push(ctx, nil, git.RefUpdate{Ref: "refs/heads/" + e.Branch, Old: e.Head}); err != nil {
		return fmt.Errorf("remove the branch %s of the control plane: %w", e.Branch, err)
	}
	l.options.Logger.Info("an ephemeral environment is over, and was removed", "environment", e.Name, "from", e.Spec.From, "expired", e.Spec.Expires)
	return nil
}
