package impact

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/text"
)

// Title returns the change in at most limit characters: "REMOVE hello-web from cloud
// and edge", "update 8 values in checkout on 12 cluster types". Deletions come first,
// with verbs in capitals, and keep their names longest. Changes that do not fit are
// counted.
func (r Report) Title(limit int) string {
	if len(r.phrases) == 0 {
		return text.Limit(r.Summary(), limit)
	}
	deletions := 0
	for deletions < len(r.phrases) && r.phrases[deletions].deletes {
		deletions++
	}
	destroyed := 0 // irreversible changes keep their names longest
	if verb := r.phrases[0].verb; verb == "DESTROY" || verb == "APPROVE" {
		destroyed = 1
	}
	fits := func(title string) bool { return utf8.RuneCountInString(title) <= limit }
	for _, named := range []int{deletions, destroyed, 0} {
		for n := len(r.phrases); n >= max(named, 1); n-- {
			for brevity := range namesOne + 1 {
				if title := r.formatPhrases(n, named, brevity, printableText); fits(title) {
					return title
				}
			}
		}
	}
	for n := len(r.phrases); n >= 1; n-- {
		for brevity := terseNames; brevity <= terse; brevity++ {
			if title := r.formatPhrases(n, 0, brevity, printableText); fits(title) {
				return title
			}
		}
	}
	return r.fitFirst(limit)
}

const minNamed, maxNamed = 12, 60

// fitFirst shows the first phrase and the number of others. It shortens long names
// first, then cuts words.
func (r Report) fitFirst(limit int) string {
	rest := ""
	if more := len(r.phrases) - 1; more > 0 {
		rest = fmt.Sprintf("; %d more", more)
	}
	for named := maxNamed; named >= minNamed; named-- {
		show := func(name string) string { return cutMiddle(printableText(name), named) }
		if title := r.phrases[0].format(terse, show) + rest; utf8.RuneCountInString(title) <= limit {
			return title
		}
	}
	return cutWords(r.phrases[0].format(terse, printableText), max(0, limit-utf8.RuneCountInString(rest)), rest, limit)
}

// cutMiddle keeps both ends of a long name, which tell names of one team or stack
// apart.
func cutMiddle(name string, characters int) string {
	runes := []rune(name)
	if len(runes) <= characters {
		return name
	}
	head := (characters - 1) / 2
	return string(runes[:head]) + "…" + string(runes[len(runes)-(characters-1-head):])
}

func cutWords(phrase string, room int, rest string, limit int) string {
	cut := text.Limit(phrase, room)
	if end := strings.LastIndexByte(cut, ' '); cut != phrase && end > 0 {
		cut = strings.TrimRight(cut[:end], ",;") + "…"
	}
	return text.Limit(cut+rest, limit)
}

// formatPhrases returns the first n phrases and the number of others. The first named
// ones keep their names.
func (r Report) formatPhrases(n, named, brevity int, show func(string) string) string {
	var parts []string
	for i, p := range r.phrases[:n] {
		if i < named {
			parts = append(parts, p.format(0, show))
		} else {
			parts = append(parts, p.format(brevity, show))
		}
	}
	return strings.Join(parts, "; ") + r.countPhrases(n)
}

func (r Report) countPhrases(n int) string {
	deletions := 0
	for _, p := range r.phrases[n:] {
		if p.deletes {
			deletions++
		}
	}
	var more []string
	if deletions > 0 {
		more = append(more, text.Count(deletions, "more deletion"))
	}
	if others := len(r.phrases) - n - deletions; others > 0 {
		more = append(more, text.Count(others, "more change"))
	}
	if len(more) == 0 {
		return ""
	}
	return "; " + strings.Join(more, ", ")
}

// The ways to format a phrase, from the longest: up to three names of each thing; one
// cluster type; also one workload; then without implied words, with names or with one
// of each thing.
const (
	namesAll = iota
	namesOneType
	namesOne
	terseNames
	terse
)

type phrase struct {
	verb    string
	deletes bool
	form    form
	objects []*object // for objectsChange
	names   []string  // for clustersChange: fill %s in the verb
	note    string    // for clustersChange: a suffix
	shorter []phrase  // for clustersChange: with one name of each thing, and terse
	scope   scope
}

type form int

