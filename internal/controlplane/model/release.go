package model

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
)

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

type releaseSpec struct {
	Lane     string                 `yaml:"lane" required:"true"`
	Commit   verbatimText           `yaml:"commit"`
	Versions map[string]versionSpec `yaml:"versions" required:"true"`
}

type versionSpec struct {
	Version      verbatimText `yaml:"version" required:"true"`
	Tag          verbatimText `yaml:"tag"`
	Commit       verbatimText `yaml:"commit"`
	Digest       verbatimText `yaml:"digest"`
	Image        string       `yaml:"image"`
	Chart        string       `yaml:"chart"`
	Registration string       `yaml:"registration" required:"true"`
	Sets         setsSpec     `yaml:"sets"`
}

type setsSpec struct {
	Manifests map[string]verbatimText `yaml:"manifests"`
	Values    map[string]verbatimText `yaml:"values"`
	Images    map[string]verbatimText `yaml:"images"`
}

func (s versionSpec) asVersion(d *decoder, at problem.Pos, hint, feed string) FeedVersion {
	v := FeedVersion{
		Version: string(s.Version), Tag: string(s.Tag), Commit: string(s.Commit), Digest: string(s.Digest), Image: s.Image, Chart: s.Chart, Registration: s.Registration,
		Sets: Sets{asTexts(s.Sets.Manifests), asTexts(s.Sets.Values), asTexts(s.Sets.Images)},
	}
	if v.Commit != "" && !text.IsCommit(v.Commit) {
		d.problems.Addf(at, d.subject, hint, "the commit of %s is %q, which is not the id of a commit", feed, v.Commit)
	}
	if v.Digest != "" && !digestPattern.MatchString(v.Digest) {
		d.problems.Addf(at, d.subject, hint, "the digest of %s is %q, which is not sha256: or sha512: and hexadecimal digits", feed, v.Digest)
	}
	for _, name := range slices.Sorted(maps.Keys(v.Sets.Images)) {
		if _, err := ParseImage(v.Sets.Images[name]); err != nil {
			d.problems.Addf(at, d.subject, hint, "the image %s of %s: %v", name, feed, err)
		}
	}
	return v
}

var digestPattern = regexp.MustCompile(`^(sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})$`)

func asTexts(m map[string]verbatimText) map[string]string {
	if m == nil {
		return nil
	}
	all := make(map[string]string, len(m))
	for key, value := range m {
		all[key] = string(value)
	}
	return all
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
		v := s.Versions[feed].asVersion(d, o.Pos, hint, feed)
		release.Versions[feed] = v
		if !v.IsRead() {
			continue
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
		case old.Version != v.Version || old.Digest != v.Digest:
			all = append(all, fmt.Sprintf("%s %s -> %s", feed, describeVersion(old, v), describeVersion(v, old)))
		case !old.Equal(v):
			all = append(all, fmt.Sprintf("%s %s sets something else", feed, v.Version))
		}
	}
	for _, feed := range slices.Sorted(maps.Keys(was)) {
		if _, has := r.Versions[feed]; !has {
			all = append(all, fmt.Sprintf("%s %s is no longer pinned", feed, was[feed].Version))
		}
	}
	return all
}

func describeVersion(v, other FeedVersion) string {
	if v.Version == other.Version {
		return v.Version + "@" + v.Digest[:min(len(v.Digest), len("sha256:")+7)]
	}
	return v.Version
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
	versionSpec
	Reason string `yaml:"reason" required:"true"`
}

// PinFile returns the file of a pin in the folder of an environment.
func PinFile(folder, feed string) string { return path.Join(folder, PinnedFolder, feed+".yaml") }

// PinnedFolder holds the pins of an environment.
const PinnedFolder = PinsFolder + "/pinned"

func readPin(r *reader, n *yaml.Node, d *decoder) *Pin {
	o, s, _ := readObject[pinSpec](r, n, PinKind, d)
	return &Pin{o, s.asVersion(d, o.Pos, "fairlead versions pin writes it", o.Name), s.Reason}
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
	Feed string
	// Commit or Version tells which; the other one is "".
	Commit, Version string
	Reason          string
}

type skipSpec struct {
	Feed    string       `yaml:"feed" required:"true"`
	Commit  verbatimText `yaml:"commit"`
	Version verbatimText `yaml:"version"`
	Reason  string       `yaml:"reason" required:"true"`
}

func readSkip(r *reader, n *yaml.Node, d *decoder) *Skip {
	o, s, _ := readObject[skipSpec](r, n, SkipKind, d)
	const hint = "fairlead versions skip writes it"
	if (s.Commit == "") == (s.Version == "") {
		d.problems.Addf(o.Pos, d.subject, hint, "a Skip names either a commit or a version")
	} else if s.Commit != "" && !text.IsCommit(string(s.Commit)) {
		d.problems.Addf(o.Pos, d.subject, hint, "spec.commit is %q, which is not the id of a commit", s.Commit)
	}
	return &Skip{o, s.Feed, string(s.Commit), string(s.Version), s.Reason}
}

// NewSkip returns what has a version skipped: commits of a repository by their ids, and others by their names.
func NewSkip(feed string, v FeedVersion, reason string) Skip {
	if v.Commit != "" {
		return Skip{Feed: feed, Commit: v.Commit, Reason: reason}
	}
	return Skip{Feed: feed, Version: v.Version, Reason: reason}
}

// EncodeSkip returns the text of a skip.
func EncodeSkip(s Skip) ([]byte, error) {
	type spec struct {
		Feed    string `yaml:"feed"`
		Commit  string `yaml:"commit,omitempty"`
		Version string `yaml:"version,omitempty"`
		Reason  string `yaml:"reason"`
	}
	return EncodeObject(SkipKind, s.Name, spec{s.Feed, s.Commit, s.Version, s.Reason})
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

// readPinned reads an object of a layer of pins. Its mistakes are reported where the folder is read as a part of the environment.
func readPinned(r *reader, n *yaml.Node, h header, d *decoder) {
	p := &r.out.pins
	d.problems = &p.Problems
	switch {
	case h.apiVersion == OwnAPIVersion && h.kind == PinKind:
		p.Pins = append(p.Pins, readPin(r, n, d))
	case h.apiVersion == OwnAPIVersion && h.kind == ReleaseKind:
		p.Releases = append(p.Releases, readRelease(r, n, d))
	default:
		r.out.countIgnored(h.apiVersion+" "+h.kind, 1)
	}
}

// FindSkipped returns the first of a release's versions that is skipped, and why; "" if none is.
func (r Release) FindSkipped(all []*Skip) (feed, reason string) {
	for _, feed := range slices.Sorted(maps.Keys(r.Versions)) {
		if skip := FindSkip(all, feed, r.Versions[feed]); skip != nil {
			return feed, skip.Reason
		}
	}
	return "", ""
}

// FindSkip returns what has a version skipped; nil if nothing does.
func FindSkip(all []*Skip, feed string, v FeedVersion) *Skip {
	i := slices.IndexFunc(all, func(s *Skip) bool {
		return s.Feed == feed && (s.Commit != "" && s.Commit == v.Commit || s.Version != "" && s.Version == v.Version)
	})
	if i < 0 {
		return nil
	}
	return all[i]
}
