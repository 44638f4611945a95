// Package preview comments on pull requests of the control plane what merging them would change in
// every environment.
//
// A change is rendered on its merge base, with separate caches, so that experiments do not evict
// real data. A fork never makes us read with our credentials. It writes only a comment, a commit
// status and annotations, and only when they change.
package preview

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/panics"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/change/impact"
	"github.com/fairlead-io/fairlead/internal/config"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/controlplane/provision"
	"github.com/fairlead-io/fairlead/internal/controlplane/schedule"
	"github.com/fairlead-io/fairlead/internal/forge"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/repos"
	"github.com/fairlead-io/fairlead/internal/reconcile/shares"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/render/output"
)

// Options has the dependencies of a Previewer. All are required.
type Options struct {
	Settings *config.Settings
	Remotes  *repos.Set
	// SourceOptions returns options with a parser of its own.
	SourceOptions func() source.Options
	Author        git.Signature
	Logger        *slog.Logger
	Now           func() time.Time
	Random        func() float64 // in [0, 1), for jitter
	BeforeEffect  func(what string)
	// Barrier limits a panic to its pull request or environment.
	Barrier panics.Barrier
}

// Previewer previews pull requests of the control plane. Its state only saves work.
type Previewer struct {
	options Options
	source  *source.Source                        // of this round
	limits  func(environment string) model.Limits // of this round

	// sources exist while there are pull requests: one for forks (true), and one for people with
	// push access.
	sources map[bool]*source.Source
	done    string             // last input
	said    map[string]string  // last input by pull request
	noted   map[int]shownNotes // by number
	next    time.Time          // earliest retry
	failed  int
}

// New returns a Previewer without state.
func New(o Options) *Previewer { return &Previewer{options: o, noted: map[int]shownNotes{}} }

const (
	statusContext = "fairlead/preview"
	commentMark   = "preview"
)

// inputKey identifies the input of previews: the heads of pull requests and, while some are open,
// of branches. It is "" before the first read.
func (v *Previewer) inputKey() string {
	cp := v.options.Remotes.ControlPlane()
	if cp == nil || cp.Mirror() == nil {
		return ""
	}
	if len(v.said) == 0 {
		return cp.ProposalDigest()
	}
	heads, err := cp.Mirror().Refs("refs/heads/")
	if err != nil {
		return ""
	}
	return cp.ProposalDigest() + fmt.Sprint(heads) // fmt sorts maps by key
}

// Preview previews new and moved pull requests. src and limits are from this round. Failures are
// retried.
func (v *Previewer) Preview(ctx context.Context, src *source.Source, limits func(environment string) model.Limits) {
	if !v.options.Settings.Write || !shares.MayWrite(ctx) || v.inputKey() == v.done || v.options.Now().Before(v.next) {
		return
	}
	v.source, v.limits = src, limits
	err := v.options.Barrier.Run("preview", "", func() error { return v.previewAll(ctx) })
	switch {
	case ctx.Err() != nil:
	case err != nil:
		v.failed++
		v.next = v.options.Now().Add(repos.BackoffAfter(v.failed, v.options.Random()))
		v.options.Logger.Warn("a preview failed", "error", err, "next", v.next)
	default:
		v.failed, v.next, v.done = 0, time.Time{}, v.inputKey()
	}
}

func (v *Previewer) previewAll(ctx context.Context) error {
	cp := v.options.Remotes.ControlPlane()
	f, err := cp.Forge()
	if err != nil {
		return err
	}
	reviewer, ok := f.(forge.Reviewer)
	if !ok { // no pull requests by people
		return nil
	}
	for _, s := range v.sources {
		if err := s.Refresh(ctx); err != nil {
			return err
		}
	}
	branches, err := v.targetBranches(ctx, cp)
	if err != nil {
		return err
	}
	changes, err := reviewer.Changes(ctx, "") // one call for all branches
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
			if v.said[of] == now {
				open[of] = now
				continue
			}
			err := v.options.Barrier.Run("preview", fmt.Sprintf("pull request %d", c.Number), func() error {
				return v.previewChange(ctx, cp, f, reviewer, b, c)
			})
			if errors.Is(err, errForkUnread) {
				continue // it is previewed again when something moves
			}
			if err != nil {
				failed = append(failed, fmt.Errorf("preview pull request %d: %w", c.Number, err))
				continue
			}
			open[of] = now
		}
	}
	v.said = open
	if len(numbers) == 0 {
		v.sources = nil // frees their caches
	}
	maps.DeleteFunc(v.noted, func(number int, _ shownNotes) bool { return !numbers[number] })
	return errors.Join(failed...)
}

