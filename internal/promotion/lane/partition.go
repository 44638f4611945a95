// Package lane decides which parts of a base could be promoted by themselves.
//
// A lane is a part of the base's files. What no lane has is the platform. What the package keeps
// true:
//   - Lanes are disjoint: a file belongs to one lane, or to the platform.
//   - The versions of a lane are commits of the base's branch that change its files. The base of an
//     environment is composed of files that commits of the branch have; no commit is made for it.
//   - When all lanes have the head of the branch, the composed base is the base at the head.
//   - A lane moves only if that changes no object of another lane, and none of its own that was
//     not verified as it will be. Both are found out by rendering, and by comparing trees.
package lane

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/tree"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
)

// Platform is what no lane has.
const Platform = model.PlatformLane

// Partition is the lanes that files of the base belong to. The zero value has none.
type Partition struct {
	patterns []pattern
	key      string
}

type pattern struct {
	lane    string // "" if each match is a lane
	text    string
	parts   []string
	deeper  bool // it matches what is below its parts, and not that itself
	written problem.Pos
}

// NewPartition returns the partition that lanes define.
func NewPartition(lanes model.Lanes) Partition {
	var p Partition
	add := func(lane, text string, pos problem.Pos) {
		parts := strings.Split(text, "/")
		deeper := parts[len(parts)-1] == "**"
		if deeper {
			parts = parts[:len(parts)-1]
		}
		p.patterns = append(p.patterns, pattern{lane, text, parts, deeper, pos})
		p.key += lane + "\x00" + text + "\n"
	}
	if lanes.Each != "" {
		add("", lanes.Each, lanes.Pos)
	}
	for _, l := range lanes.Named {
		for _, text := range l.Paths {
			add(l.Name, text, l.Pos)
		}
	}
	return p
}

// Key returns a text that no other partition has.
func (p Partition) Key() string { return p.key }

// Defines reports whether some lanes have the paths here that they have in another definition.
func (p Partition) Defines(other model.Lanes, lanes []string) bool {
	paths := func(p Partition, lane string) (found []string) {
		for i := range p.patterns {
			if m := &p.patterns[i]; m.lane == lane || m.lane == "" {
				found = append(found, m.text)
			}
		}
		return found
	}
	o := NewPartition(other)
	return !slices.ContainsFunc(lanes, func(lane string) bool { return !slices.Equal(paths(p, lane), paths(o, lane)) })
}

// FindLane returns the lane that a file or a folder belongs to, with all that is in it. Of a folder, Platform
// means that it does not belong to one lane as a whole.
func (p Partition) FindLane(file string) string {
	parts := strings.Split(file, "/")
	for i := range p.patterns {
		if lane := p.patterns[i].findLane(parts); lane != Platform {
			return lane
		}
	}
	return Platform
}

func (m *pattern) findLane(parts []string) string {
	n := len(m.parts)
	switch {
	case len(parts) < n || m.deeper && len(parts) == n || !matchParts(m.parts, parts[:n]):
		return Platform
	case m.lane != "":
		return m.lane
	}
	return nameLane(parts[n-1])
}

// nameLane returns the lane that a file or a folder makes: its name, without the ending of a YAML file. Hidden and Markdown
// files belong to the platform, and so do kustomizations, which list files of all.
func nameLane(name string) string {
	base := strings.TrimSuffix(strings.TrimSuffix(name, ".yaml"), ".yml")
	if strings.HasPrefix(name, ".") || strings.HasSuffix(name, ".md") || strings.EqualFold(base, "kustomization") {
		return Platform
	}
	return base
}

func matchParts(patterns, parts []string) bool {
	for i, one := range patterns {
		if is, err := path.Match(one, parts[i]); !is || err != nil {
			return false
		}
	}
	return true
}

func (p Partition) mayHold(folder string) bool {
	if folder == "" {
		return true
	}
	parts := strings.Split(folder, "/")
	return slices.ContainsFunc(p.patterns, func(m pattern) bool {
		return (len(parts) < len(m.parts) || m.deeper && len(parts) == len(m.parts)) && matchParts(m.parts[:len(parts)], parts)
	})
}