const (
	objectsChange     form = iota // "update 8 values in checkout on cloud"
	assignmentsChange             // "add checkout to cloud"
	clusterTypeChange             // "add cluster type cloud with checkout"
	filesChange                   // "update 2 other files"
	clustersChange                // "replace pool a with b of cluster edge (rolling)"
)

type object struct {
	noun  noun
	class Class
	what  map[string]bool // different fields or Kubernetes objects
	ops   map[fieldOp]bool
	files int // for filesChange
}

func (o object) count() int { return max(1, len(o.what), o.files) }

// noun is the word for a class of changes; its verb defaults to "update".
type noun struct {
	verb, name string
	// plural names are not counted; numbered ones always have a number.
	plural, numbered bool
	// given nouns can be added or removed although they have no number.
	given bool
}

// nouns omits classes of whole assignments, cluster types and files.
var nouns = map[Class]noun{
	CRDRemoved:                  {verb: "REMOVE", name: "CRD", numbered: true},
	NamespaceRemoved:            {verb: "REMOVE", name: "namespace"},
	NamespaceRenamed:            {verb: "RENAME", name: "namespace"},
	"object removed":            {verb: "REMOVE", name: "object", numbered: true},
	hookClass:                   {name: "hook", numbered: true},
	"object renamed":            {verb: "RENAME", name: "object", numbered: true},
	"destination moved":         {verb: "MOVE", name: "destination", plural: true},
	InfrastructureDestroyed:     {verb: "DESTROY", name: "infrastructure", plural: true},
	DestroyedOnRemoval:          {verb: "set", name: "destruction on removal", plural: true},
	"kept on removal":           {verb: "end", name: "destruction on removal", plural: true},
	DestructionApproved:         {verb: "APPROVE", name: "destruction", plural: true},
	"destruction ended":         {verb: "end", name: "destruction", plural: true},
	"pruning switched on":       {verb: "ENABLE", name: "pruning", plural: true},
	"source moved with pruning": {verb: "MOVE", name: "source", plural: true},
	Unclassified:                {verb: "change", name: "files", plural: true},
	"namespace added":           {verb: "add", name: "namespace"},
	"object added":              {verb: "add", name: "object", numbered: true},
	"pruning switched off":      {verb: "disable", name: "pruning", plural: true},
	"source moved":              {verb: "move", name: "source", plural: true},
	"chart version":             {name: "chart version"},
	"source revision":           {name: "source revision"},
	"image":                     {name: "image"},
	"replicas":                  {name: "replicas", plural: true},
	"resources":                 {name: "resources", plural: true},
	"plan approval":             {name: "plan approval", given: true},
	"suspension":                {name: "suspension", plural: true},
	StateMoved:                  {verb: "move", name: "state", plural: true},
	"health checks":             {name: "health checks", plural: true},
	"root module":               {name: "root module"},
	"dependencies":              {name: "dependencies", plural: true},
	"config values":             {name: "value", numbered: true},
	"secrets":                   {name: "secret", numbered: true},
	"labels or annotations":     {name: "label", numbered: true},
	"timing":                    {name: "timing", plural: true},
	"API version":               {name: "API version"},
	"order":                     {verb: "reorder", name: "lists", plural: true},
	"file mode":                 {name: "file mode"},
	"readme":                    {name: "readme"},
	OrderOnly:                   {verb: "reorder", name: "files", plural: true},
	FormattingOnly:              {verb: "reformat", name: "files", plural: true},
}

func (p phrase) format(brevity int, show func(string) string) string {
	isTerse := brevity >= terseNames
	if isTerse {
		brevity = map[int]int{terseNames: namesAll, terse: namesOne}[brevity]
	}
	switch p.form {
	case clustersChange:
		return p.describeClusters(brevity, isTerse, show)
	case filesChange:
		return p.verb + " " + p.describeObjects()
	case clusterTypeChange:
		text := p.verb + " " + p.scope.countedTypes(brevity, show)
		if along := p.scope.describeTargets(brevity, show); along != "" && brevity < namesOne && !isTerse {
			text += " with " + along
		}
		return text
	case assignmentsChange:
		place := map[string]string{"add": " to ", "DESTROY": " on ", "MOVE": " between "}[p.verb]
		if place == "" {
			place = " from "
		}
		return p.verb + " " + p.scope.describeTargets(brevity, show) + place + p.scope.describeTypes(brevity, show)
	}
	text := p.verb + " " + p.describeObjects()
	if subjects := p.scope.describeWorkloads(brevity, show); subjects != "" {
		if isTerse && p.verb == "DESTROY" {
			text = p.verb + " " + subjects
		} else {
			text += p.link() + subjects
		}
	}
	if p.scope.place == stackPlace {
		return text + " in " + p.scope.describeTypes(brevity, show)
	}
	return text + " on " + p.scope.describeTypes(brevity, show)
}

