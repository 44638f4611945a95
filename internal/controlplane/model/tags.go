package model

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/fairlead-io/fairlead/internal/base/pattern"
)

// Tags selects and orders the tags that are versions of an application.
type Tags struct {
	Pattern string
	Range   string // "" for all but prereleases
	order   TagOrder
	within  *semver.Constraints
	find    func(tag string) (version string, ok bool)
	strict  bool // semantic versions have three numbers
}

// TagOrder is how the versions in tags are compared.
type TagOrder string

// The orders of tags.
const (
	SemanticOrder     TagOrder = "semver"
	NumericOrder      TagOrder = "numeric"
	AlphabeticalOrder TagOrder = "alphabetical"
)

// NewTags returns the tags that match a pattern of a file path, in semantic order. It returns an error for a pattern or a range that
// cannot be read.
func NewTags(glob, within string) (*Tags, error) {
	if _, err := path.Match(glob, ""); err != nil {
		return nil, fmt.Errorf("the pattern %q: %w", glob, err)
	}
	prefix := glob
	if i := strings.IndexAny(glob, `*?[\0123456789`); i >= 0 {
		prefix = glob[:i]
	}
	t := &Tags{Pattern: glob, order: SemanticOrder, find: func(tag string) (string, bool) {
		if matches, _ := path.Match(glob, tag); !matches {
			return "", false
		}
		return tag[len(prefix):], true
	}}
	return t, t.setRange(within)
}

// NewTagOrder returns the tags that match an expression, which is "" for all, in an order. The version in a tag is the first group
// of the expression.
func NewTagOrder(expression string, order TagOrder, within string) (*Tags, error) {
	t := &Tags{Pattern: expression, order: cmp.Or(order, SemanticOrder), strict: true, find: func(tag string) (string, bool) { return tag, true }}
	if expression != "" {
		p, err := pattern.Compile(expression)
		if err != nil {
			return nil, fmt.Errorf("the expression %q: %w", expression, err)
		}
		t.find = func(tag string) (string, bool) {
			groups := p.FindStringSubmatch(tag)
			if groups == nil {
				return "", false
			}
			return groups[min(1, len(groups)-1)], true
		}
	}
	switch t.order {
	case SemanticOrder:
	case NumericOrder, AlphabeticalOrder:
		if within != "" {
			return nil, fmt.Errorf("a range is of semantic versions, and the order is %s", order)
		}
	default:
		return nil, fmt.Errorf("the order %q is not semver, numeric or alphabetical", order)
	}
	return t, t.setRange(within)
}

func (t *Tags) setRange(within string) (err error) {
	if within == "" {
		return nil
	}
	t.Range = within
	t.within, err = semver.NewConstraint(within)
	if err != nil {
		return fmt.Errorf("the range %q: %w", within, err)
	}
	return nil
}

// tagVersion is the version in a tag.
type tagVersion struct {
	semantic *semver.Version // nil in other orders
	text     string
}

func (v tagVersion) compare(o tagVersion) int {
	if v.semantic != nil && o.semantic != nil {
		return v.semantic.Compare(o.semantic)
	}
	return cmp.Compare(v.text, o.text)
}

// Newest returns the newest of some tags, without those that are left out; "" if none is a version within the range.
func (t *Tags) Newest(tags []string, isLeftOut func(tag string) bool) (newest string) {
	var found tagVersion
	for _, tag := range tags {
		v, ok := t.parse(tag)
		if !ok || !t.takes(v) || isLeftOut != nil && isLeftOut(tag) {
			continue
		}
		order := 1
		if newest != "" {
			order = v.compare(found)
		}
		if order > 0 || order == 0 && tag > newest {
			newest, found = tag, v
		}
	}
	return newest
}

func (t *Tags) takes(v tagVersion) bool {
	switch {
	case v.semantic == nil:
		return true
	case t.within == nil:
		return v.semantic.Prerelease() == ""
	}
	return t.within.Check(v.semantic)
}

// IsNewer reports whether a tag is newer than another one; false for known if that is no version.
func (t *Tags) IsNewer(tag, than string) (newer, known bool) {
	a, isVersion := t.parse(tag)
	b, wasVersion := t.parse(than)
	if !isVersion || !wasVersion {
		return false, false
	}
	return a.compare(b) > 0, true
}

func (t *Tags) parse(tag string) (v tagVersion, ok bool) {
	found, ok := t.find(tag)
	if !ok {
		return v, false
	}
	switch t.order {
	case NumericOrder:
		if found == "" || strings.Trim(found, "0123456789") != "" {
			return v, false
		}
		digits := strings.TrimLeft(found, "0")
		return tagVersion{text: fmt.Sprintf("%03d%s", len(digits), digits)}, true
	case AlphabeticalOrder:
		return tagVersion{text: found}, true
	}
	if t.strict && !hasThreeNumbers(found) {
		return v, false
	}
	parsed, err := semver.NewVersion(found)
	return tagVersion{semantic: parsed}, err == nil
}

// hasThreeNumbers tells 1.4.2 from 1.4, a tag that moves.
func hasThreeNumbers(version string) bool {
	numbers, _, _ := strings.Cut(version, "+")
	numbers, _, _ = strings.Cut(numbers, "-")
	return strings.Count(numbers, ".") == 2
}