// openSource returns a source with its own caches, so that experiments do not evict real data.
func (v *Previewer) openSource(ctx context.Context, fork bool) (*source.Source, error) {
	if s := v.sources[fork]; s != nil {
		return s, nil
	}
	o := v.options.SourceOptions()
	o.Open = func(ctx context.Context, location string) (*git.Repository, error) {
		// A fork must not make us fetch and show repositories with our credentials.
		if fork && v.options.Remotes.KnownRemote(location) == nil {
			return nil, git.ErrAccess
		}
		return v.options.Remotes.Open(ctx, location)
	}
	s, err := source.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	if v.sources == nil {
		v.sources = map[bool]*source.Source{}
	}
	v.sources[fork] = s
	return s, nil
}

type targetBranch struct {
	name, head   string
	base         bool
	environments []string // affected ones
}

func (v *Previewer) targetBranches(ctx context.Context, cp *repos.Remote) ([]targetBranch, error) {
	found, _, err := v.source.Environments(ctx)
	if err != nil {
		return nil, err
	}
	base, err := v.source.Base(ctx)
	if err != nil {
		return nil, err
	}
	chain, _ := model.NewChain(base.Progress, found, v.options.Settings.NextEnvironment) // problems are reported elsewhere
	found = slices.SortedStableFunc(slices.Values(found), func(a, b *model.Environment) int { return cmp.Compare(chain.Rank(a.Name), chain.Rank(b.Name)) })
	all := []targetBranch{{name: v.options.Settings.ControlPlane.Branch, base: true}}
	for _, e := range found {
		if len(v.options.Settings.Environments) > 0 && !slices.Contains(v.options.Settings.Environments, e.Name) {
			continue
		}
		all[0].environments = append(all[0].environments, e.Name)
		if e.ControlPlane.Branch != all[0].name {
			all = append(all, targetBranch{name: e.ControlPlane.Branch, environments: []string{e.Name}})
		}
	}
	for i := range all {
		all[i].head, err = cp.Mirror().Branch(all[i].name)
		if err != nil && !errors.Is(err, git.ErrNoRevision) {
			return nil, err
		}
	}
	return slices.DeleteFunc(all, func(b targetBranch) bool { return b.head == "" }), nil
}

type environmentPreview struct {
	environment string
	report      impact.Report
	problems    problem.List // new ones
	listed      problem.List // in the comment
	stops       bool
	mended      bool // problems stop it only without the change
	stopped     []string
	places      schedule.Comparison   // of policies
	exceeding   []publish.Withholding // not acknowledged
	unknown     bool
}

// previewChange renders a pull request and its merge base, and comments the difference.
func (v *Previewer) previewChange(ctx context.Context, cp *repos.Remote, f forge.Forge, to forge.Reviewer, b targetBranch, c forge.Change) error {
	if err := cp.Fetch(ctx, c.Commit); err != nil {
		return v.reportUnread(ctx, to, c, err)
	}
	before, err := cp.Mirror().MergeBase(c.Commit, b.head)
	if err != nil {
		return err
	}
	if before == "" {
		before = b.head
	}
	src, err := v.openSource(ctx, c.Fork)
	if err != nil {
		return err
	}
	var all []environmentPreview
	for _, name := range b.environments {
		p, err := v.previewIsolated(ctx, src, name, b.revisionsAt(before), b.revisionsAt(c.Commit))
		if err != nil {
			return err
		}
		all = append(all, p)
	}
	later := v.annotateChange(ctx, f, b, c, all)
	v.options.BeforeEffect("say what a change means")
	if err := to.PutComment(ctx, c.Number, commentMark, commentText(b, all, before, c.Commit)); err != nil {
		return err
	}
	s := commitStatus(all)
	v.options.Logger.Info("preview", "pull", c.Number, "branch", b.name, "says", s.Description)
	return errors.Join(f.SetStatus(ctx, c.Commit, s), later)
}

// errForkUnread means that the server does not send a fork's commit.
var errForkUnread = errors.New("its commit cannot be read")

