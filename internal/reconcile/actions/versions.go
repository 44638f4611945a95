package actions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/promotion/lane"
	"github.com/fairlead-io/fairlead/internal/reconcile/promoter"
	"github.com/fairlead-io/fairlead/internal/reconcile/source"
)

func findFeed(ctx context.Context, d *Session, base source.Base, environment, name, revision string) (f source.FeedSource, v model.FeedVersion, err error) {
	names := list.Convert(base.Feeds, func(f source.FeedSource) string { return f.Name })
	i := slices.Index(names, name)
	if i < 0 {
		hint := "fairlead versions adopt writes feeds for what is registered"
		if len(names) > 0 {
			hint = cmp.Or(problem.DidYouMean(name, names), "fairlead versions lists them")
		}
		return f, v, problem.Refusef(hint, "there is no feed %s", name)
	}
	f = base.Feeds[i]
	if revision == "" {
		return f, v, nil
	}
	if known, _, err := promoter.FindReleases(base, f.Lane); err == nil {
		for _, release := range known.Line.Commits() {
			if known.Name(release) != revision {
				continue
			}
			v, has := known.Find(release).Versions[name]
			if has && v.IsOpen() && environment != "" {
				revision = v.Version
				break
			}
			if has {
				return f, v, nil
			}
			return f, v, problem.Refusef("name a revision of its repository", "%s has no version of %s", revision, name)
		}
	}
	named, err := source.ResolveVersion(ctx, d.source, f, environment, revision)
	if errors.Is(err, git.ErrNoRevision) {
		return f, v, problem.Refusef("check the name, and that it was pushed", "%s has no revision %s, and lane %s no such release", f.Place(), revision, f.Lane)
	}
	if err != nil {
		return f, v, fmt.Errorf("read the versions of %s: %w", name, err)
	}
	return f, named.FeedVersion, nil
}

// PinVersion keeps a version of a feed in an environment, whatever releases it gets.
func PinVersion(ctx context.Context, d *Session, environment, feed, revision, reason string) (Result, error) {
	return d.perform(ctx, environment, func(v snapshot) (change, error) {
		f, version, err := findFeed(ctx, d, v.base, environment, feed, revision)
		if err != nil {
			return change{}, err
		}
		if skip := model.FindSkip(v.base.Progress.Skips, feed, version); skip != nil {
			return change{}, problem.Refusef(endSkip(feed, version), "%s %s is skipped: %s", feed, version.Version, skip.Reason)
		}
		c := change{
			action: pinVersion, environment: environment, part: feed, reason: reason, workloads: map[string]string{},
			title:   fmt.Sprintf("Pin %s in %s to %s", feed, environment, version.Version),
			summary: fmt.Sprintf("%s stays at %s in %s until fairlead versions unpin %[3]s %[1]s", feed, version.Version, environment),
		}
		if version.IsRead() {
			c.workloads[f.Registration.Name] = version.Commit
		}
		content, err := model.EncodePin(model.Pin{Object: model.Object{Name: feed}, Reason: reason, FeedVersion: version})
		c.files = map[string][]byte{model.PinFile(v.branch.Folder, feed): content}
		return c, err
	})
}

// UnpinVersion lets an environment have the version of its release again.
func UnpinVersion(ctx context.Context, d *Session, environment, feed, reason string) (Result, error) {
	return d.perform(ctx, environment, func(v snapshot) (change, error) {
		file := model.PinFile(v.branch.Folder, feed)
		c := change{
			action: unpinVersion, environment: environment, part: feed, reason: reason,
			title: fmt.Sprintf("Unpin %s in %s", feed, environment), summary: fmt.Sprintf("%s is not pinned in %s any more", feed, environment),
		}
		_, isPinned, err := v.branch.Repo.FindEntry(v.branch.Head, file)
		if err != nil {
			return c, err
		}
		for _, r := range v.branch.Progress.Releases {
			if skip := model.FindSkip(v.base.Progress.Skips, feed, r.Versions[feed]); isPinned && skip != nil {
				return c, problem.Refusef(fmt.Sprintf("fairlead rollback %s --lane %s --reason TEXT first, wait for a newer release, or %s", environment, text.QuoteShell(r.Lane), endSkip(feed, r.Versions[feed])), "%s %s of %s, which %s would get, is skipped: %s", feed, r.Versions[feed].Version, r.Name, environment, skip.Reason)
			}
		}
		if isPinned {
			c.files = map[string][]byte{file: nil}
			return c, nil
		}
		c.summary = fmt.Sprintf("%s is not pinned in %s", feed, environment)
		_, _, err = findFeed(ctx, d, v.base, environment, feed, "")
		return c, err
	})
}

