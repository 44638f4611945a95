package model

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/base/text"
)

// Feed says where the versions of an application come from.
type Feed struct {
	Object
	Workload string // the name of the registration
	Source   FeedSource
	// Repo is the Git repository, the repository of a registry without a scheme, or the URL of a repository of charts.
	Repo   string
	Branch string // may have [EachEnvironment]
	Chart  string
	// VersionFile and Trailer name the versions of commits; at most one is set.
	VersionFile, Trailer string
	Tags                 *Tags // those that are versions; nil for a branch
	// Mutable has a tag that moves taken for a new version.
	Mutable bool
	Into    Into
}

// FeedSource is what versions are of.
type FeedSource string

// The sources of feeds.
const (
	RegistrationFeed FeedSource = "registration"
	GitRepository    FeedSource = "git"
	ImageFeed        FeedSource = "image"
	ArtifactFeed     FeedSource = "artifact"
	ChartFeed        FeedSource = "chart"
)

// EachEnvironment stands for the name of an environment in the branch of a feed.
const EachEnvironment = "{environment}"

// IsRegistration reports whether the versions are commits of the registration's repository, which is read at them.
func (f *Feed) IsRegistration() bool { return f.Source == RegistrationFeed }

// IsOfEnvironments reports whether each environment has a commit of its own for a version.
func (f *Feed) IsOfEnvironments() bool { return strings.Contains(f.Branch, EachEnvironment) }

// BranchOf returns the branch with the versions of an environment.
func (f *Feed) BranchOf(environment string) string {
	return strings.ReplaceAll(f.Branch, EachEnvironment, environment)
}

// Into names what versions set on the deployment targets of the workload: keys of manifests and platform values, each by a field
// of the version, and an image.
type Into struct {
	Manifests map[string]string `yaml:"manifests"`
	Values    map[string]string `yaml:"values"`
	Images    string            `yaml:"images"`
}

type feedSpec struct {
	Workload string           `yaml:"workload" required:"true"`
	Git      feedGitSpec      `yaml:"git"`
	Image    feedRegistrySpec `yaml:"image"`
	Artifact feedRegistrySpec `yaml:"artifact"`
	Chart    feedChartSpec    `yaml:"chart"`
	Range    verbatimText     `yaml:"range"`
	Mutable  bool             `yaml:"mutable"`
	Into     Into             `yaml:"into"`
}

type feedGitSpec struct {
	Repo    string       `yaml:"repo"`
	Branch  verbatimText `yaml:"branch"`
	Tags    verbatimText `yaml:"tags"`
	Version struct {
		File    string `yaml:"file"`
		Trailer string `yaml:"trailer"`
	} `yaml:"version"`
}

type feedRegistrySpec struct {
	Repo  string `yaml:"repo"`
	Tags  string `yaml:"tags"`
	Order string `yaml:"order"`
}

type feedChartSpec struct {
	Repo string `yaml:"repo"`
	Name string `yaml:"name"`
}

func readFeed(r *reader, n *yaml.Node, d *decoder) *Feed {
	o, s, _ := readObject[feedSpec](r, n, "Feed", d)
	f := &Feed{Object: o, Workload: s.Workload, Mutable: s.Mutable, Into: s.Into, Source: RegistrationFeed}
	refuse := func(hint, format string, args ...any) { d.problems.Addf(o.Pos, d.subject, hint, format, args...) }
	var sources []string
	if s.Git.Repo != "" {
		f.Source, sources = GitRepository, append(sources, "git.repo")
	}
	for source, registry := range map[FeedSource]feedRegistrySpec{ImageFeed: s.Image, ArtifactFeed: s.Artifact} {
		if registry != (feedRegistrySpec{}) {
			f.Source, sources = source, append(sources, string(source))
		}
	}
	if s.Chart != (feedChartSpec{}) {
		f.Source, sources = ChartFeed, append(sources, "chart")
	}
	slices.Sort(sources)
	if len(sources) > 1 {
		refuse("write one object of kind Feed for each", "a feed has one source, and spec has %s", text.Join(sources, " and "))
		return f
	}
	switch f.Source {
	case ImageFeed:
		f.readRegistry(s.Image, s.Range, refuse)
	case ArtifactFeed:
		f.readRegistry(s.Artifact, s.Range, refuse)
	case ChartFeed:
		f.readChart(s.Chart, s.Range, refuse)
	default:
		f.readGit(s.Git, s.Range, refuse)
	}
	switch {
	case f.IsRegistration() && !f.Into.isEmpty():
		refuse("remove spec.into, or name another repository in spec.git.repo", "versions of the registration's own repository set nothing: the repository is read at them")
	case !f.IsRegistration() && f.Into.isEmpty():
		refuse("write what versions set, as in into: {manifests: {commit: commit}}", "spec.into is missing, so that versions have no effect")
	}
	for _, fields := range []map[string]string{f.Into.Manifests, f.Into.Values} {
		for _, key := range slices.Sorted(maps.Keys(fields)) {
			known := f.fields()
			if !f.IsRegistration() && !slices.Contains(known, fields[key]) {
				refuse("the fields are "+text.Join(known, " and "), "spec.into sets %s to the field %q, which versions of this feed do not have", key, fields[key])
			}
		}
	}
	if f.Into.Images != "" && f.Source != ImageFeed {
		refuse("write spec.image, or spec.into.manifests", "spec.into.images is for feeds of images")
	}
	return f
}

