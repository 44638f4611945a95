package model

import (
	"fmt"
	"maps"
	"path"
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/base/text"
)

// Feed says that the versions of an application are promoted: the commits of the branch that its registration reads, or tags.
type Feed struct {
	Object
	Workload string // the name of the registration
	Tags     *Tags  // nil for the branch
}

type feedSpec struct {
	Workload string       `yaml:"workload" required:"true"`
	Git      feedGitSpec  `yaml:"git"`
	Range    verbatimText `yaml:"range"`
}

type feedGitSpec struct {
	Tags verbatimText `yaml:"tags"`
}

func readFeed(r *reader, n *yaml.Node, d *decoder) *Feed {
	o, s, _ := readObject[feedSpec](r, n, "Feed", d)
	f := &Feed{Object: o, Workload: s.Workload}
	switch {
	case s.Git.Tags != "":
		var err error
		f.Tags, err = NewTags(string(s.Git.Tags), string(s.Range))
		if err != nil {
			d.problems.Addf(o.Pos, d.subject, `write them as in git: {tags: "v*"} and range: ">=1.4.0 <2"`, "%v", err)
		}
	case s.Range != "":
		d.problems.Addf(o.Pos, d.subject, `write git: {tags: "v*"} too`, "spec.range selects among tags, and spec.git.tags names none")
	}
	return f
}

// ReleaseKind is the kind of a [Release]. The earlier name of [HoldRelease] is the same, without spec.lane.
const ReleaseKind = earlierHoldRelease

// Release is a set of versions that moves along a lane: in a release's own commit, and where an environment has it.
type Release struct {
	Object
	Lane string
	// Commit is that of the release; "" in that commit itself.
	Commit   string
	Versions map[string]FeedVersion // by feed
}

// FeedVersion is one version of an application.
type FeedVersion struct {
	Version string `yaml:"version"`
	Commit  string `yaml:"commit"`
	// Registration is the one that is read at the commit.
	Registration string `yaml:"registration"`
}

type releaseSpec struct {
	Lane     string                 `yaml:"lane" required:"true"`
	Commit   verbatimText           `yaml:"commit"`
	Versions map[string]versionSpec `yaml:"versions" required:"true"`
}

type versionSpec struct {
	Version      verbatimText `yaml:"version" required:"true"`
	Commit       verbatimText `yaml:"commit" required:"true"`
	Registration string       `yaml:"registration" required:"true"`
}

// PinsFolder holds what environments have of releases, in the folder of an environment: a file for each lane.
const PinsFolder = ".fairlead/pins"

// PinsFile returns the file of a lane's pins in the folder of an environment.
func PinsFile(folder, lane string) string { return path.Join(folder, PinsFolder, lane+".yaml") }

func readRelease(r *reader, n *yaml.Node, d *decoder) *Release {
	o, s, _ := readObject[releaseSpec](r, n, ReleaseKind, d)
	release := &Release{Object: o, Lane: s.Lane, Commit: string(s.Commit), Versions: map[string]FeedVersion{}}
	const hint = "copy the file as it was before; fairlead versions lists the releases"
	if s.Commit != "" && !text.IsCommit(release.Commit) {
		d.problems.Addf(o.Pos, d.subject, hint, "spec.commit is %q, which is not the id of a commit", s.Commit)
	}
	pinned := map[string]string{}
	for _, feed := range slices.Sorted(maps.Keys(s.Versions)) {
		v := s.Versions[feed]
		release.Versions[feed] = FeedVersion{string(v.Version), string(v.Commit), v.Registration}
		if !text.IsCommit(string(v.Commit)) {
			d.problems.Addf(o.Pos, d.subject, hint, "the commit of %s is %q, which is not the id of a commit", feed, v.Commit)
		}
		if other := pinned[v.Registration]; other != "" {
			d.problems.Addf(o.Pos, d.subject, hint, "%s and %s are both versions of %s", other, feed, v.Registration)
		}
		pinned[v.Registration] = feed
	}
	return release
}

// EncodeRelease returns the text of a release.
func EncodeRelease(r Release) ([]byte, error) {
	type spec struct {
		Lane     string                 `yaml:"lane"`
		Commit   string                 `yaml:"commit,omitempty"`
		Versions map[string]FeedVersion `yaml:"versions"`
	}
	return EncodeObject(ReleaseKind, r.Name, spec{r.Lane, r.Commit, r.Versions})
}

