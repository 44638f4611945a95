package loop

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/change/impact"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/repos"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/render/output"
)

// previews is what is remembered of the open pull requests of the control plane, on which
// Fairlead comments what they change.
type previews struct {
	// sources are made while there are pull requests: one for those of people who may push
	// to the control plane (false), and one for those from forks.
	sources map[bool]*source.Source
	done    string             // what the last pass looked at
	said    map[string]string  // by pull request: of what the last preview was
	noted   map[int]shownNotes // by the number of the pull request
	next    time.Time          // before which we do not try again
	failed  int
}

const (
	previewContext = "fairlead/preview"
	previewMark    = "preview"
)

// isPreviewDue reports whether something may be there to be previewed: a branch or the
// head of a pull request has moved since the last pass.
func (l *Loop) isPreviewDue() bool {
	return l.Settings.Write && l.previewKey() != l.previews.done && !l.Now().Before(l.previews.next)
}

// previewKey names what previews are made from: the heads of pull requests, which
// forges keep in references, and, while some are open, those of branches. It is "" if
// the control plane is not read yet.
func (l *Loop) previewKey() string {
	cp := l.remotes.KnownRemote(l.readLocation(l.Settings.ControlPlane.Repo))
	if cp == nil || cp.Mirror() == nil {
		return ""
	}
	if len(l.previews.said) == 0 {
		return cp.ProposalDigest()
	}
	heads, err := cp.Mirror().Refs("refs/heads/")
	if err != nil {
		return ""
	}
	return cp.ProposalDigest() + fmt.Sprint(heads) // fmt prints maps sorted by key
}

// previewChanges looks at all open pull requests of the control plane. What fails is tried
// again later, and stops nothing else.
func (l *Loop) previewChanges(ctx context.Context) {
	if !l.isPreviewDue() {
		return
	}
	err := l.barrier.Run("preview", "", func() error { return l.previewOpen(ctx) })
	switch {
	case ctx.Err() != nil:
	case err != nil:
		l.previews.failed++
		l.previews.next = l.Now().Add(repos.BackoffAfter(l.previews.failed, l.Random()))
		l.Logger.Warn("a preview failed", "error", err, "next", l.previews.next)
	default:
		l.previews.failed, l.previews.next, l.previews.done = 0, time.Time{}, l.previewKey()
	}
}

func (l *Loop) previewOpen(ctx context.Context) error {
	cp := l.remotes.KnownRemote(l.readLocation(l.Settings.ControlPlane.Repo))
	f, err := cp.Forge()
	if err != nil {
		return err
	}
	reviewer, ok := f.(forge.Reviewer)
	if !ok { // there are no pull requests of people
		return nil
	}
	for _, s := range l.previews.sources {
		if err := s.Refresh(ctx); err != nil {
			return err
		}
	}
	branches, err := l.previewBranches(ctx, cp)
	if err != nil {
		return err
	}
	changes, err := reviewer.Changes(ctx, "") // in one call, however many branches there are
	if err != nil {
		return fmt.Errorf("list the pull requests of the control plane: %w", err)
	}
	var failed []error
	open, numbers := map[string]string{}, map[int]bool{}
	for _, b := range branches {
		for _, c := range changes {
			if c.Base != b.name {
				continue
			}
			numbers[c.Number] = true
			of := fmt.Sprintf("%d %s", c.Number, b.name)
			now := fmt.Sprintf("%s on %s", c.Commit, b.head)
			if l.previews.said[of] == now {
				open[of] = now
				continue
			}
			err := l.barrier.Run("preview", fmt.Sprintf("pull request %d", c.Number), func() error {
				return l.previewChange(ctx, cp, f, reviewer, b, c)
			})
			if errors.Is(err, errUnread) {
				continue // the comment says so, and it is previewed when something moves
			}
			if err != nil {
				failed = append(failed, fmt.Errorf("preview pull request %d: %w", c.Number, err))
				continue
			}
			open[of] = now
		}
	}
	l.previews.said = open
	if len(numbers) == 0 {
		l.previews.sources = nil // what they remember is not needed
	}
	maps.DeleteFunc(l.previews.noted, func(number int, _ shownNotes) bool { return !numbers[number] })
	return errors.Join(failed...)
}

// openPreviews returns the source of previews. It has a memory of its own, so that what
// people try does not push out what is true.
func (l *Loop) openPreviews(ctx context.Context, fork bool) (*source.Source, error) {
	if s := l.previews.sources[fork]; s != nil {
		return s, nil
	}
	s, err := source.Open(ctx, source.Options{
		ControlPlane: l.Settings.ControlPlane.Repo, BaseBranch: l.Settings.ControlPlane.Branch, Map: l.Settings.Map, Parser: l.newParser(), Barrier: l.barrier, RenderTimeout: l.Settings.RenderTimeout, Rendering: l.renderOptions(),
		Open: func(ctx context.Context, place string) (*git.Repository, error) {
			// A fork is not to have us fetch with our credentials what it names, and
			// show it.
			if fork && l.remotes.KnownRemote(place) == nil {
				return nil, git.ErrAccess
			}
			return l.remotes.Open(ctx, place)
		},
	})
	if err != nil {
		return nil, err
	}
	if l.previews.sources == nil {
		l.previews.sources = map[bool]*source.Source{}
	}
	l.previews.sources[fork] = s
	return s, nil
}