func skipFile(feed string, v model.FeedVersion) string {
	name := v.Version
	if v.Commit != "" {
		name = text.ShortCommit(v.Commit)
	}
	name = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' {
			return r
		}
		return '-'
	}, strings.ToLower(name))
	return path.Join(source.OwnFolder, "skips", strings.TrimRight(feed+"-"+name, "-.")+".yaml")
}

func endSkip(feed string, v model.FeedVersion) string {
	return fmt.Sprintf("fairlead versions skip %s=%s --undo --reason TEXT", feed, cmp.Or(v.Tag, text.ShortCommit(v.Commit), v.Version))
}

// findSkipped says of each environment that has a release with a version how to take it back.
func findSkipped(ctx context.Context, d *Session, feed string, version model.FeedVersion) (notes []string, err error) {
	names, err := d.Environments(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		b, err := d.source.Branch(ctx, name)
		if err != nil {
			return nil, err
		}
		for _, r := range b.Progress.Releases {
			if v, has := r.Versions[feed]; has && version.IsHadAs(v) {
				notes = append(notes, fmt.Sprintf("%s keeps %s, which has it: fairlead rollback %[1]s --lane %[3]s --reason TEXT takes it back", name, r.Name, text.QuoteShell(r.Lane)))
			}
		}
	}
	return notes, nil
}

// SkipVersion keeps a version of a feed from being released, and releases with it from being promoted. undo ends that.
func SkipVersion(ctx context.Context, d *Session, feed, revision, reason string, undo bool) (Result, error) {
	return d.perform(ctx, "", func(v snapshot) (change, error) {
		_, version, err := findFeed(ctx, d, v.base, "", feed, revision)
		if err != nil {
			return change{}, err
		}
		what := feed + " " + version.Version
		c := change{action: skipVersion, name: feed, reason: reason, title: "Skip " + what, summary: what + " goes no further: releases that have it are not promoted"}
		known := model.FindSkip(v.base.Progress.Skips, feed, version)
		switch {
		case undo && known == nil:
			c.summary = what + " is not skipped"
			return c, nil
		case undo:
			c.action, c.title, c.summary = unskipVersion, "Do not skip "+what, what+" is not skipped any more"
			c.files = map[string][]byte{known.Pos.File: nil}
			return c, nil
		case known != nil:
			c.summary = what + " is skipped already: " + known.Reason
			return c, nil
		}
		file := skipFile(feed, version)
		c.notes, err = findSkipped(ctx, d, feed, version)
		if err != nil {
			return c, err
		}
		skip := model.NewSkip(feed, version, reason)
		skip.Name = strings.TrimSuffix(path.Base(file), ".yaml")
		content, err := model.EncodeSkip(skip)
		c.files = map[string][]byte{file: content}
		return c, err
	})
}

// FeedVersions is what a feed offers, and what environments have of it.
type FeedVersions struct {
	Feed string `json:"feed"`
	Lane string `json:"lane"`
	// Newest is the newest version that there is; "" if it cannot be read, which Unread says why.
	Newest string `json:"newest,omitempty"`
	Unread string `json:"unread,omitempty"`
	// Release is the newest release of the lane, and Version what it has; "" if there is none.
	Release      string               `json:"release,omitempty"`
	Version      string               `json:"version,omitempty"`
	Environments []EnvironmentVersion `json:"environments"`
}

// EnvironmentVersion is what an environment has of a feed; "" if it follows the branch.
type EnvironmentVersion struct {
	Environment string `json:"environment"`
	Release     string `json:"release,omitempty"`
	Version     string `json:"version,omitempty"`
	// Pinned is why a person keeps Version there; "" if Release has it.
	Pinned  string `json:"pinned,omitempty"`
	Skipped string `json:"skipped,omitempty"`
}