// ListLanes returns the lanes that have files in a tree, sorted.
func (p Partition) ListLanes(files tree.Tree) []string {
	all := p.ChangedLanes(tree.Tree{}, files, nil)
	return slices.DeleteFunc(all, func(lane string) bool { return lane == Platform })
}

// ChangedLanes returns the lanes whose files differ between two trees, sorted; Platform is among them if other files do.
// What is in some places, files or folders, is not compared.
func (p Partition) ChangedLanes(before, after tree.Tree, except []string) []string {
	found := map[string]bool{}
	p.addChanged("", before, after, except, found)
	return slices.Sorted(maps.Keys(found))
}

func (p Partition) addChanged(folder string, before, after tree.Tree, except []string, found map[string]bool) {
	for old, fresh := range tree.ZipChanged(before, after) {
		at := path.Join(folder, max(old.Name, fresh.Name))
		if slices.Contains(except, at) {
			continue
		}
		lane := p.FindLane(at)
		holds := p.mayHold(at) || slices.ContainsFunc(except, func(place string) bool { return strings.HasPrefix(place, at+"/") })
		if lane != Platform || !holds || !old.IsDir() && !fresh.IsDir() {
			found[lane] = true
			continue
		}
		if old.Name != "" && !old.IsDir() || fresh.Name != "" && !fresh.IsDir() { // a file became a folder, or the reverse
			found[Platform] = true
		}
		p.addChanged(at, old.Tree(), fresh.Tree(), except, found)
	}
}

// ConflictError is the error of lanes that do not fit into one tree.
type ConflictError struct{ Path string }

// Error returns which path does not fit.
func (e *ConflictError) Error() string {
	return e.Path + " is a file in the platform and a folder in a lane"
}

// Compose returns the tree of the platform with the files of each given lane as that lane's tree has them.
// Other lanes are as the platform's tree has them.
func (p Partition) Compose(platform tree.Tree, lanes map[string]tree.Tree) (tree.Tree, error) {
	if len(lanes) == 0 {
		return platform, nil
	}
	return p.compose("", platform, lanes)
}

func (p Partition) compose(folder string, platform tree.Tree, lanes map[string]tree.Tree) (tree.Tree, error) {
	if !p.mayHold(folder) {
		return platform, nil
	}
	entries := map[string]tree.Entry{}
	for _, e := range platform.Entries() {
		if lane := p.FindLane(path.Join(folder, e.Name)); lane == Platform || !has(lanes, lane) {
			entries[e.Name] = e
		}
	}
	inside := map[string]map[string]tree.Tree{} // by folder, those of lanes
	for _, lane := range slices.Sorted(maps.Keys(lanes)) {
		for _, e := range lanes[lane].Entries() {
			at := path.Join(folder, e.Name)
			owner := p.FindLane(at)
			switch {
			case owner == lane:
				entries[e.Name] = e
			case owner == Platform && p.mayHold(at):
				if inside[e.Name] == nil {
					inside[e.Name] = map[string]tree.Tree{}
				}
				inside[e.Name][lane] = e.Tree()
			}
		}
	}
	for _, e := range platform.Entries() { // its files of a lane that has none there are left out
		if at := path.Join(folder, e.Name); inside[e.Name] == nil && e.IsDir() && p.FindLane(at) == Platform && p.mayHold(at) {
			inside[e.Name] = map[string]tree.Tree{}
		}
	}
	for name, parts := range inside {
		at := path.Join(folder, name)
		e, there := entries[name]
		for lane := range lanes {
			if !has(parts, lane) {
				parts[lane] = tree.Tree{}
			}
		}
		composed, err := p.compose(at, e.Tree(), parts)
		switch {
		case err != nil:
			return tree.Tree{}, err
		case there && !e.IsDir() && composed.IsEmpty():
		case there && !e.IsDir():
			return tree.Tree{}, &ConflictError{at}
		default:
			entries[name] = tree.Dir(name, composed)
		}
	}
	return tree.FromEntries(slices.Collect(maps.Values(entries))), nil
}

func has[T any](m map[string]T, key string) bool {
	_, ok := m[key]
	return ok
}
