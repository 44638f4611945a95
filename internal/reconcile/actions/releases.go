package actions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/lane"
	"github.com/fairlead-io/fairlead/internal/reconcile/promoter"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// releaseView is a snapshot of the releases of a lane, and of the one that the environment has; nil for none.
type releaseView struct {
	snapshot
	promoter.Releases
	pins *model.Release
}

func newReleaseView(v snapshot, name string) (releaseView, bool, error) {
	found, known, err := promoter.FindReleases(v.base, name)
	r := releaseView{snapshot: v, Releases: found}
	if v.branch.Progress != nil {
		r.pins = promoter.FindPins(v.branch, name)
	}
	if err != nil || !known || found.Line.Head() == "" {
		return r, false, err
	}
	return r, true, nil
}

// resolveRelease returns the commit of a release that is named, or is a revision; "" if it is none of the lane.
func (r releaseView) resolveRelease(revision string) (string, error) {
	if revision == "" {
		return "", nil
	}
	for _, commit := range r.Line.Commits() {
		if r.Name(commit) == revision {
			return commit, nil
		}
	}
	commit, err := r.base.Repo.Resolve(revision)
	if errors.Is(err, git.ErrNoRevision) && strings.HasPrefix(revision, r.Lane+"-") {
		return "", problem.Refusef("fairlead versions lists them", "lane %s has no release %s", r.Lane, revision)
	}
	if err != nil || !r.Line.Contains(commit) {
		return "", nil // it is of the base, or nothing
	}
	return commit, nil
}

func (r releaseView) present() string {
	if r.pins == nil {
		return ""
	}
	return r.pins.Commit
}

func (r releaseView) describe(commit string) string {
	release := r.Find(commit)
	if release == nil {
		return text.ShortCommit(commit)
	}
	return fmt.Sprintf("%s (%s)", release.Name, strings.Join(release.DescribeChange(nil), ", "))
}

// findRelease returns the release of a lane that a person means: the one that is named, or else the one that the environment waits
// for; "" if that is a commit of the base.
func findRelease(v snapshot, lane, revision string, known *status.Chain) (releaseView, string, error) {
	r, has, err := newReleaseView(v, lane)
	if err != nil || !has {
		return r, "", err
	}
	if revision == "" {
		s, _ := findStage(known, v.stage.Name)
		waiting, _ := s.FindRelease(lane)
		return r, waiting.NextCommit, nil
	}
	commit, err := r.resolveRelease(revision)
	return r, commit, err
}

// findSentRelease returns the release of a lane that another environment has; "" if this one has it.
func findSentRelease(ctx context.Context, d *Session, r releaseView, from string) (string, error) {
	b, err := d.source.Branch(ctx, from)
	if err != nil {
		return "", err
	}
	pins := promoter.FindPins(b, r.Lane)
	if pins == nil || pins.Commit == r.present() {
		return "", nil
	}
	return pins.Commit, nil
}

func promoteRelease(ctx context.Context, d *Session, r releaseView, commit string, p Promotion, now time.Time) (change, error) {
	release, present := r.Find(commit), r.present()
	if release == nil {
		return change{}, problem.Refusef("fairlead versions lists them", "lane %s has no release %s", r.Lane, text.ShortCommit(commit))
	}
	c := change{
		action: promoteAction, environment: p.Environment, lane: r.Lane, from: present, to: commit, reason: p.Reason,
		title:   fmt.Sprintf("Promote %s to %s", release.Name, p.Environment),
		summary: fmt.Sprintf("%s gets %s", p.Environment, r.describe(commit)),
		moves:   release.DescribeChange(r.pins),
	}
	switch {
	case commit == present && len(c.moves) == 0:
		c.summary = fmt.Sprintf("%s has %s already", p.Environment, release.Name)
		return c, nil
	case r.Line.IsNewer(present, commit):
		return c, problem.Refusef(fmt.Sprintf("fairlead rollback %s --lane %s --to %s --reason TEXT goes back, and stays there", p.Environment, text.QuoteShell(r.Lane), release.Name),
			"%s is older than %s, which %s has", release.Name, r.pins.Name, p.Environment)
	}
	if feed, why := release.FindSkipped(r.base.Progress.Skips); feed != "" {
		return change{}, problem.Refusef(fmt.Sprintf("fairlead versions skip %s=%s --undo ends that", feed, release.Name), "%s of %s is skipped: %s", feed, release.Name, why)
	}
	for _, o := range r.findObjections(p, commit, now) {
		if !p.Force {
			return change{}, o
		}
		c.overridden = append(c.overridden, o.Reason)
	}
	if c.overridden != nil {
		c.forced, c.reason = p.Reason, ""
	}
	return c, r.writePins(ctx, d, &c, commit)
}

