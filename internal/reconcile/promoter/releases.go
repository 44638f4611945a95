package promoter

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/promotion/lane"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
	"github.com/fairlead-io/fairlead/internal/reconcile/registry"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

// releaseLine is what a round knows of the releases of one lane: commits of a branch of their own.
type releaseLine struct {
	Releases
	stages    []*stageState
	decisions []promote.Decision
}

// Releases are the releases of one lane, as their branch has them.
type Releases struct {
	Lane string
	Line promote.Line
	// Stopped is why nothing is known of them; "" if they are known.
	Stopped string

	repo *git.Repository
	head string
}

// Find returns the release of a commit; nil if it is none.
func (r Releases) Find(commit string) *model.Release {
	if !r.Line.Contains(commit) {
		return nil
	}
	found, err := source.ReleaseAt(r.repo, commit)
	if err != nil {
		return nil
	}
	return found
}

// maxReleased bounds the releases that are looked at for a version.
const maxReleased = 100

func (r Releases) hasReleased(feed string, version model.FeedVersion) bool {
	commits := r.Line.Commits()
	return slices.ContainsFunc(commits[:min(len(commits), maxReleased)], func(commit string) bool {
		release := r.Find(commit)
		return release != nil && release.Versions[feed].IsSame(version)
	})
}

// ReplaceSkipped gives a release that comes next, which is nil for none, the last versions that are not skipped in the place of those that
// are. It returns nil if nothing is new then.
func (r Releases) ReplaceSkipped(next *model.Release, skips []*model.Skip) *model.Release {
	if next == nil || len(skips) == 0 {
		return next
	}
	commits := r.Line.Commits()
	for _, feed := range slices.Sorted(maps.Keys(next.Versions)) {
		if model.FindSkip(skips, feed, next.Versions[feed]) == nil {
			continue
		}
		delete(next.Versions, feed)
		for _, commit := range commits[:min(len(commits), maxReleased)] {
			older := r.Find(commit)
			if older == nil {
				continue
			}
			if v, has := older.Versions[feed]; has && model.FindSkip(skips, feed, v) == nil {
				next.Versions[feed] = v
				break
			}
		}
	}
	if last := r.Find(r.head); last != nil && model.EqualVersions(last.Versions, next.Versions) {
		return nil
	}
	return next
}

// Name returns what people call a release.
func (r Releases) Name(commit string) string {
	if !r.Line.Contains(commit) {
		return text.ShortCommit(commit)
	}
	return nameAt(r.repo, commit)
}

func nameAt(repo *git.Repository, commit string) string {
	found, err := source.ReleaseAt(repo, commit)
	if err != nil || found == nil {
		return text.ShortCommit(commit)
	}
	return found.Name
}

// ListReleases returns the lanes that have feeds or releases, and their releases, sorted by lane.
func ListReleases(base source.Base) ([]Releases, error) {
	if base.Repo == nil || base.Progress == nil {
		return nil, nil
	}
	const prefix = "refs/heads/" + source.ReleasesPrefix
	heads, err := base.Repo.Refs(prefix)
	if err != nil {
		return nil, err
	}
	lanes := map[string]bool{}
	for ref := range heads {
		lanes[strings.TrimPrefix(ref, prefix)] = false
	}
	for _, f := range base.Feeds {
		lanes[f.Lane] = true
	}
	var all []Releases
	for _, name := range slices.Sorted(maps.Keys(lanes)) {
		r, err := readReleases(base.Repo, name, heads[prefix+name])
		if err != nil {
			return nil, err
		}
		if lanes[name] || r.Stopped == "" {
			all = append(all, r)
		}
	}
	return all, nil
}

// FindReleases returns the releases of a lane; false if it has none, and no feeds.
func FindReleases(base source.Base, lane string) (Releases, bool, error) {
	if base.Repo == nil || base.Progress == nil {
		return Releases{}, false, nil
	}
	ref := "refs/heads/" + source.ReleasesPrefix + lane
	heads, err := base.Repo.Refs(ref)
	if err != nil {
		return Releases{}, false, err
	}
	hasFeeds := base.HasFeeds(lane)
	if heads[ref] == "" && !hasFeeds {
		return Releases{}, false, nil
	}
	r, err := readReleases(base.Repo, lane, heads[ref])
	if err != nil || !hasFeeds && r.Stopped != "" {
		return Releases{}, false, err
	}
	return r, true, nil
}