func (f *Feed) readGit(s feedGitSpec, within verbatimText, refuse func(hint, format string, args ...any)) {
	f.Repo, f.Branch, f.VersionFile, f.Trailer = s.Repo, string(s.Branch), s.Version.File, s.Version.Trailer
	const example = `write them as in git: {tags: "v*"} and range: ">=1.4.0 <2"`
	var err error
	switch {
	case s.Tags != "":
		f.Tags, err = NewTags(string(s.Tags), string(within))
	case within != "" && f.VersionFile+f.Trailer == "" && f.IsOfEnvironments():
		refuse("write spec.git.version, which names the versions of commits", "spec.range is of versions, and commits of %s have no name", f.Branch)
	case within != "" && f.VersionFile+f.Trailer == "":
		refuse(`write git: {tags: "v*"} too`, "spec.range selects among tags, and spec.git.tags names none")
	case within != "":
		f.Tags, err = NewTags("*", string(within))
	}
	if err != nil {
		refuse(example, "%v", err)
	}
	switch {
	case f.IsRegistration() && (s.Branch != "" || f.VersionFile+f.Trailer != ""):
		refuse("write spec.git.repo too", "spec.git.branch and spec.git.version are of spec.git.repo, which is missing")
	case f.Source == GitRepository && (s.Branch == "") == (s.Tags == ""):
		refuse(`write git: {repo: URL, branch: main} or git: {repo: URL, tags: "v*"}`, "spec.git names either a branch or tags of its repository")
	case f.VersionFile != "" && f.Trailer != "", f.VersionFile+f.Trailer != "" && s.Tags != "":
		refuse("keep one of them", "versions are named by a file, by a trailer or by tags")
	case f.IsOfEnvironments() && f.VersionFile+f.Trailer == "":
		refuse("write version: {trailer: App-Version} or version: {file: VERSION} into spec.git", "nothing tells which commits of the branches %s are the same version", f.Branch)
	}
}

func (f *Feed) readRegistry(s feedRegistrySpec, within verbatimText, refuse func(hint, format string, args ...any)) {
	f.Repo = strings.TrimPrefix(s.Repo, "oci://")
	if f.Repo == "" || strings.ContainsAny(strings.ReplaceAll(f.Repo, "://", "@"), "@ ") {
		refuse("write it as ghcr.io/shop/cart", "spec.%s.repo is not a repository of a registry", f.Source)
	}
	var err error
	f.Tags, err = NewTagOrder(s.Tags, TagOrder(s.Order), string(within))
	if err != nil {
		refuse(`write them as in tags: "^v(.*)$", order: semver and range: ">=1.4.0 <2"`, "%v", err)
	}
}

func (f *Feed) readChart(s feedChartSpec, within verbatimText, refuse func(hint, format string, args ...any)) {
	f.Repo, f.Chart = s.Repo, s.Name
	u, err := url.Parse(s.Repo)
	if err != nil || u.Host == "" || u.User != nil || !slices.Contains([]string{"http", "https", "oci"}, u.Scheme) {
		refuse("write it as https://charts.example.com or oci://ghcr.io/shop/charts", "spec.chart.repo is not the URL of a repository of charts, without a password")
	}
	if s.Name == "" {
		refuse("", "spec.chart.name is missing")
	}
	f.Tags, err = NewTagOrder("", SemanticOrder, string(within))
	if err != nil {
		refuse(`write it as in range: ">=1.4.0 <2"`, "%v", err)
	}
}

// OCIRepo returns the repository of a registry that has the versions; "" if they are not in a registry.
func (f *Feed) OCIRepo() string {
	repo, isOCI := strings.CutPrefix(f.Repo, "oci://")
	switch {
	case f.Source == ImageFeed || f.Source == ArtifactFeed:
		return f.Repo
	case f.Source == ChartFeed && isOCI:
		return strings.TrimSuffix(repo, "/") + "/" + f.Chart
	}
	return ""
}

func (f *Feed) fields() []string {
	switch f.Source {
	case ImageFeed, ArtifactFeed:
		return []string{"version", "tag", "digest", "image"}
	case ChartFeed:
		return []string{"version", "digest", "chart"}
	}
	if f.Tags != nil && f.Branch == "" {
		return []string{"version", "tag", "commit"}
	}
	return []string{"version", "commit"}
}