func (r releaseView) findObjections(p Promotion, commit string, now time.Time) objections {
	all := newObjections(r.snapshot)
	for _, h := range r.branch.Progress.LaneHolds {
		if h.Lane == r.Lane {
			all.add(fmt.Sprintf("fairlead release %s --lane %s ends that", p.Environment, text.QuoteShell(h.Lane)), "lane %s is held in %s: %s", h.Lane, p.Environment, h.Reason)
		}
	}
	if back, err := r.FindReversal(r.branch, p.Environment); err == nil && back != nil {
		all.add(fmt.Sprintf("fairlead release %s --lane %s ends that", p.Environment, text.QuoteShell(r.Lane)), "lane %s is held in %s: %s reverted it in %s", r.Lane, p.Environment, back.Author, text.ShortCommit(back.Commit))
	}
	if frozen := gate.EvaluateFreezes(gate.Facts{Now: now, Environment: p.Environment, Commit: commit, Freezes: r.base.Progress.Freezes}); frozen.Status != gate.Pass {
		all.add("wait for its end, or insist with --force --reason TEXT", "%s", frozen.Reason)
	}
	const hint = "wait for it, or insist with --force --reason TEXT"
	s, known := findStage(p.Report, p.Environment)
	waiting, _ := s.FindRelease(r.Lane)
	byPeople := r.stage.Record == "pull-request" && waiting.Verdict.Status == gate.Wait && len(waiting.Verdict.Parts) == 1 && waiting.Verdict.Parts[0].Status == gate.Pass
	switch {
	case len(r.stage.After) == 0 && len(r.stage.Gates) == 0, byPeople:
	case !known || waiting.NextCommit != commit:
		all.add(hint, "it is not known whether %s was verified in %s", r.Name(commit), text.Join(r.stage.After, " and "))
	case waiting.Verdict.Status != gate.Pass && len(all) == 0:
		all.add(hint, "%s waits: %s", r.Name(commit), waiting.Verdict.Reason)
	}
	return all
}

func (r releaseView) writePins(ctx context.Context, d *Session, c *change, commit string) error {
	release, missing, err := source.CompleteRelease(ctx, d.source, r.base.Feeds, c.environment, *r.Find(commit))
	if err != nil {
		return err
	}
	if missing != "" {
		return problem.Refusef("wait for it, or take another release: fairlead versions lists them", "%s", missing)
	}
	file, content, err := promoter.NewPins(r.branch, release, commit)
	c.workloads = map[string]string{}
	for _, v := range release.Versions {
		if v.IsRead() {
			c.workloads[v.Registration] = v.Commit
		}
	}
	if c.files == nil {
		c.files = map[string][]byte{}
	}
	c.files[file] = content
	return err
}

func rollBackRelease(ctx context.Context, d *Session, r releaseView, b Rollback) (change, error) {
	had, err := r.branch.ListPins(b.Lane, maxRecords, maxVersions)
	if err != nil {
		return change{}, err
	}
	present := r.present()
	target, err := r.resolveRelease(b.To)
	if err != nil {
		return change{}, err
	}
	older := slices.DeleteFunc(had, func(commit string) bool { return !isOlder(r.Line, commit, present) })
	var notes []string
	for _, commit := range older {
		if target == "" && d.readEvidence(ctx, b.Environment, commit) == promoter.Verified {
			target = commit
		}
	}
	switch {
	case target == "" && len(older) > 0:
		target = older[0]
		notes = append(notes, fmt.Sprintf("no older release of lane %s that %s had is known to be verified there; this is the last one", b.Lane, b.Environment))
	case target == "":
		return change{}, problem.Refusef(fmt.Sprintf("fairlead hold %s --lane %s --reason TEXT keeps it where it is", b.Environment, text.QuoteShell(b.Lane)), "%s had no older release of lane %s before", b.Environment, b.Lane)
	case target == present:
		notes = append(notes, "it has this release: its versions are written again")
	case r.Line.IsNewer(target, present) && present != "":
		return change{}, problem.Refusef("fairlead promote goes forward", "%s is newer than %s, which %s has", r.Name(target), r.Name(present), b.Environment)
	case r.Line.Contains(present) && !slices.Contains(older, target):
		return change{}, problem.Refusef("go back to one that it had: fairlead history "+b.Environment+" lists them", "%s never had %s", b.Environment, r.Name(target))
	}
	for _, pin := range r.branch.Progress.Pins {
		if _, has := r.Find(target).Versions[pin.Name]; has {
			notes = append(notes, fmt.Sprintf("%s stays at %s, which is pinned: %s", pin.Name, pin.Version, pin.Reason))
		}
	}
	name := r.Name(target)
	c := change{
		action: rollbackAction, environment: b.Environment, lane: b.Lane, from: present, to: target, reason: b.Reason, notes: notes,
		title:   fmt.Sprintf("Roll lane %s in %s back to %s", b.Lane, b.Environment, name),
		summary: fmt.Sprintf("%s goes back to %s, and stays there until fairlead release %[1]s --lane %[3]s", b.Environment, r.describe(target), text.QuoteShell(b.Lane)),
		moves:   r.Find(target).DescribeChange(r.pins),
	}
	err = r.writePins(ctx, d, &c, target)
	if err == nil {
		err = c.writeHold(r.snapshot, promoter.LaneHoldFile(r.branch.Folder, b.Lane), holdSpec{Reason: b.Reason, Lane: b.Lane})
	}
	return c, err
}

