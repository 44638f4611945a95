package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/reconcile/ephemeral"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/repos"
)

func (r *retirement) isSameOutput(a, b model.RepoRef) bool {
	return r.isSameBranch(a, b) && a.Path == b.Path
}

func (r *retirement) isSameBranch(a, b model.RepoRef) bool {
	return a.Branch == b.Branch && r.remotes.IsSameRepository(a.Repo, b.Repo)
}

// noteOutput notes where the output of an environment goes now. Where it went before, what was
// written there is to go: nothing, if hasRead reports that the repository there was never read.
func (r *retirement) noteOutput(e *environment, now model.RepoRef, hasRead func(place string) bool) {
	if now.Repo == "" {
		return
	}
	before := e.output
	e.output = now
	if before.Repo != "" && !r.isSameOutput(before, now) && hasRead(r.remotes.ReadLocation(before.Repo)) {
		e.leftBehind = append(e.leftBehind, before)
		e.former = append(e.former, before)
	}
	e.former = slices.DeleteFunc(e.former, func(o model.RepoRef) bool { return r.isSameOutput(o, now) })
	e.leftBehind = slices.DeleteFunc(e.leftBehind, func(o model.RepoRef) bool { return r.isSameOutput(o, now) })
}

func (r *retirement) leftBehindFolders(e *environment) []string {
	if r.settings.Output.Retired == "keep" {
		return nil
	}
	var folders []string
	for _, o := range e.leftBehind {
		if r.isSameBranch(o, e.output) {
			folders = append(folders, o.Path)
		}
	}
	slices.Sort(folders)
	return slices.Compact(folders)
}

// isOurs returns what reports whether something was written by this control plane for one of
// its environments: from its repository, and from a commit that its base has. Others may
// write to the same GitOps repository, for environments of the same name.
func (r *retirement) isOurs(ctx context.Context) func(publish.Written) (bool, error) {
	return func(w publish.Written) (bool, error) {
		from, ok := w.Input(publish.BaseLayer)
		if !ok || from.Commit == "" || !r.remotes.IsSameRepository(from.Repo, r.settings.ControlPlane.Repo) {
			return false, nil
		}
		base, err := r.source.Base(ctx)
		if err != nil || base.Repo == nil {
			return false, err
		}
		return base.Repo.Contains(base.Head, from.Commit)
	}
}

// findLeftovers searches the GitOps repositories for output that Fairlead wrote for environments
// that left while no daemon ran, or whose output moved since. It takes only what is proven to be
// of this control plane. What cannot be searched does not keep the rest from being found; again
// reports that it has to be searched once more.
func (r *retirement) findLeftovers(ctx context.Context) (again bool, err error) {
	former, named, err := r.findFormer()
	if err != nil {
		return true, err
	}
	s := &search{retirement: r, foreign: map[string]bool{}, incomplete: len(named) > 0} // what has its name still may be gone in the next round
	for _, e := range former {
		s.former = append(s.former, e.Name)
	}
	for _, place := range r.outputRepositories() {
		repo := giturl.Redact(place)
		s.isolatePart(ctx, repo, "", func() error {
			out, err := r.remotes.OpenOutput(ctx, place)
			if err != nil { // that is reported with the repository; when it answers again there is another round
				s.incomplete = true
				return nil
			}
			return s.searchRepository(ctx, out, repo)
		})
	}
	for _, e := range s.found {
		if !slices.ContainsFunc(r.retired, func(g retiredOutput) bool { return g.name == e.name && r.isSameOutput(g.output, e.output) }) {
			r.retired = append(r.retired, e)
		}
	}
	s.closeFormerIssues(ctx)
	for _, e := range r.environments {
		e.searched = !s.incomplete && e.output.Repo != ""
	}
	r.searched = !s.incomplete
	return s.again, nil
}

