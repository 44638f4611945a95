package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/kubename"
	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/git"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/promotion/lane"
	"github.com/fairlead-io/fairlead/internal/reconcile/registry"
)

// FeedSource is what a feed is about: the registration, and the lane that owns its file; "" for none.
type FeedSource struct {
	*model.Feed
	Registration *model.Registration
	Lane         string
	// First is the first environment of the chain, whose branch decides which versions there are.
	First string
}

func findFeeds(s *Source, progress *model.Progress, files tree.Tree) (feeds []FeedSource, problems problem.List) {
	if len(progress.Feeds) == 0 {
		return nil, nil
	}
	var lanes lane.Partition
	first := ""
	for _, p := range progress.Promotions {
		if p.Lanes != nil {
			lanes = lane.NewPartition(*p.Lanes)
		}
		for _, stage := range p.Stages {
			if first == "" && len(stage.After) == 0 {
				first = stage.Name
			}
		}
	}
	found := scanRegistrations(s, files)
	names, taken := []string{}, map[string][]*model.Feed{}
	for _, r := range found {
		names = append(names, r.Name)
	}
	for _, f := range progress.Feeds {
		i := slices.Index(names, f.Workload)
		if i < 0 {
			hint := problem.DidYouMean(f.Workload, names)
			if hint == "" {
				hint = "name a WorkloadRegistration of the base"
			}
			problems.Warnf(f.Pos, f.Subject(), hint, "there is no WorkloadRegistration %s, so that it has no versions", f.Workload)
			continue
		}
		if other, key := findConflict(taken[f.Workload], f); other != nil {
			problems.Addf(f.Pos, f.Subject(), "remove one of them, or change spec.into", "%s sets %s of %s too", other.Subject(), key, f.Workload)
			continue
		}
		taken[f.Workload] = append(taken[f.Workload], f)
		one := FeedSource{f, found[i], lanes.FindLane(found[i].Pos.File), first}
		if one.Lane == lane.Platform {
			problems.Addf(f.Pos, f.Subject(), "write lanes: {each: workloads/*} into spec of the Promotion, or name a lane with that path", "no lane has %s, where %s is registered, so that nothing promotes its versions", found[i].Pos.File, f.Workload)
			continue
		}
		if err := kubename.Check(one.Lane); err != nil { // releases are named after it
			problems.Addf(f.Pos, f.Subject(), "rename the file, or the lane", "the lane %s cannot have releases: %v", one.Lane, err)
			continue
		}
		feeds = append(feeds, one)
	}
	slices.SortFunc(feeds, func(a, b FeedSource) int { return strings.Compare(a.Name, b.Name) })
	return feeds, problems
}

// findConflict returns the feed that gives a workload what another one gives it too, and what that is; nil for none.
func findConflict(all []*model.Feed, f *model.Feed) (*model.Feed, string) {
	for _, other := range all {
		if f.IsRegistration() && other.IsRegistration() {
			return other, "the commit"
		}
		if key := f.Into.Conflict(other.Into); key != "" {
			return other, key
		}
	}
	return nil, ""
}

func scanRegistrations(s *Source, files tree.Tree) []*model.Registration {
	return s.options.Parser.Scan("", model.Layer{Kind: model.Base, Name: "main", Files: Filter(files)}).Registrations
}

// ListRegistrations returns the registrations of the newest base.
func ListRegistrations(s *Source) ([]*model.Registration, error) {
	files, err := s.baseFiles()
	return scanRegistrations(s, files), err
}

// Offer is a version that a feed offers, and the repository that has its commit; nil for one of a registry.
type Offer struct {
	Repo *git.Repository
	model.FeedVersion
	// LeftOut says of newer names why they cannot be read.
	LeftOut []error
}

// versions are where a feed gets its versions from.
type versions interface {
	// list returns the names of all versions.
	list(ctx context.Context) ([]string, error)
	// resolve returns the version that people mean by a name, without what it sets. The error is git.ErrNoRevision if there is none.
	resolve(ctx context.Context, name string) (Offer, error)
}