// previewBranch is a branch of the control plane that people propose changes to.
type previewBranch struct {
	name, head   string
	base         bool
	environments []string // that it is about
}

// previewBranches returns the branch of the base, and those of the environments.
func (l *Loop) previewBranches(ctx context.Context, cp *repos.Remote) ([]previewBranch, error) {
	found, _, err := l.source.Environments(ctx)
	if err != nil {
		return nil, err
	}
	all := []previewBranch{{name: l.Settings.ControlPlane.Branch, base: true}}
	for _, e := range found {
		if len(l.Settings.Environments) > 0 && !slices.Contains(l.Settings.Environments, e.Name) {
			continue
		}
		all[0].environments = append(all[0].environments, e.Name)
		if e.ControlPlane.Branch != all[0].name {
			all = append(all, previewBranch{name: e.ControlPlane.Branch, environments: []string{e.Name}})
		}
	}
	for i := range all {
		all[i].head, err = cp.Mirror().Branch(all[i].name)
		if err != nil && !errors.Is(err, git.ErrNoRevision) {
			return nil, err
		}
	}
	return slices.DeleteFunc(all, func(b previewBranch) bool { return b.head == "" }), nil
}

// environmentPreview is what a pull request means for one environment.
type environmentPreview struct {
	environment string
	report      impact.Report
	problems    problem.List // that come with it
	listed      problem.List // those of them that the comment lists
	stops       bool
	exceeding   []publish.Withholding // not acknowledged yet
	unknown     bool                  // whether it exceeds the limits
}

// previewChange renders a pull request and what it was made from, and comments what differs.
func (l *Loop) previewChange(ctx context.Context, cp *repos.Remote, f forge.Forge, to forge.Reviewer, b previewBranch, c forge.Change) error {
	if err := cp.Fetch(ctx, c.Commit); err != nil {
		return l.reportUnread(ctx, to, c, err)
	}
	before, err := cp.Mirror().MergeBase(c.Commit, b.head)
	if err != nil {
		return err
	}
	if before == "" {
		before = b.head
	}
	src, err := l.openPreviews(ctx, c.Fork)
	if err != nil {
		return err
	}
	var all []environmentPreview
	for _, name := range b.environments {
		p, err := l.previewIsolated(ctx, src, name, b.revisionsAt(before), b.revisionsAt(c.Commit))
		if err != nil {
			return err
		}
		all = append(all, p)
	}
	later := l.annotateChange(ctx, f, b, c, all)
	l.BeforeEffect("say what a change means")
	if err := to.PutComment(ctx, c.Number, previewMark, previewText(all, before, c.Commit)); err != nil {
		return err
	}
	s := previewStatus(all)
	l.Logger.Info("preview", "pull", c.Number, "branch", b.name, "says", s.Description)
	return errors.Join(f.SetStatus(ctx, c.Commit, s), later)
}

// errUnread is the error for a fork whose commit the server does not send.
var errUnread = errors.New("its commit cannot be read")

// reportUnread comments on a fork's pull request why there is no preview: forges that keep the
// heads of forks to themselves, or take them away, do not give them later either.
func (l *Loop) reportUnread(ctx context.Context, to forge.Reviewer, c forge.Change, err error) error {
	// git upload-pack ends the connection over a commit that it does not give.
	if !c.Fork || !errors.Is(err, git.ErrNoRevision) && !strings.Contains(err.Error(), "not our ref") {
		return err
	}
	l.Logger.Warn("a pull request from a fork cannot be read", "pull", c.Number, "error", err)
	if err := to.PutComment(ctx, c.Number, previewMark, unreadText(c.Commit)); err != nil {
		return err
	}
	return errUnread
}

// revisionsAt returns the revisions at which a commit of the branch is read.
func (b previewBranch) revisionsAt(commit string) source.Revisions {
	if b.base {
		return source.Revisions{Base: commit}
	}
	return source.Revisions{Environment: commit}
}

func (l *Loop) previewEnvironment(ctx context.Context, src *source.Source, name string, before, after source.Revisions) (environmentPreview, error) {
	p := environmentPreview{environment: name}
	var cache output.Cache // what both have is rendered once
	old, err := src.Render(ctx, name, before, &cache)
	if err != nil {
		return p, err
	}
	now, err := src.Render(ctx, name, after, &cache)
	if err != nil {
		return p, err
	}
	known := map[string]bool{}
	for _, was := range old.Problems {
		known[was.String()] = true
	}
	found := now.Problems
	if !old.Problems.Stops() && !now.Problems.Stops() {
		found = output.WithIdleSince(old.Model, now.Model, found)
	}
	for _, is := range found {
		if !known[is.String()] {
			p.problems = append(p.problems, is)
		}
	}
	p.listed, p.stops = p.problems, now.Problems.Stops()
	if !p.stops && !old.Problems.Stops() {
		p.report = impact.Compare(old.Tree, now.Tree, impact.Options{Workload: model.WorkloadOf(old.Model, now.Model)})
		err = l.previewExcess(ctx, &p, old, now)
	}
	return p, err
}
