package impact

import (
	"cmp"
	"slices"

	"github.com/fairlead-io/fairlead/internal/base/list"
)

type phraseKey struct {
	rank  int
	stack bool
	row   int // row of the class in the table of rules; 0 where classes share a phrase
}

const (
	rankDestroyed = iota // cannot be restored
	rankTypesRemoved
	rankAssignmentsRemoved
	rankDeletes
	rankUnknown
	rankTypesAdded
	rankAssignmentsAdded
	rankUpdates
	rankOthers
	rankFiles
)

type phrases struct {
	opt   Options
	found map[phraseKey]*phrase
}

func phraseGroups(groups []*group, opt Options) []phrase {
	b := phrases{opt: opt, found: map[phraseKey]*phrase{}}
	whole := map[string]bool{} // cluster types that are added or removed
	for _, g := range groups {
		if g.result.Unit == ClusterType || g.result.Unit == Stack && (slices.Contains(g.result.Classes, StackAdded) || slices.Contains(g.result.Classes, StackRemoved)) {
			for _, name := range g.clusterTypes {
				whole[name] = true
			}
		}
	}
	for _, g := range groups {
		if !g.found.titled {
			b.addGroup(g, whole)
		}
	}
	keys := make([]phraseKey, 0, len(b.found))
	for key := range b.found {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b phraseKey) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), list.CompareBools(b.stack, a.stack), cmp.Compare(a.row, b.row))
	})
	all := make([]phrase, 0, len(keys))
	for _, key := range keys {
		p := b.found[key]
		slices.SortFunc(p.objects, func(a, b *object) int { return cmp.Compare(classRow(a.class), classRow(b.class)) })
		p.nameOperation()
		all = append(all, *p)
	}
	return all
}

// addGroup adds the phrases of a group. whole has the added and removed cluster types,
// which imply their assignments.
func (b phrases) addGroup(g *group, whole map[string]bool) {
	classes := g.result.Classes
	has := func(c Class) bool { return slices.Contains(classes, c) }
	withType := !slices.ContainsFunc(g.clusterTypes, func(name string) bool { return !whole[name] })
	switch {
	case has(InfrastructureDestroyed) && (has(AssignmentRemoved) || has(AssignmentMoved)):
		b.add(g, phrase{verb: "DESTROY", deletes: true, form: assignmentsChange}, rankDestroyed, -1)
	case has(ClusterTypeRemoved) || has(AssignmentRemoved) && withType:
		b.add(g, phrase{verb: "REMOVE", deletes: true, form: clusterTypeChange}, rankTypesRemoved, 0)
	case has(AssignmentMoved):
		b.add(g, phrase{verb: "MOVE", deletes: true, form: assignmentsChange}, rankAssignmentsRemoved, 1)
	case has(AssignmentRemoved):
		b.add(g, phrase{verb: "REMOVE", deletes: true, form: assignmentsChange}, rankAssignmentsRemoved, 0)
	case has(ClusterTypeAdded) || has(AssignmentAdded) && withType:
		b.add(g, phrase{verb: "add", form: clusterTypeChange}, rankTypesAdded, 0)
	case has(AssignmentAdded):
		b.add(g, phrase{verb: "add", form: assignmentsChange}, rankAssignmentsAdded, 0)
	case has(StackRemoved) && g.result.Risk == "", has(ComponentClearedClass) && withType:
		b.add(g, phrase{verb: "remove", form: clusterTypeChange}, rankOthers, 0)
	case has(ComponentClearedClass):
		b.add(g, phrase{verb: "remove", form: assignmentsChange}, rankOthers, 1)
	case has(ComponentRemovedClass):
		b.add(g, phrase{verb: "REMOVE", deletes: true, form: assignmentsChange}, rankAssignmentsRemoved, 0)
	case has(StackAdded) || has(ComponentAddedClass) && withType:
		b.add(g, phrase{verb: "add", form: clusterTypeChange}, rankTypesAdded, 0)
	case has(ComponentAddedClass):
		b.add(g, phrase{verb: "add", form: assignmentsChange}, rankAssignmentsAdded, 0)
	case has(PromotedCommit):
		b.addFiles(g, noun{name: "the promoted commit", plural: true})
	case has(Bookkeeping):
		b.addFiles(g, noun{name: "record", numbered: true})
	case has(ClusterFiles):
		b.addFiles(g, noun{name: "files of clusters", plural: true})
	case has(OtherFiles):
		b.addFiles(g, noun{name: "other file", numbered: true})
	default:
		for _, c := range classes {
			b.addObjects(g, c)
		}
	}
}

func (b phrases) add(g *group, p phrase, rank, row int) *phrase {
	key := phraseKey{rank: rank, row: row, stack: g.isOfStack()}
	if b.found[key] == nil {
		b.found[key] = &p
	}
	b.found[key].scope.addGroup(g, b.opt)
	return b.found[key]
}

func (b phrases) addFiles(g *group, n noun) {
	c := g.result.Classes[0]
	b.add(g, phrase{verb: "update", form: filesChange}, rankFiles, classRow(c)).object(c, n).files += g.result.Count
}

func (b phrases) addObjects(g *group, c Class) {
	n, risk := nouns[c], riskOf([]Class{c})
	p, rank, row := phrase{verb: cmp.Or(n.verb, "update"), deletes: risk == Deletes}, rankOthers, classRow(c)
	switch {
	case c == InfrastructureDestroyed || c == DestructionApproved:
		rank = rankDestroyed
	case risk == Deletes:
		rank = rankDeletes
	case risk == Unknown:
		rank = rankUnknown
	case n.verb == "add":
		rank = rankAssignmentsAdded
	case n.verb == "":
		rank, row = rankUpdates, 0
	}
	o := b.add(g, p, rank, row).object(c, n)
	for _, d := range g.found.details {
		if d.class == c {
			o.what[d.what] = true
			o.ops[d.op] = true
		}
	}
}

// nameOperation sets the verb if all values are added or removed.
func (p *phrase) nameOperation() {
	for op, verb := range map[fieldOp]string{fieldAdded: "add", fieldRemoved: "remove"} {
		differs := func(o *object) bool { return !o.noun.numbered && !o.noun.given || len(o.ops) != 1 || !o.ops[op] }
		if p.verb == "update" && p.form == objectsChange && !slices.ContainsFunc(p.objects, differs) {
			p.verb = verb
		}
	}
}

func (p *phrase) object(c Class, n noun) *object {
	i := slices.IndexFunc(p.objects, func(o *object) bool { return o.class == c })
	if i < 0 {
		i, p.objects = len(p.objects), append(p.objects, &object{noun: n, class: c, what: map[string]bool{}, ops: map[fieldOp]bool{}})
	}
	return p.objects[i]
}

func classRow(c Class) int {
	return slices.IndexFunc(rules, func(r rule) bool { return r.class == c })
}