func openVersions(ctx context.Context, s *Source, f FeedSource, environment string) (versions, error) {
	if f.Source == model.ChartFeed && f.OCIRepo() == "" {
		return chartVersions{s.options.Registries, f.Feed}, nil
	}
	if f.OCIRepo() != "" {
		return registryTags{s.options.Registries, f.Feed}, nil
	}
	where := model.RepoRef{Repo: f.Repo, Branch: f.BranchOf(environment)}
	if f.IsRegistration() {
		where = f.Registration.Workload
	}
	repo, err := s.repositories.openRepository(ctx, where.Repo, false)
	if err != nil {
		return nil, err
	}
	if f.Tags != nil && where.Branch == "" || f.Tags != nil && f.IsRegistration() {
		return gitTags{repo}, nil
	}
	return gitBranch{repo, where.Branch, f.Feed}, nil
}

// maxLeftOut bounds the names that are left out because they cannot be read.
const maxLeftOut = 5

// FindVersion returns the newest version of a feed. Names that cannot be read are left out.
func FindVersion(ctx context.Context, s *Source, f FeedSource) (Offer, error) {
	all, err := openVersions(ctx, s, f, f.First)
	if err != nil {
		return Offer{}, err
	}
	names, err := all.list(ctx)
	if err != nil {
		return Offer{}, err
	}
	var leftOut []error
	var without []string
	for range maxLeftOut {
		newest := f.findNewest(names, without)
		if newest == "" {
			break
		}
		o, err := f.complete(all.resolve(ctx, newest))
		if f.IsOfEnvironments() { // each environment has a commit of its own
			o.Repo, o.FeedVersion = nil, model.FeedVersion{Version: o.Version, Registration: o.Registration}
		}
		var unreadable *registry.UnreadableError
		if !errors.As(err, &unreadable) {
			o.LeftOut = leftOut
			return o, err
		}
		leftOut, without = append(leftOut, err), append(without, newest)
	}
	if leftOut != nil {
		return Offer{}, errors.Join(leftOut...)
	}
	return Offer{}, problem.Refusef("push a version, or change the tags or the range of the feed", "none of %s is a version that the feed takes", text.Count(len(names), "name"))
}

// findNewest returns the greatest name, or the first one of a branch, which is its head.
func (f FeedSource) findNewest(names, without []string) string {
	if f.Tags != nil {
		return f.Tags.Newest(names, func(name string) bool { return slices.Contains(without, name) })
	}
	for _, name := range names {
		if !slices.Contains(without, name) {
			return name
		}
	}
	return ""
}

// ResolveVersion returns the version that people mean by a revision of the repository, or by a tag, in an environment; "" for all of
// them. The error is git.ErrNoRevision if there is none.
func ResolveVersion(ctx context.Context, s *Source, f FeedSource, environment, revision string) (Offer, error) {
	all, err := openVersions(ctx, s, f, cmp.Or(environment, f.First))
	if err != nil {
		return Offer{}, err
	}
	o, err := f.complete(all.resolve(ctx, revision))
	if f.IsOfEnvironments() && environment == "" {
		o.Repo, o.FeedVersion = nil, model.FeedVersion{Version: o.Version, Registration: o.Registration}
	}
	return o, err
}