func (i Into) isEmpty() bool { return len(i.Manifests)+len(i.Values) == 0 && i.Images == "" }

// Conflict returns what two feeds of one workload both set; "" for nothing.
func (i Into) Conflict(o Into) string {
	for _, key := range slices.Sorted(maps.Keys(i.Manifests)) {
		if _, has := o.Manifests[key]; has {
			return "manifests." + key
		}
	}
	for _, key := range slices.Sorted(maps.Keys(i.Values)) {
		if _, has := o.Values[key]; has {
			return "the value " + key
		}
	}
	if i.Images != "" && i.Images == o.Images {
		return "the image " + i.Images
	}
	return ""
}

// FeedVersion is one version of an application, and what it sets.
type FeedVersion struct {
	Version string `yaml:"version"`
	Tag     string `yaml:"tag,omitempty"`
	Commit  string `yaml:"commit,omitempty"`
	Digest  string `yaml:"digest,omitempty"`
	// Image is the whole reference, as in "ghcr.io/shop/cart:1.4.2@sha256:...".
	Image string `yaml:"image,omitempty"`
	Chart string `yaml:"chart,omitempty"`
	// Registration has the workload. It is read at Commit if the version sets nothing.
	Registration string `yaml:"registration"`
	Sets         Sets   `yaml:"sets,omitempty"`
}

// Fields returns the fields as templates know them.
func (v FeedVersion) Fields() map[string]string {
	return map[string]string{"version": v.Version, "tag": v.Tag, "commit": v.Commit, "digest": v.Digest, "image": v.Image, "chart": v.Chart}
}

// IsHadAs reports whether an environment with the other version has the version of a release.
func (v FeedVersion) IsHadAs(o FeedVersion) bool {
	return v.IsSame(o) || (v.IsOpen() || o.IsOpen()) && v.Version == o.Version && v.Registration == o.Registration
}

// IsPinnedAs reports whether pins have the versions of a release.
func IsPinnedAs(released, pinned map[string]FeedVersion) bool {
	return maps.EqualFunc(released, pinned, func(v, p FeedVersion) bool { return v.IsHadAs(p) && (v.IsOpen() || v.Sets.Equal(p.Sets)) })
}

// Sets is what a version sets on the deployment targets of its workload.
type Sets struct {
	Manifests map[string]string `yaml:"manifests,omitempty"`
	Values    map[string]string `yaml:"values,omitempty"`
	Images    map[string]string `yaml:"images,omitempty"`
}

// IsRead reports whether the registration is read at the version's commit.
func (v FeedVersion) IsRead() bool { return v.Commit != "" && v.Sets.isEmpty() }

// IsOpen reports whether each environment gets a commit of its own for the version, when it gets the release.
func (v FeedVersion) IsOpen() bool { return v.Commit == "" && v.Sets.isEmpty() }

func (s Sets) isEmpty() bool { return len(s.Manifests)+len(s.Values)+len(s.Images) == 0 }

// Equal reports whether both set the same.
func (s Sets) Equal(o Sets) bool {
	return maps.Equal(s.Manifests, o.Manifests) && maps.Equal(s.Values, o.Values) && maps.Equal(s.Images, o.Images)
}

// Equal reports whether two versions are and set the same.
func (v FeedVersion) Equal(o FeedVersion) bool { return v.IsSame(o) && v.Sets.Equal(o.Sets) }

// IsSame reports whether two versions are the same, whatever they set.
func (v FeedVersion) IsSame(o FeedVersion) bool {
	return maps.Equal(v.Fields(), o.Fields()) && v.Registration == o.Registration
}

// EqualVersions reports whether two releases have the same versions.
func EqualVersions(a, b map[string]FeedVersion) bool {
	return maps.EqualFunc(a, b, FeedVersion.Equal)
}

// With returns the version with what it sets. The error names a field that it does not have.
func (v FeedVersion) With(into Into) (FeedVersion, error) {
	fields := v.Fields()
	fill := func(keys map[string]string) (map[string]string, error) {
		var filled map[string]string
		for key, field := range keys {
			if fields[field] == "" {
				return nil, fmt.Errorf("it has no %s, which spec.into names", field)
			}
			if filled == nil {
				filled = map[string]string{}
			}
			filled[key] = fields[field]
		}
		return filled, nil
	}
	var err error
	v.Sets.Manifests, err = fill(into.Manifests)
	if err == nil {
		v.Sets.Values, err = fill(into.Values)
	}
	if err == nil && into.Images != "" {
		v.Sets.Images, err = fill(map[string]string{into.Images: "image"})
	}
	return v, err
}