// searchLeftovers looks for what was left, if that is not known, before anything is published:
// what environments have left goes with what is proposed for them. Of one that could not be read
// it is looked for once that can be. again reports whether it has to be searched once more.
func (r *retirement) searchLeftovers(ctx context.Context, all []*environment) (again bool) {
	if !r.complete || !mayWrite(ctx, r.settings) {
		return false
	}
	for _, e := range all {
		if to := e.attempt.rendered.Model.OutputRepo(); e.attempt.err == nil && to != nil {
			r.noteOutput(e, outputTo(to), r.remotes.HasRead)
			r.searched = r.searched && (e.searched || e.ephemeral != nil) // these do not move
		}
	}
	if r.searched {
		return false
	}
	err := r.barrier.Run("look for what is left", "", func() (err error) {
		again, err = r.findLeftovers(ctx)
		return err
	})
	if ctx.Err() != nil {
		return false
	}
	if err != nil {
		r.logger.Warn("what environments have left could not be looked for", "error", err)
		return true
	}
	return again
}

func outputTo(to *model.GitOpsRepo) model.RepoRef {
	return model.RepoRef{Repo: giturl.Redact(to.Repo), Branch: to.Branch, Path: publish.CleanFolder(to.Path)}
}

func (r *retirement) outputRepositories() []string {
	var places []string
	for _, e := range r.environments {
		for _, o := range append(slices.Clone(e.leftBehind), e.output) {
			if o.Repo != "" {
				places = append(places, r.remotes.ReadLocation(o.Repo))
			}
		}
	}
	for _, e := range r.retired {
		places = append(places, r.remotes.ReadLocation(e.output.Repo))
	}
	slices.Sort(places)
	return slices.Compact(places)
}

type search struct {
	retirement *retirement
	former     []string        // environments that the base has had
	foreign    map[string]bool // names of environments that others have written output for
	found      []retiredOutput
	incomplete bool // something could not be searched, and may be later
	again      bool // nothing else will tell when
}

// isolatePart searches a part: a repository, or one branch of it. That a part cannot be searched is
// logged, and concerns no other part. A tree with names that Git refuses is none that
// Fairlead wrote, and is not searched again.
func (s *search) isolatePart(ctx context.Context, repo, branch string, part func() error) {
	err := s.retirement.barrier.Run("look for what is left", repo, part)
	if err == nil || ctx.Err() != nil {
		return
	}
	var refused *git.InvalidTreeError
	if !errors.As(err, &refused) {
		s.incomplete, s.again = true, true
	}
	s.retirement.logger.Warn("what environments have left could not be looked for", "repo", repo, "branch", branch, "error", err)
}

// Limits of a search: how many folders of a branch are looked into, and how deep.
const (
	maxFolders = 500
	maxDepth   = 3
)

func (s *search) searchRepository(ctx context.Context, out *repos.Remote, repo string) error {
	mirror := out.Mirror()
	if mirror == nil {
		return nil
	}
	refs, err := mirror.Refs("refs/heads/")
	if err != nil {
		return err
	}
	for _, ref := range slices.Sorted(maps.Keys(refs)) {
		branch := strings.TrimPrefix(ref, "refs/heads/")
		s.isolatePart(ctx, repo, branch, func() error { return s.searchBranch(ctx, out, repo, branch, refs[ref]) })
	}
	return nil
}

// searchBranch looks for records on a branch: on one of ours, of the environment that it proposes
// the output of.
func (s *search) searchBranch(ctx context.Context, out *repos.Remote, repo, branch, head string) error {
	mirror := out.Mirror()
	proposed, ours := strings.CutPrefix(branch, s.retirement.settings.Output.BranchPrefix)
	if ours {
		info, err := mirror.Commit(head)
		if err != nil || s.retirement.environments[proposed] != nil || !publish.IsOurs(info, proposed) {
			return err
		}
	}
	view, err := mirror.View(head)
	if err != nil {
		return err
	}
	all := findRecords(view)
	for _, folder := range slices.Sorted(maps.Keys(all)) {
		if !ours || all[folder] == proposed {
			s.isolatePart(ctx, repo, branch, func() error {
				return s.searchFolder(ctx, view, model.RepoRef{Repo: repo, Branch: branch, Path: folder}, all[folder], ours)
			})
		}
	}
	return view.Err()
}