// CompleteRelease gives the versions of a release the commits of an environment's own branches. missing says which version has none
// yet; "" if all have one.
func CompleteRelease(ctx context.Context, s *Source, feeds []FeedSource, environment string, r model.Release) (_ model.Release, missing string, err error) {
	r.Versions = maps.Clone(r.Versions)
	for _, name := range slices.Sorted(maps.Keys(r.Versions)) {
		v := r.Versions[name]
		if !v.IsOpen() {
			continue
		}
		i := slices.IndexFunc(feeds, func(f FeedSource) bool { return f.Name == name })
		if i < 0 || !feeds[i].IsOfEnvironments() {
			return r, fmt.Sprintf("nothing tells which commit %s %s has in %s: there is no Feed %[1]s with %s in its branch", name, v.Version, environment, model.EachEnvironment), nil
		}
		f := feeds[i]
		o, err := ResolveVersion(ctx, s, f, environment, v.Version)
		if errors.Is(err, git.ErrNoRevision) {
			return r, fmt.Sprintf("%s %s is not on branch %s of %s yet: its team has not generated it", name, v.Version, f.BranchOf(environment), f.Place()), nil
		}
		if err != nil {
			return r, "", fmt.Errorf("read the versions of %s in %s: %w", name, environment, err)
		}
		r.Versions[name] = o.FeedVersion
	}
	return r, "", nil
}

func (f FeedSource) complete(o Offer, err error) (Offer, error) {
	if err != nil {
		return o, err
	}
	if !versionName.MatchString(o.Version) {
		return o, fmt.Errorf("%.200q is not the name of a version", o.Version)
	}
	o.Registration = f.Registration.Name
	o.FeedVersion, err = o.With(f.Into)
	return o, err
}