// Cut is a request to make a release of a lane from the newest versions, also where a feed's branch was rewritten, and from others.
type Cut struct {
	Lane string
	// Versions are revisions, by feed.
	Versions map[string]string
	Reason   string
}

// chooseVersion returns the newest version of a feed, or that of a revision; the zero value if the newest one is skipped.
func chooseVersion(ctx context.Context, d *Session, base source.Base, f source.FeedSource, revision string) (model.FeedVersion, error) {
	find := source.FindVersion
	if revision != "" {
		find = func(ctx context.Context, s *source.Source, f source.FeedSource) (source.Offer, error) {
			return source.ResolveVersion(ctx, s, f, "", revision)
		}
	}
	v, err := find(ctx, d.source, f)
	switch skip := model.FindSkip(base.Progress.Skips, f.Name, v.FeedVersion); {
	case errors.Is(err, git.ErrNoRevision) && revision != "":
		return v.FeedVersion, problem.Refusef("check the name, and that it was pushed", "%s has no revision %s", f.Place(), revision)
	case err != nil:
		return v.FeedVersion, fmt.Errorf("read the version of %s: %w", f.Name, err)
	case skip != nil && revision != "":
		return v.FeedVersion, problem.Refusef(fmt.Sprintf("fairlead versions skip %s=%s --undo ends that", f.Name, revision), "%s %s is skipped: %s", f.Name, v.Version, skip.Reason)
	case skip != nil:
		return model.FeedVersion{Registration: v.Registration}, nil
	}
	return v.FeedVersion, nil
}

// CutRelease commits a release to the branch of a lane.
func CutRelease(ctx context.Context, d *Session, c Cut) (Result, error) {
	base, err := d.source.Base(ctx)
	if err != nil {
		return Result{}, err
	}
	if p, stops := base.Progress.Problems.FirstStopping(); stops {
		return Result{}, problem.Refusef("fairlead check lists them; fix them first", "the base has problems: %s", p)
	}
	known, has, err := promoter.FindReleases(base, c.Lane)
	feeds := slices.DeleteFunc(slices.Clone(base.Feeds), func(f source.FeedSource) bool { return f.Lane != c.Lane })
	switch {
	case err != nil:
		return Result{}, err
	case !has || len(feeds) == 0:
		var lanes []string
		for _, f := range base.Feeds {
			lanes = append(lanes, f.Lane)
		}
		slices.Sort(lanes)
		hint := "fairlead versions adopt writes feeds for what is registered"
		if len(lanes) > 0 {
			hint = cmp.Or(problem.DidYouMean(c.Lane, lanes), "the lanes with feeds are "+text.Join(slices.Compact(lanes), ", "))
		}
		return Result{}, problem.Refusef(hint, "lane %s has no feeds", c.Lane)
	case known.Stopped != "":
		return Result{}, problem.Refusef("", "%s", known.Stopped)
	}
	var found []lane.NewestVersion
	var names []string
	for _, f := range feeds {
		names = append(names, f.Name)
		v, err := chooseVersion(ctx, d, base, f, c.Versions[f.Name])
		if err != nil {
			return Result{}, err
		}
		found = append(found, lane.NewestVersion{Feed: f.Name, FeedVersion: v, Follows: true})
	}
	for _, name := range slices.Sorted(maps.Keys(c.Versions)) {
		if !slices.Contains(names, name) {
			return Result{}, problem.Refusef(cmp.Or(problem.DidYouMean(name, names), "its feeds are "+text.Join(names, " and ")), "lane %s has no feed %s", c.Lane, name)
		}
	}
	head := known.Line.Head()
	last := known.Find(head)
	next, _ := lane.NextRelease(c.Lane, last, found)
	next = known.ReplaceSkipped(next, base.Progress.Skips)
	r := Result{Action: cutAction, Branch: source.ReleasesPrefix + c.Lane}
	if next == nil {
		r.Name, r.Summary = last.Name, last.Name+" has these versions already"
		return r, nil
	}
	made := change{action: cutAction, lane: c.Lane, title: "Release " + next.Name, moves: next.DescribeChange(last), reason: c.Reason, trailers: d.options.Trailers}
	r.Name, r.Summary = next.Name, fmt.Sprintf("%s is made: %s", next.Name, strings.Join(made.moves, ", "))
	remote, _ := d.findRemote(d.options.ControlPlane)
	if remote == nil {
		return Result{}, errors.New("the control plane was not read")
	}
	o := publish.Options{Remote: remote, Author: d.options.Author, Through: d.options.Committer, Sign: d.options.Sign, BeforeEffect: d.options.BeforeEffect}
	id, err := known.Write(ctx, o, promoter.ReleaseCommit{Release: *next, When: d.options.Now(), Message: made.commitMessage()})
	if errors.Is(err, git.ErrStale) {
		return r, problem.Refusef("try again", "the lane got another release meanwhile")
	}
	if err == nil {
		r.Changed, r.Commit, r.From, r.To = true, id, head, id
	}
	return r, err
}
