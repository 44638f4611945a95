package impact

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/tree"
)

// The bounds of an inspection. A report beyond them is less detailed but still correct.
const (
	// maxInspections bounds the changes that are decoded. Large fleets have few
	// different changes.
	maxInspections = 2000
	maxVariants    = 20
	maxExamples    = 5
)

// shape is a change of certain fields to any values. It counts units by value while
// there are few values.
type shape struct {
	all      *group
	variants map[digest]*group // nil if there were too many
}

type group struct {
	result       Group
	found        finding
	last         string
	others       []string
	targets      map[string]bool
	clusterTypes []string
}

func newGroup(unit Unit, f finding) *group {
	return &group{result: Group{Unit: unit}, found: f, targets: map[string]bool{}}
}

func (g *group) isOfStack() bool { return g.result.Unit == Stack || g.result.Unit == Component }

// add counts one more unit. Units arrive in the order of their paths.
func (g *group) add(clusterType, path string) {
	r := &g.result
	fresh := clusterType == "" || r.Count == 0 || clusterType != g.last
	r.Count++
	g.last = clusterType
	if fresh && clusterType != "" {
		if g.isOfStack() {
			r.Stacks++
		} else {
			r.ClusterTypes++
		}
		g.clusterTypes = append(g.clusterTypes, clusterType)
	}
	switch r.Unit {
	case Assignment:
		_, target, _ := strings.Cut(path, "/")
		g.targets[target] = true
	case Component:
		g.targets[path[strings.LastIndex(path, "/")+1:]] = true
	}
	switch {
	case fresh && len(r.Examples) < maxExamples:
		r.Examples = append(r.Examples, path)
	case !fresh && len(g.others) < maxExamples:
		g.others = append(g.others, path)
	}
}

func (g *group) finishGroup(withValues bool) Group {
	r, classes := g.result, g.found.classes
	r.Name, r.Classes, r.Risk = groupName(classes), classes, riskOf(classes)
	r.Details, r.Diff, r.Uncompared = g.found.detailTexts(withValues), g.found.diff, isElsewhere(r.Unit, classes)
	if look := g.found.look; look != nil {
		r.Unread, r.Uncompared = look.unread, r.Uncompared && len(look.unread) > 0
	}
	r.Examples = append(r.Examples, g.others[:min(len(g.others), maxExamples-len(r.Examples))]...)
	return r
}

func (g Group) destroys() bool {
	return slices.Contains(g.Classes, InfrastructureDestroyed) || slices.Contains(g.Classes, DestructionApproved)
}

// wholeGroup returns the group of units whose files are not inspected.
func (s *survey) wholeGroup(unit Unit, what string, classes ...Class) *group {
	key := string(unit) + "\x00" + groupName(classes) + "\x00" + what
	if s.groups[key] == nil {
		f := finding{classes: classes}
		if what != "" {
			f.details = []detail{{what: what}}
		}
		s.groups[key] = newGroup(unit, f)
	}
	return s.groups[key]
}

func (s *survey) recordChange(at location, unit Unit, changes []tree.Change) {
	path := at.path()
	if unit == File {
		path += "/" + changes[0].Path
	}
	fields, values := s.signer.signUnit(at, s.targets[at.target], changes)
	sh := s.shapes[fields]
	if sh == nil {
		if s.inspectionsLeft == 0 {
			s.wholeGroup(unit, "too many different changes to look into all of them", Unclassified).add(at.clusterType, path)
			return
		}
		s.inspectionsLeft--
		first := inspectUnit(at, changes, s.signer.names)
		sh = &shape{all: newGroup(unit, first), variants: map[digest]*group{values: newGroup(unit, first)}}
		s.shapes[fields] = sh
	}
	sh.all.add(at.clusterType, path)
	if g := s.variantGroup(sh, values, at, changes); g != nil {
		g.add(at.clusterType, path)
	}
}

func (s *survey) variantGroup(sh *shape, values digest, at location, changes []tree.Change) *group {
	g := sh.variants[values]
	switch {
	case g != nil || sh.variants == nil:
		return g
	case len(sh.variants) == maxVariants || s.inspectionsLeft == 0:
		sh.variants = nil
		return nil
	}
	s.inspectionsLeft--
	g = newGroup(sh.all.result.Unit, inspectUnit(at, changes, s.signer.names))
	sh.variants[values] = g
	return g
}

func (s *survey) finishGroups() {
	groups, finished := []Group{}, []*group{}
	finish := func(g *group, withValues bool) {
		g.result = g.finishGroup(withValues)
		groups, finished = append(groups, g.result), append(finished, g)
	}
	for _, g := range s.groups {
		finish(g, true)
	}
	for _, sh := range s.shapes {
		if sh.variants == nil {
			finish(sh.all, false)
		}
		for _, g := range sh.variants {
			finish(g, true)
		}
	}
	slices.SortFunc(groups, func(a, b Group) int {
		return cmp.Or(
			cmp.Compare(b.Risk.rank(), a.Risk.rank()),
			list.CompareBools(a.destroys(), b.destroys()),
			cmp.Compare(b.Count, a.Count),
			cmp.Compare(a.Name, b.Name),
			slices.Compare(a.Details, b.Details),
			strings.Compare(a.Examples[0], b.Examples[0]),
		)
	})
	s.report.Groups, s.report.phrases = groups, phraseGroups(finished, s.opt)
}
