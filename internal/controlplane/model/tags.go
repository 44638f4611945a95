package model

import (
	"fmt"
	"path"
	"strings"

	"github.com/Masterminds/semver/v3"
)

// Tags selects and orders the tags that are versions of an application: by semantic versioning.
type Tags struct {
	Pattern string
	Range   string // "" for all but prereleases
	prefix  string // of the version in a tag
	within  *semver.Constraints
}

// NewTags returns an error for a pattern or a range that cannot be read.
func NewTags(pattern, within string) (*Tags, error) {
	t := &Tags{Pattern: pattern, Range: within}
	if _, err := path.Match(pattern, ""); err != nil {
		return nil, fmt.Errorf("the pattern %q: %w", pattern, err)
	}
	t.prefix = pattern
	if i := strings.IndexAny(pattern, `*?[\0123456789`); i >= 0 {
		t.prefix = pattern[:i]
	}
	if within == "" {
		return t, nil
	}
	var err error
	t.within, err = semver.NewConstraint(within)
	if err != nil {
		return nil, fmt.Errorf("the range %q: %w", within, err)
	}
	return t, nil
}

// Newest returns the newest of some tags; "" if none is a version within the range.
func (t *Tags) Newest(tags []string) (newest string) {
	var found *semver.Version
	for _, tag := range tags {
		v := t.parse(tag)
		if v == nil || t.within == nil && v.Prerelease() != "" || t.within != nil && !t.within.Check(v) {
			continue
		}
		if order := v.Compare(orZero(found)); found == nil || order > 0 || order == 0 && tag > newest {
			newest, found = tag, v
		}
	}
	return newest
}

func orZero(v *semver.Version) *semver.Version {
	if v == nil {
		return &semver.Version{}
	}
	return v
}

// IsNewer reports whether a tag is newer than another one; false for known if that is no version.
func (t *Tags) IsNewer(tag, than string) (newer, known bool) {
	a, b := t.parse(tag), t.parse(than)
	if a == nil || b == nil {
		return false, false
	}
	return a.GreaterThan(b), true
}

func (t *Tags) parse(tag string) *semver.Version {
	if matches, _ := path.Match(t.Pattern, tag); !matches {
		return nil
	}
	v, err := semver.NewVersion(tag[len(t.prefix):])
	if err != nil {
		return nil
	}
	return v
}