func readReleases(repo *git.Repository, name, head string) (Releases, error) {
	r := Releases{Lane: name, repo: repo, head: head}
	if head == "" {
		return r, nil
	}
	newest, err := source.ReleaseAt(repo, head)
	branch := source.ReleasesPrefix + name
	switch {
	case err != nil:
		r.Stopped = fmt.Sprintf("the head of branch %s cannot be read: %v; git revert it there", branch, err)
		return r, nil
	case newest == nil || newest.Lane != name:
		r.Stopped = fmt.Sprintf("branch %s has no release of the lane in %s; rename the branch, or the lane", branch, source.ReleaseFile)
		return r, nil
	}
	commits, err := repo.FirstParents(head, maxHistory, func(string) bool { return false })
	r.Line = promote.NewLine(commits).Named("branch "+branch, r.nameOf(commits))
	return r, err
}

// nameOf reads names when they are asked for: most of a long line are never shown.
func (r Releases) nameOf(commits []string) func(string) string {
	return func(commit string) string {
		if !slices.Contains(commits, commit) {
			return text.ShortCommit(commit)
		}
		return nameAt(r.repo, commit)
	}
}

// promoteReleases cuts the releases of lanes with feeds, and promotes them along the chain. again reports whether anything was
// pushed.
func promoteReleases(ctx context.Context, m *Promoter, policy Policy, stages []*stageState) (lines []*releaseLine, problems problem.List, again bool, err error) {
	all, err := ListReleases(policy.base)
	if err != nil {
		return nil, nil, false, err
	}
	for _, known := range all {
		l := &releaseLine{Releases: known}
		cut, more, err := cutRelease(ctx, m, policy.base, l)
		problems, again = append(problems, more...), again || cut
		if err != nil {
			return nil, nil, false, err
		}
		if l.head != "" || l.Stopped != "" {
			lines = append(lines, l)
		}
	}
	for _, l := range lines {
		if err := decideReleases(ctx, m, policy, stages, l); err != nil {
			return nil, nil, false, err
		}
	}
	if err := applyReleases(ctx, m, policy, stages, lines); err != nil {
		return nil, nil, false, err
	}
	for _, l := range lines {
		for i, s := range l.stages {
			m.logError(s)
			again = again || s.promoted
			l.decisions[i] = s.settleDecision(l.decisions[i])
		}
	}
	return lines, problems, again, ctx.Err()
}

// cutRelease makes the next release of a lane, if there is something new. What cannot be read or written is a warning: the
// releases that there are go on.
func cutRelease(ctx context.Context, m *Promoter, base source.Base, l *releaseLine) (cut bool, problems problem.List, err error) {
	if l.Stopped != "" {
		return false, nil, nil
	}
	last, when := l.Find(l.head), time.Time{}
	if last != nil {
		info, err := base.Repo.Commit(l.head)
		if err != nil {
			return false, nil, err
		}
		when = info.When
	}
	var found []lane.NewestVersion
	of := map[string]source.FeedSource{}
	for _, f := range base.Feeds {
		if f.Lane != l.Lane {
			continue
		}
		of[f.Name] = f
		newest, at, leftOut, err := findNewest(ctx, m, f, last)
		for _, why := range leftOut {
			problems.Warnf(f.Pos, f.Subject(), "push it again, or skip it", "a newer version is left out: %v", why)
		}
		if model.FindSkip(base.Progress.Skips, f.Name, newest.FeedVersion) != nil {
			newest.FeedVersion = model.FeedVersion{Registration: newest.Registration}
		}
		newest.Released = newest.Follows && !newest.Unchanged && l.hasReleased(f.Name, newest.FeedVersion)
		if err != nil {
			problems.Warnf(f.Pos, f.Subject(), hintUnread(err), "its newest version cannot be read, so that the last release stays: %v", err)
		}
		if last != nil && newest.Unchanged && !f.IsRegistration() && f.Branch == "" {
			problems.Warnf(f.Pos, f.Subject(), "the release stays, and what it has is not withdrawn by that", "the newest version is %s, and the last release has %s, which is gone", newest.Version, last.Versions[f.Name].Version)
		}
		if at.After(when) {
			when = at
		}
		found = append(found, newest)
	}
	next, rewritten := lane.NextRelease(l.Lane, last, found)
	next = l.ReplaceSkipped(next, base.Progress.Skips)
	for _, name := range rewritten {
		f := of[name]
		hint := fmt.Sprintf("fairlead versions cut %s takes it", text.QuoteShell(l.Lane))
		if f.Tags != nil && f.Branch == "" {
			problems.Warnf(f.Pos, f.Subject(), hint, "the newest tag does not follow %s: it was moved, or is on another branch, so that no release is made of it", last.Versions[name].Version)
			continue
		}
		problems.Warnf(f.Pos, f.Subject(), hint, "branch %s was rewritten: it no longer contains %s, so that no release is made of it", f.BranchName(), last.Versions[name].Version)
	}
	if next == nil || !m.mayWrite(ctx) {
		return false, problems, nil
	}
	err = writeRelease(ctx, m, l, *next, last, when)
	switch {
	case errors.Is(err, git.ErrStale): // another daemon was faster
		return true, problems, nil
	case err != nil && ctx.Err() == nil:
		problems.Warnf(problem.Pos{Layer: "base"}, "lane "+l.Lane, "allow Fairlead to push to branches "+source.ReleasesPrefix+"*", "release %s cannot be written: %v", next.Name, err)
		return false, problems, nil
	}
	return err == nil, problems, err
}