// ListVersions returns the versions of all feeds, sorted by feed.
func ListVersions(ctx context.Context, d *Session) ([]FeedVersions, error) {
	base, err := d.source.Base(ctx)
	if err != nil {
		return nil, err
	}
	names, err := d.Environments(ctx)
	if err != nil {
		return nil, err
	}
	all := []FeedVersions{}
	for _, f := range base.Feeds {
		v := FeedVersions{Feed: f.Name, Lane: f.Lane}
		newest, err := source.FindVersion(ctx, d.source, f)
		if err != nil {
			v.Unread = err.Error()
		} else {
			v.Newest = newest.Version
		}
		known, _, err := promoter.FindReleases(base, f.Lane)
		if err != nil {
			return nil, err
		}
		if last := known.Find(known.Line.Head()); last != nil {
			v.Release, v.Version = last.Name, last.Versions[f.Name].Version
		}
		for _, name := range names {
			b, err := d.source.Branch(ctx, name)
			if err != nil {
				return nil, err
			}
			e, has := EnvironmentVersion{Environment: name}, model.FeedVersion{}
			if pins := promoter.FindPins(b, f.Lane); pins != nil {
				e.Release, has = pins.Name, pins.Versions[f.Name]
			}
			for _, p := range b.Progress.Pins {
				if p.Name == f.Name {
					has, e.Pinned = p.FeedVersion, p.Reason
				}
			}
			e.Version = has.Version
			if skip := model.FindSkip(base.Progress.Skips, f.Name, has); skip != nil {
				e.Skipped = skip.Reason
			}
			v.Environments = append(v.Environments, e)
		}
		all = append(all, v)
	}
	return all, nil
}

// feedsFolder has a file for each feed that nobody wrote by hand.
const feedsFolder = source.OwnFolder + "/feeds"

// AdoptFeeds writes a feed for each registration of the base that has none, or for some of them.
func AdoptFeeds(ctx context.Context, d *Session, some []string, reason string) (Result, error) {
	return d.perform(ctx, "", func(v snapshot) (change, error) {
		c := change{action: adoptAction, name: "feeds", title: "Promote the versions of what is registered", reason: reason}
		if v.orderProblem != "" {
			return c, problem.Refusef("fairlead check lists them; fix them first", "the order of promotion has problems: %s", v.orderProblem)
		}
		registered, err := source.ListRegistrations(d.source)
		if err != nil {
			return c, err
		}
		var partition lane.Partition
		if lanes := promoter.DefinedLanes(v.base); lanes != nil {
			partition = lane.NewPartition(*lanes)
		}
		c.files = map[string][]byte{}
		known := list.Convert(registered, func(r *model.Registration) string { return r.Name })
		for _, name := range some {
			if !slices.Contains(known, name) {
				return c, problem.Refusef(cmp.Or(problem.DidYouMean(name, known), "fairlead get registrations lists them"), "the base has no WorkloadRegistration %s", name)
			}
		}
		var names []string
		for _, r := range registered {
			if len(some) > 0 && !slices.Contains(some, r.Name) {
				continue
			}
			if slices.ContainsFunc(v.base.Progress.Feeds, func(f *model.Feed) bool { return f.Workload == r.Name }) {
				continue
			}
			if partition.FindLane(r.Pos.File) == lane.Platform {
				c.notes = append(c.notes, fmt.Sprintf("%s still follows its branch: no lane has %s; write lanes: {each: workloads/*} into spec of the Promotion, or name a lane with that path", r.Name, r.Pos.File))
				continue
			}
			written, err := model.EncodeObject("Feed", r.Name, map[string]string{"workload": r.Name})
			if err != nil {
				return c, err
			}
			file := path.Join(feedsFolder, r.Name+".yaml")
			_, isTaken, err := v.base.Repo.FindEntry(v.base.Head, file)
			if err != nil {
				return c, err
			}
			if isTaken {
				return c, problem.Refusef("rename that file, or write a Feed of "+r.Name+" by hand", "%s exists, and has no feed of %s", file, r.Name)
			}
			c.files[file], names = written, append(names, r.Name)
			c.moves = append(c.moves, r.Name+" follows branch "+r.Workload.Branch+" of "+r.Workload.Repo)
		}
		c.summary = "all that is registered has a feed"
		switch {
		case c.moves == nil && c.notes != nil:
			return c, problem.Refusef("", "%s", c.notes[0])
		case c.moves == nil:
			return c, nil
		}
		c.summary = "what is pushed for " + text.Join(names, " and ") + " is promoted from environment to environment"
		return c, nil
	})
}