// reportUnread comments why a fork has no preview: the server will not send the commit later
// either.
func (v *Previewer) reportUnread(ctx context.Context, to forge.Reviewer, c forge.Change, err error) error {
	// git upload-pack then closes the connection.
	if !c.Fork || !errors.Is(err, git.ErrNoRevision) && !strings.Contains(err.Error(), "not our ref") {
		return err
	}
	v.options.Logger.Warn("a pull request from a fork cannot be read", "pull", c.Number, "error", err)
	text := fmt.Sprintf("**There is no preview**: this repository does not give commit %s of the fork.\n\n"+
		"Pushed to a branch of this repository, the change is previewed.\n", forge.CodeSpan(c.Commit))
	if err := to.PutComment(ctx, c.Number, commentMark, text); err != nil {
		return err
	}
	return errForkUnread
}

func (b targetBranch) revisionsAt(commit string) source.Revisions {
	if b.base {
		return source.Revisions{Base: commit}
	}
	return source.Revisions{Environment: commit}
}

func (v *Previewer) previewEnvironment(ctx context.Context, src *source.Source, name string, before, after source.Revisions) (environmentPreview, error) {
	p := environmentPreview{environment: name}
	var cache output.Cache // renders common parts once
	old, err := src.Render(ctx, name, before, &cache)
	if err != nil {
		return p, err
	}
	planned := cache.Plan()
	now, err := src.Render(ctx, name, after, &cache)
	if err != nil {
		return p, err
	}
	var guards problem.List
	if !old.Problems.StopsEnvironment() && !now.Problems.StopsEnvironment() {
		guards = provision.CheckModel(provision.NewStates(old.Model), now.Model)
		claimed, err := findClaimed(ctx, src, old.Model, now.Model, after.Base)
		if err != nil {
			return p, err
		}
		now, err = now.StopStacks(claimed)
		if err != nil {
			return p, err
		}
	}
	to, out, failed := v.openOutput(ctx, old, now)
	both := [2]source.Rendered{old, now}
	if failed == nil && out != nil {
		both, failed = followOutput(out, to, both)
	}
	if failed != nil || out == nil {
		both, err = followRendered([2]source.Rendered{old, now})
	}
	if err != nil {
		return p, err
	}
	known := map[string]bool{}
	for _, was := range both[0].Problems {
		known[was.String()] = true
	}
	found := both[1].Problems
	if !old.Problems.StopsEnvironment() && !found.StopsEnvironment() {
		names, err := src.EnvironmentNames(ctx)
		if err != nil {
			return p, err
		}
		found = output.WithIdleSince(old.Model, now.Model, names, found)
	}
	for _, is := range slices.Concat(found, guards) {
		if !known[is.String()] {
			p.problems = append(p.problems, is)
		}
	}
	p.listed, p.stops = p.problems, guards.Stops() || both[1].Problems.StopsEnvironment()
	p.stopped = list.Convert(both[1].Problems.StoppedStacks(), func(p problem.Problem) string { return p.Stack })
	p.mended = !p.stops && both[0].Problems.StopsEnvironment()
	if !p.stops && !p.mended {
		p.report = impact.Compare(both[0].Tree, both[1].Tree, impact.Options{Workload: model.WorkloadOf(old.Model, now.Model), Chosen: model.ChosenIn(old.Model, now.Model)})
		p.places = schedule.Compare(planned, cache.Plan())
		if failed == nil && out != nil {
			p.exceeding, failed = v.findExceeding(ctx, out, to, both[1])
		}
	}
	if failed != nil && ctx.Err() == nil { // the comment mentions it
		v.options.Logger.Warn("the output that a change is for cannot be read", "environment", p.environment, "error", failed)
		p.unknown = true
	}
	return p, ctx.Err()
}

func findClaimed(ctx context.Context, src *source.Source, before, now *model.Model, base string) (problem.List, error) {
	all, _, err := src.Environments(ctx) // problems are reported elsewhere
	if err != nil {
		return nil, err
	}
	return src.FindClaimed(ctx, before, now, list.Convert(all, func(e *model.Environment) string { return e.Name }), base)
}

// previewIsolated turns a panic into a problem of the change, and lets other previews continue.
func (v *Previewer) previewIsolated(ctx context.Context, src *source.Source, name string, before, after source.Revisions) (found environmentPreview, err error) {
	err = v.options.Barrier.Run("preview", name, func() (err error) {
		found, err = v.previewEnvironment(ctx, src, name, before, after)
		return err
	})
	var e *panics.Error
	if !errors.As(err, &e) {
		return found, err
	}
	var list problem.List
	list.Addf(problem.Pos{}, "Environment/"+name, "report it with the stack in the log of the daemon", "it cannot be rendered: %v", e)
	return environmentPreview{environment: name, problems: list, listed: list, stops: true}, nil
}
