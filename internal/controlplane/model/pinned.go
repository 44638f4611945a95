package model

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
)

// Image is a reference of an image, in parts. Tag or Digest may be "".
type Image struct{ Repo, Tag, Digest string }

// ParseImage reads a reference such as "ghcr.io/shop/cart:1.4.2@sha256:...".
func ParseImage(reference string) (i Image, err error) {
	i.Repo, i.Digest, _ = strings.Cut(reference, "@")
	if at := strings.LastIndex(i.Repo, ":"); at > strings.LastIndex(i.Repo, "/") {
		i.Repo, i.Tag = i.Repo[:at], i.Repo[at+1:]
	}
	switch {
	case i.Repo == "" || strings.ContainsAny(reference, " \t\r\n\"'"):
		return i, errors.New("not a reference of an image")
	case i.Tag == "" && i.Digest == "":
		return i, errors.New("a reference without a tag and a digest")
	case i.Digest != "" && !digestPattern.MatchString(i.Digest):
		return i, errors.New("a digest that is not sha256: or sha512: and hexadecimal digits")
	}
	return i, nil
}

func (i Image) fields(reference string) map[string]string {
	return map[string]string{"repo": i.Repo, "tag": i.Tag, "digest": i.Digest, "image": reference}
}

// TargetVersions is what pins set on a deployment target, apart from its manifests.
type TargetVersions struct {
	Release  string
	Versions map[string]map[string]string // fields, by feed
	Images   map[string]map[string]string // parts, by name
}

// pinnedPart is a version that sets something, and the object that has it.
type pinnedPart struct {
	of      *Object
	feed    string
	release string
	FeedVersion
}

// listPinned returns the versions that set something, by registration: those of pins, and of releases for the feeds without a pin.
func listPinned(p *Progress) map[string][]pinnedPart {
	all, pinned := map[string][]pinnedPart{}, map[string]bool{}
	add := func(part pinnedPart) {
		if !part.IsRead() {
			all[part.Registration] = append(all[part.Registration], part)
		}
	}
	names := map[string]string{}
	for _, r := range p.Releases {
		for feed := range r.Versions {
			names[feed] = r.Name
		}
	}
	for _, pin := range p.Pins {
		pinned[pin.Name] = true
		add(pinnedPart{&pin.Object, pin.Name, names[pin.Name], pin.FeedVersion})
	}
	for _, r := range p.Releases {
		for _, feed := range slices.Sorted(maps.Keys(r.Versions)) {
			if !pinned[feed] {
				add(pinnedPart{&r.Object, feed, r.Name, r.Versions[feed]})
			}
		}
	}
	return all
}

// pinTargets gives the deployment targets of pinned workloads what the versions set. Platform values become configs of the target,
// which come after all others.
func (m *Model) pinTargets(targets []*Target, pins *Progress, problems *problem.List) []*Target {
	all := listPinned(pins)
	if len(all) == 0 {
		return targets
	}
	changed := slices.Clone(targets)
	for i, t := range targets {
		parts := all[t.registration]
		if t.registration == "" || len(parts) == 0 {
			continue
		}
		pinned, by := *t, map[string]string{}
		pinned.Manifests = maps.Clone(t.Manifests)
		pinned.Pinned = &TargetVersions{Versions: map[string]map[string]string{}, Images: map[string]map[string]string{}}
		values := &Config{Object: Object{Kind: ReleaseKind, Name: pinnedConfigs + t.Name, Labels: map[string]string{"deployment-target": t.Name}}, Platform: true}
		for _, part := range parts {
			set := func(what, key string, into map[string]string, value string) {
				if other, isSet := by[what+key]; isSet && other != part.feed {
					problems.Addf(part.of.Pos, part.of.Subject(), "change spec.into of one of the feeds, and promote a new release", "%s and %s both set %s%s of %s", other, part.feed, what, key, t.Name)
				}
				by[what+key] = part.feed
				into[key] = value
			}
			if pinned.Manifests == nil {
				pinned.Manifests = map[string]string{}
			}
			for _, key := range slices.Sorted(maps.Keys(part.Sets.Manifests)) {
				set("manifests.", key, pinned.Manifests, part.Sets.Manifests[key])
			}
			texts := map[string]string{}
			for _, key := range slices.Sorted(maps.Keys(part.Sets.Values)) {
				set("the value ", key, texts, part.Sets.Values[key])
				values.Values = append(values.Values, Value{key, part.Sets.Values[key], part.of.Pos})
			}
			for _, name := range slices.Sorted(maps.Keys(part.Sets.Images)) {
				set("the image ", name, texts, "")
				if image, err := ParseImage(part.Sets.Images[name]); err == nil {
					pinned.Pinned.Images[name] = image.fields(part.Sets.Images[name])
				}
			}
			pinned.Pinned.Versions[part.feed], pinned.Pinned.Release = part.Fields(), part.release
			values.Pos, values.Kind = part.of.Pos, part.of.Kind
		}
		if len(values.Values) > 0 {
			slices.SortStableFunc(values.Values, func(a, b Value) int { return strings.Compare(a.Key, b.Key) })
			m.Configs = append(m.Configs, values)
		}
		changed[i] = &pinned
	}
	slices.SortStableFunc(m.Configs, func(a, b *Config) int { return strings.Compare(a.Name, b.Name) })
	return changed
}

// pinnedConfigs begins the names of configs of pins: they come after all other names.
const pinnedConfigs = "~"