// findNewest returns what a feed offers. Commits of a branch that change nothing in the folder of the registration are no versions.
func findNewest(ctx context.Context, m *Promoter, f source.FeedSource, last *model.Release) (lane.NewestVersion, time.Time, []error, error) {
	unknown := lane.NewestVersion{Feed: f.Name, FeedVersion: model.FeedVersion{Registration: f.Registration.Name}}
	v, err := source.FindVersion(ctx, m.source, f)
	if err != nil {
		return unknown, time.Time{}, v.LeftOut, err
	}
	var had model.FeedVersion
	if last != nil {
		had = last.Versions[f.Name]
	}
	newest, at, err := compareNewest(f, v, had)
	if err != nil {
		newest = unknown
	}
	return newest, at, v.LeftOut, err
}

func compareNewest(f source.FeedSource, v source.Offer, had model.FeedVersion) (lane.NewestVersion, time.Time, error) {
	newest := lane.NewestVersion{Feed: f.Name, FeedVersion: v.FeedVersion}
	if v.Repo == nil || v.Commit == "" {
		isNewer, known := v.Version != had.Version, f.Tags == nil
		if f.Tags != nil {
			isNewer, known = f.Tags.IsNewer(v.Version, had.Version)
		}
		newest.Follows = f.Mutable || known && v.Version != had.Version
		newest.Unchanged = known && !isNewer && v.Version != had.Version
		return newest, time.Time{}, nil
	}
	info, err := v.Repo.Commit(v.Commit)
	if err != nil {
		return newest, time.Time{}, err
	}
	if had.Commit == "" || had.Commit == v.Commit {
		newest.Follows = had.Commit == ""
		return newest, info.When, nil
	}
	if f.Tags != nil {
		if isNewer, known := f.Tags.IsNewer(v.Version, had.Version); known {
			newest.Follows, newest.Unchanged = v.Version != had.Version, !isNewer
			return newest, info.When, nil
		}
	}
	newest.Follows, err = v.Repo.Contains(v.Commit, had.Commit)
	if err == nil && f.Tags != nil && !newest.Follows { // the branch was released until now, and may be ahead of the tag
		newest.Unchanged, err = v.Repo.Contains(had.Commit, v.Commit)
		newest.Follows = newest.Unchanged
	}
	if errors.Is(err, git.ErrNoRevision) {
		return newest, info.When, nil
	}
	if err == nil && newest.Follows && f.IsRegistration() && f.Tags == nil {
		folder := path.Clean("/" + f.Registration.Workload.Path)[1:]
		newest.Unchanged, err = hasSameFolder(v.Repo, had.Commit, v.Commit, folder)
	}
	return newest, info.When, err
}

func hintUnread(err error) string {
	var refused *registry.NotAllowedError
	if errors.As(err, &refused) {
		return "write feeds: {allow: [" + refused.Place + "]} into the settings of the daemon"
	}
	var unanswered *registry.UnansweredError
	if errors.As(err, &unanswered) {
		return "the answer is read when it is there"
	}
	var advised *problem.Refusal
	if errors.As(err, &advised) {
		return advised.Advice
	}
	return "look at it there"
}

func hasSameFolder(repo *git.Repository, before, after, folder string) (bool, error) {
	if folder == "" {
		return false, nil
	}
	a, _, err := repo.FindEntry(before, folder)
	if err != nil {
		return false, err
	}
	b, _, err := repo.FindEntry(after, folder)
	return a.ID == b.ID, err
}

// writeRelease commits a release to its branch. The commit is a function of the release and the one before it, so that two daemons
// make the same one.
func writeRelease(ctx context.Context, m *Promoter, l *releaseLine, next model.Release, last *model.Release, when time.Time) error {
	o := publish.Options{Remote: m.options.Remotes.ControlPlane().Remote, Author: m.options.Author, Sign: m.options.Sign, BeforeEffect: m.options.BeforeEffect}
	id, err := l.Write(ctx, o, ReleaseCommit{Release: next, When: when, Message: NewReleaseMessage(next, last)})
	if err != nil {
		return err
	}
	m.options.Logger.Info("cut a release", "lane", l.Lane, "release", next.Name, "commit", id)
	l.Releases, err = readReleases(l.repo, l.Lane, id)
	return err
}