// DescribeChange returns how a release differs from an earlier one, as "checkout 1a2b3c4 -> 4d5e6f7", sorted by feed; nil for no
// earlier one lists all versions.
func (r Release) DescribeChange(before *Release) (all []string) {
	was := map[string]FeedVersion{}
	if before != nil {
		was = before.Versions
	}
	for _, feed := range slices.Sorted(maps.Keys(r.Versions)) {
		v := r.Versions[feed]
		switch old, had := was[feed]; {
		case !had:
			all = append(all, fmt.Sprintf("%s %s", feed, v.Version))
		case old != v:
			all = append(all, fmt.Sprintf("%s %s -> %s", feed, old.Version, v.Version))
		}
	}
	for _, feed := range slices.Sorted(maps.Keys(was)) {
		if _, has := r.Versions[feed]; !has {
			all = append(all, fmt.Sprintf("%s %s is no longer pinned", feed, was[feed].Version))
		}
	}
	return all
}

// The kinds of [Pin] and [Skip].
const (
	PinKind  = "Pin"
	SkipKind = "Skip"
)

// Pin keeps a version of an application in an environment, whatever release the environment has. Its name is that of the feed.
type Pin struct {
	Object
	FeedVersion
	Reason string
}

type pinSpec struct {
	Version      verbatimText `yaml:"version" required:"true"`
	Commit       verbatimText `yaml:"commit" required:"true"`
	Registration string       `yaml:"registration" required:"true"`
	Reason       string       `yaml:"reason" required:"true"`
}

// PinFile returns the file of a pin in the folder of an environment.
func PinFile(folder, feed string) string { return path.Join(folder, PinnedFolder, feed+".yaml") }

// PinnedFolder holds the pins of an environment.
const PinnedFolder = PinsFolder + "/pinned"

func readPin(r *reader, n *yaml.Node, d *decoder) *Pin {
	o, s, _ := readObject[pinSpec](r, n, PinKind, d)
	if !text.IsCommit(string(s.Commit)) {
		d.problems.Addf(o.Pos, d.subject, "fairlead versions pin writes it", "spec.commit is %q, which is not the id of a commit", s.Commit)
	}
	return &Pin{o, FeedVersion{string(s.Version), string(s.Commit), s.Registration}, s.Reason}
}

// EncodePin returns the text of a pin.
func EncodePin(p Pin) ([]byte, error) {
	type spec struct {
		FeedVersion `yaml:",inline"`
		Reason      string `yaml:"reason"`
	}
	return EncodeObject(PinKind, p.Name, spec{p.FeedVersion, p.Reason})
}

// Skip says that a version of an application is not released again, and that releases with it are not promoted.
type Skip struct {
	Object
	Feed   string
	Commit string
	Reason string
}

type skipSpec struct {
	Feed   string       `yaml:"feed" required:"true"`
	Commit verbatimText `yaml:"commit" required:"true"`
	Reason string       `yaml:"reason" required:"true"`
}

func readSkip(r *reader, n *yaml.Node, d *decoder) *Skip {
	o, s, _ := readObject[skipSpec](r, n, SkipKind, d)
	if !text.IsCommit(string(s.Commit)) {
		d.problems.Addf(o.Pos, d.subject, "fairlead versions skip writes it", "spec.commit is %q, which is not the id of a commit", s.Commit)
	}
	return &Skip{o, s.Feed, string(s.Commit), s.Reason}
}

func readVersionKind(r *reader, n *yaml.Node, kind string, d *decoder) {
	switch p := &r.out.progress; kind {
	case PinKind:
		p.Pins = append(p.Pins, readPin(r, n, d))
	case SkipKind:
		p.Skips = append(p.Skips, readSkip(r, n, d))
	default:
		p.Feeds = append(p.Feeds, readFeed(r, n, d))
	}
}

// FindSkipped returns the first of a release's versions that is skipped, and why; "" if none is.
func (r Release) FindSkipped(all []*Skip) (feed, reason string) {
	for _, feed := range slices.Sorted(maps.Keys(r.Versions)) {
		if skip := FindSkip(all, feed, r.Versions[feed].Commit); skip != nil {
			return feed, skip.Reason
		}
	}
	return "", ""
}

// FindSkip returns what has a version skipped; nil if nothing does.
func FindSkip(all []*Skip, feed, commit string) *Skip {
	i := slices.IndexFunc(all, func(s *Skip) bool { return s.Feed == feed && s.Commit == commit })
	if i < 0 {
		return nil
	}
	return all[i]
}