// searchFolder decides whether the output of an environment, by the record in a folder, is left
// from before. ours reports whether the branch is one that Fairlead proposes from.
func (s *search) searchFolder(ctx context.Context, view *git.View, at model.RepoRef, environment string, ours bool) error {
	there := s.retirement.environments[environment]
	if there != nil && (there.output.Repo == "" || s.retirement.isSameOutput(there.output, at) || slices.ContainsFunc(there.leftBehind, func(o model.RepoRef) bool { return s.retirement.isSameOutput(o, at) })) {
		return nil
	}
	var to *model.RepoRef
	var err error
	if there == nil && !slices.Contains(s.former, environment) {
		to, err = s.ephemeralOutput(ctx, view, environment, at, ours)
	} else {
		to, err = s.configuredOutput(ctx, view, at.Repo, at.Path, environment)
	}
	switch {
	case err != nil:
		return err
	case to == nil, !ours && to.Branch != at.Branch: // a copy that people have made
	case there == nil:
		s.found = append(s.found, retiredOutput{name: environment, output: *to})
	default:
		there.leftBehind = append(there.leftBehind, at)
		there.former = append(there.former, at)
	}
	return nil
}

// configuredOutput returns where the output in a folder was to go, if the record there is ours and
// the environment's branch did say so at the commit that the record names; nil if not. What
// people have copied to a branch or a folder of theirs is not where we have written it.
func (s *search) configuredOutput(ctx context.Context, view *git.View, repo, folder, environment string) (*model.RepoRef, error) {
	written, err := publish.FindWritten(view, folder, environment, func(w publish.Written) (bool, error) {
		ours, err := s.retirement.isOurs(ctx)(w)
		if base, ok := w.Input(publish.BaseLayer); !ours && ok && base.Repo != "" {
			s.foreign[environment] = true
		}
		return ours, err
	})
	if err != nil || written == nil {
		return nil, err
	}
	from, ok := written.Input(environment)
	if !ok || from.Commit == "" {
		return nil, nil
	}
	said, err := s.retirement.source.OutputsAt(ctx, environment, from.Repo, from.Commit)
	for _, to := range said {
		at := model.RepoRef{Repo: repo, Branch: to.Branch, Path: publish.CleanFolder(to.Path)}
		if at.Path == folder && s.retirement.isSameBranch(at, to.RepoRef) {
			return &at, err
		}
	}
	return nil, err
}

// findRecords returns the environments that records of a branch are of, by the folder that each is
// in. Folders of our own are not looked into.
func findRecords(view *git.View) map[string]string {
	found := map[string]string{}
	type level struct {
		folder string
		t      tree.Tree
	}
	next, looked := []level{{"", view.Tree}}, 0
	for depth := 0; depth <= maxDepth && len(next) > 0; depth++ {
		var below []level
		for _, l := range next {
			looked++
			if looked > maxFolders {
				return found
			}
			own := map[string]bool{}
			if r, err := (*publish.Records)(nil).ReadIn(l.t); err == nil && len(r.Environments) == 1 {
				found[l.folder] = r.Environments[0].Environment
				for _, name := range r.Environments[0].Folders {
					own[name] = true
				}
			}
			for _, e := range l.t.Entries() {
				if e.IsDir() && !own[e.Name] && !strings.HasPrefix(e.Name, ".") {
					below = append(below, level{path.Join(l.folder, e.Name), e.Tree()})
				}
			}
		}
		next = below
	}
	return found
}