const maxObjects = 2

func (p phrase) describeObjects() string {
	if len(p.objects) > maxObjects {
		fields := 0
		for _, o := range p.objects {
			fields += o.count()
		}
		return text.Count(fields, "field")
	}
	return text.Join(list.Convert(p.objects, func(o *object) string {
		if n := o.count(); n > 1 && !o.noun.plural || o.noun.numbered {
			return text.Count(n, o.noun.name)
		}
		return o.noun.name
	}), " and ")
}

func (p phrase) link() string {
	switch {
	case len(p.objects) == 1 && !p.objects[0].noun.numbered:
		return " of "
	case strings.EqualFold(p.verb, "remove"):
		return " from "
	case p.verb == "add":
		return " to "
	default:
		return " in "
	}
}

// scope is what a phrase touches. Unknown workloads are their targets.
type scope struct {
	targets, workloads, clusterTypes map[string]bool
	unit                             string // of the workloads
	place                            string // of the cluster types
}

// The places of a scope. In stacks, workloads are components.
const (
	typePlace  = "cluster type"
	stackPlace = "stack"
)

func newScope(place, unit string) scope {
	return scope{targets: map[string]bool{}, workloads: map[string]bool{}, clusterTypes: map[string]bool{}, place: place, unit: unit}
}

func (s *scope) merge(other scope) {
	if s.targets == nil {
		*s = newScope(other.place, other.unit)
	}
	maps.Copy(s.targets, other.targets)
	maps.Copy(s.workloads, other.workloads)
	maps.Copy(s.clusterTypes, other.clusterTypes)
}

func (s *scope) addGroup(g *group, opt Options) {
	if s.targets == nil {
		switch {
		case g.isOfStack():
			*s = newScope(stackPlace, "component")
		case opt.Workload == nil:
			*s = newScope(typePlace, "deployment target")
		default:
			*s = newScope(typePlace, "workload")
		}
	}
	for target := range g.targets {
		workload := target
		if s.place == typePlace {
			workload = opt.workloadOf(target)
		}
		s.targets[target], s.workloads[workload] = true, true
	}
	for _, name := range g.clusterTypes {
		s.clusterTypes[name] = true
	}
}

func limitOf(isBrief bool) int {
	if isBrief {
		return 1
	}
	return mostListed
}

func nameSet(names map[string]bool, limit int, unit string, show func(string) string) string {
	if len(names) > limit {
		return text.Count(len(names), unit)
	}
	return text.Join(list.Convert(slices.Sorted(maps.Keys(names)), show), " and ")
}

func someNames(names map[string]bool, show func(string) string) string {
	sorted := slices.Sorted(maps.Keys(names))
	shown := list.Convert(sorted[:min(len(sorted), mostListed)], show)
	if more := len(sorted) - len(shown); more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(shown, ", "), more)
	}
	return text.Join(shown, " and ")
}

func (s scope) describeTypes(brevity int, show func(string) string) string {
	return nameSet(s.clusterTypes, limitOf(brevity >= 1), s.place, show)
}

func (s scope) countedTypes(brevity int, show func(string) string) string {
	names := s.describeTypes(brevity, show)
	switch {
	case len(s.clusterTypes) > limitOf(brevity >= 1):
		return names
	case len(s.clusterTypes) > 1:
		return s.place + "s " + names
	}
	return s.place + " " + names
}

func (s scope) describeWorkloads(brevity int, show func(string) string) string {
	return nameSet(s.workloads, limitOf(brevity >= 2), s.unit, show)
}

func (s scope) describeTargets(brevity int, show func(string) string) string {
	limit := limitOf(brevity >= 2)
	switch {
	case len(s.targets) <= limit:
		return nameSet(s.targets, limit, "", show)
	case len(s.workloads) <= limit:
		return fmt.Sprintf("%d targets of %s", len(s.targets), s.describeWorkloads(brevity, show))
	}
	return s.describeWorkloads(brevity, show)
}