// versionName keeps what others write out of templates and file names.
var versionName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+/-]{0,199}$`)

// Place returns where the versions are, for people.
func (f FeedSource) Place() string {
	if f.IsRegistration() {
		return giturl.Redact(f.Registration.Workload.Repo)
	}
	return giturl.Redact(f.Repo)
}

// BranchName returns the branch of the versions.
func (f FeedSource) BranchName() string {
	if f.IsRegistration() {
		return f.Registration.Workload.Branch
	}
	return f.Branch
}

type gitTags struct{ repo *git.Repository }

func (t gitTags) list(context.Context) ([]string, error) {
	refs, err := t.repo.Refs(tagPrefix)
	names := make([]string, 0, len(refs))
	for ref := range refs {
		names = append(names, strings.TrimPrefix(ref, tagPrefix))
	}
	return names, err
}

func (t gitTags) resolve(_ context.Context, name string) (Offer, error) {
	o, err := resolveCommit(t.repo, name)
	if err != nil {
		return o, err
	}
	if tagged, err := t.repo.Resolve(tagPrefix + name); err == nil && tagged == o.Commit {
		o.Version, o.Tag = name, name
	} else if err != nil && !errors.Is(err, git.ErrNoRevision) {
		return o, err
	}
	return o, nil
}

func resolveCommit(repo *git.Repository, revision string) (Offer, error) {
	commit, err := repo.Resolve(revision)
	return Offer{Repo: repo, FeedVersion: model.FeedVersion{Version: text.ShortCommit(commit), Commit: commit}}, err
}

// gitBranch is a branch whose head is the newest version. A file or a trailer names the versions of commits, or else their ids do.
type gitBranch struct {
	repo   *git.Repository
	branch string
	feed   *model.Feed
}

// maxNamed bounds the commits of a branch whose versions are looked at.
const maxNamed = 100

func (b gitBranch) list(ctx context.Context) ([]string, error) {
	head, err := b.repo.Branch(b.branch)
	if err != nil || b.feed.VersionFile+b.feed.Trailer == "" {
		return []string{head}, err
	}
	named, err := b.readNames(head)
	return list.Convert(named, func(n namedCommit) string { return n.name }), err
}

// namedCommit is the newest commit of a version.
type namedCommit struct{ name, commit string }

func (b gitBranch) readNames(head string) (all []namedCommit, err error) {
	commits, err := b.repo.FirstParents(head, maxNamed, func(string) bool { return false })
	if err != nil {
		return nil, err
	}
	for _, commit := range commits {
		name, err := b.nameOf(commit)
		if err != nil {
			return nil, err
		}
		if name != "" && !slices.ContainsFunc(all, func(n namedCommit) bool { return n.name == name }) {
			all = append(all, namedCommit{name, commit})
		}
	}
	return all, nil
}

func (b gitBranch) nameOf(commit string) (string, error) {
	if b.feed.VersionFile != "" {
		e, written, err := b.repo.FindEntry(commit, path.Clean("/" + b.feed.VersionFile)[1:])
		if err != nil || !written || e.IsDir() {
			return "", err
		}
		line, _, _ := strings.Cut(string(e.Data), "\n")
		return strings.TrimSpace(line), nil
	}
	info, err := b.repo.Commit(commit)
	if err != nil {
		return "", err
	}
	for _, line := range strings.Split(info.Message, "\n") {
		key, value, isTrailer := strings.Cut(line, ":")
		if isTrailer && strings.EqualFold(key, b.feed.Trailer) {
			return strings.TrimSpace(value), nil
		}
	}
	return "", nil
}

func (b gitBranch) resolve(_ context.Context, revision string) (Offer, error) {
	if b.feed.VersionFile+b.feed.Trailer == "" {
		return resolveCommit(b.repo, revision)
	}
	head, err := b.repo.Branch(b.branch)
	if err != nil {
		return Offer{}, err
	}
	named, err := b.readNames(head)
	if err != nil {
		return Offer{}, err
	}
	for _, n := range named {
		if n.name == revision || strings.HasPrefix(n.commit, revision) && len(revision) >= 7 {
			return Offer{Repo: b.repo, FeedVersion: model.FeedVersion{Version: n.name, Commit: n.commit}}, nil
		}
	}
	return Offer{}, git.ErrNoRevision
}

type registryTags struct {
	registries *registry.Client
	feed       *model.Feed
}

var errNoRegistries = problem.Refusef("run it with the settings of the daemon: --config FILE", "registries are read as the settings say, and there are none")

func (t registryTags) list(ctx context.Context) ([]string, error) {
	if t.registries == nil {
		return nil, errNoRegistries
	}
	tags, err := t.registries.Tags(ctx, t.feed.OCIRepo())
	if t.feed.Source == model.ChartFeed {
		tags = list.Convert(tags, func(tag string) string { return strings.ReplaceAll(tag, "_", "+") })
	}
	return tags, err
}

func (t registryTags) resolve(ctx context.Context, version string) (Offer, error) {
	if t.registries == nil {
		return Offer{}, errNoRegistries
	}
	tag, repo := strings.ReplaceAll(version, "+", "_"), t.feed.OCIRepo() // a tag has no +
	digest, err := t.registries.Digest(ctx, repo, tag, t.feed.Mutable)
	v := model.FeedVersion{Version: version, Digest: digest}
	if t.feed.Source == model.ChartFeed {
		v.Chart = t.feed.Chart
	} else {
		v.Tag, v.Image = tag, repo+":"+tag+"@"+digest
	}
	return Offer{FeedVersion: v}, err
}

type chartVersions struct {
	registries *registry.Client
	feed       *model.Feed
}

func (c chartVersions) list(ctx context.Context) ([]string, error) {
	if c.registries == nil {
		return nil, errNoRegistries
	}
	all, err := c.registries.Charts(ctx, c.feed.Repo, c.feed.Chart)
	return list.Convert(all, func(v registry.Chart) string { return v.Version }), err
}

func (c chartVersions) resolve(ctx context.Context, version string) (Offer, error) {
	if c.registries == nil {
		return Offer{}, errNoRegistries
	}
	all, err := c.registries.Charts(ctx, c.feed.Repo, c.feed.Chart)
	for _, v := range all {
		if v.Version == version {
			found := model.FeedVersion{Version: version, Chart: c.feed.Chart}
			if v.Digest != "" {
				found.Digest = "sha256:" + strings.TrimPrefix(v.Digest, "sha256:")
			}
			return Offer{FeedVersion: found}, err
		}
	}
	return Offer{}, cmp.Or(err, git.ErrNoRevision)
}