// retireMoved has what environments have left in other branches and repositories be removed,
// once their output is proposed where it goes now.
func (r *retirement) retireMoved() {
	for _, e := range r.environments {
		state := e.outcome.result.State
		if state != publish.InSync && state != publish.Proposed {
			continue
		}
		e.leftBehind = slices.DeleteFunc(e.leftBehind, func(o model.RepoRef) bool {
			if r.isSameBranch(o, e.output) {
				return state == publish.InSync // it went with the change
			}
			r.retired = append(r.retired, retiredOutput{name: e.name, output: o, moved: true})
			return true
		})
	}
}

// withdrawRemovals withdraws what removes the output of environments from where it goes now: it
// was proposed when they had gone, or had their output elsewhere.
func (r *retirement) withdrawRemovals(ctx context.Context) {
	for _, e := range r.environments {
		if e.output.Repo == "" || !mayWrite(ctx, r.settings) {
			continue
		}
		err := r.barrier.Run("withdraw a removal", e.name, func() error { return r.withdrawRemoval(ctx, e) })
		if err != nil && ctx.Err() == nil {
			r.logger.Warn("the removal of an output that is wanted again could not be withdrawn", "environment", e.name, "error", err)
			r.undone = true
		}
	}
}

func (r *retirement) withdrawRemoval(ctx context.Context, e *environment) error {
	out := r.remotes.KnownRemote(r.remotes.ReadLocation(e.output.Repo))
	removal := publish.Removal{Environment: e.name, Branch: e.output.Branch, Folder: e.output.Path}
	if out == nil || out.Mirror() == nil || !removal.IsProposed(out.Mirror(), r.settings.Output.BranchPrefix) {
		return nil
	}
	f, err := out.Forge()
	if err != nil {
		return err
	}
	return publish.WithdrawRemoval(ctx, r.publishOptions(out, f), removal)
}

func (r *retirement) isWantedAgain(e retiredOutput) bool {
	there := r.environments[e.name]
	if e.moved {
		return there != nil && r.isSameOutput(there.output, e.output)
	}
	return there != nil || e.ended == nil && slices.ContainsFunc(r.ephemerals.ended, func(ended retiredOutput) bool { return ended.name == e.name })
}

func (r *retirement) removalReason(e retiredOutput) string {
	if there := r.environments[e.name]; e.moved && there != nil {
		return fmt.Sprintf("The output of the environment %s goes to %s, branch %s, folder %s now", e.name, there.output.Repo, there.output.Branch, cmp.Or(there.output.Path, "."))
	}
	return fmt.Sprintf("The environment %s is no longer in the control plane", e.name)
}

// removeOutput proposes to remove the output of an environment that is there no more, or no
// longer there, unless the settings keep it.
func (r *retirement) removeOutput(ctx context.Context, o publish.Options, e retiredOutput) (ephemeral.Cleared, error) {
	done := ephemeral.Cleared{Done: true}
	if r.settings.Output.Retired == "keep" {
		r.logger.Info("the output of an environment that is gone is kept, as the settings say", "environment", e.name, "branch", e.output.Branch, "folder", e.output.Path)
		return done, nil
	}
	removed, err := publish.ProposeRemoval(ctx, o, publish.Removal{Environment: e.name, Branch: e.output.Branch, Folder: e.output.Path, Why: r.removalReason(e), Moved: e.moved, IsOurs: r.isOurs(ctx)})
	switch {
	case errors.Is(err, git.ErrStale):
		return ephemeral.Cleared{Again: true, Reason: "its branch has moved meanwhile"}, nil
	case err == nil && len(removed.Provisioned) > 0:
		return refuseRemoval(e.name, removed.Provisioned), nil
	case err != nil || removed.Done:
		return done, err
	case removed.Pull.State != forge.Open:
		r.logger.Info("the removal of an output was declined, and it is kept", "environment", e.name, "pull", removed.Pull.Number)
		return done, nil
	}
	reason := fmt.Sprintf("pull request %d removes its output; a person merges it, or closes it to keep the files", removed.Pull.Number)
	return ephemeral.Cleared{Reason: reason, Pull: removed.Pull}, nil
}
