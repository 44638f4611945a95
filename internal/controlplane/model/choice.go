package model

import (
	"cmp"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/base/list"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
)

// ChooseAnnotation on a SchedulingPolicy holds its Choice, as YAML; an object of ChoiceKind does so beside it.
const (
	ChooseAnnotation = OwnGroup + "/choose"
	ChoiceKind       = "Choice"
)

// Choice narrows what a policy selects: each of its units goes to some of the cluster types.
type Choice struct {
	// Pick is the number of cluster types per unit, or PickAll. Names, if there are any, are the only
	// cluster types that may be picked; Pick is their number then.
	Pick     int
	Names    []string
	Unit     UnitKind
	Spread   []Spread
	Prefer   []Preference
	Avoid    []Avoidance
	Tolerate []Toleration
	// Priority orders units: those with the highest are placed first, and moved last.
	Priority int
	// Groups divide what was chosen, for waves and for others; nil for none.
	Groups *Groups
	// Required stops the environment if a unit has too few places.
	Required bool
	Decider  Decider
	Pos      problem.Pos // of the annotation's value, or of the object
}

// PickAll picks every cluster type that is fit.
const PickAll = -1

// UnitKind is what a choice places together.
type UnitKind string

// The kinds of units.
const (
	UnitTarget   UnitKind = "target"
	UnitWorkload UnitKind = "workload"
	UnitPolicy   UnitKind = "policy"
)

// Spread bounds how unevenly the places of one unit are distributed over the values of a label.
type Spread struct {
	By                  string
	MaxSkew, MinDomains int
	Preferred           bool // a cluster type that exceeds the skew is chosen last, and not refused
}

// Preference adds Weight times 0 to 100 (a score: -100 to 100) to the score of a cluster type. One of
// the other fields is set.
type Preference struct {
	Weight       int
	ClusterTypes *Selector
	Most, Least  string // a resource
	Score        string
}

// Avoidance keeps a unit away from the targets that a selector matches: from their cluster types, or
// from those with the same value of the label By.
type Avoidance struct {
	Targets Selector
	By      string
}

// ChosenIn returns a function that reports whether a policy of one of the models chooses the cluster types of a
// deployment target; nil if no policy has a choice.
func ChosenIn(models ...*Model) func(target string) bool {
	var choosing []*Model
	for _, m := range models {
		if m != nil && slices.ContainsFunc(m.Policies, func(p *Policy) bool { return p.Choice != nil }) {
			choosing = append(choosing, m)
		}
	}
	if choosing == nil {
		return nil
	}
	return func(target string) bool {
		return slices.ContainsFunc(choosing, func(m *Model) bool {
			t := findByName(m.Targets, target)
			return t != nil && slices.ContainsFunc(m.Policies, func(p *Policy) bool {
				return p.Choice != nil && p.Targets.Matches(t.Labels) && (p.Workspace == "" || p.Workspace == t.Workspace)
			})
		})
	}
}

type choiceSpec struct {
	Pick        yaml.Node      `yaml:"pick"`
	Unit        string         `yaml:"unit"`
	Spread      []spreadSpec   `yaml:"spread"`
	Prefer      []preferSpec   `yaml:"prefer"`
	Avoid       []avoidSpec    `yaml:"avoid"`
	Tolerate    []tolerateSpec `yaml:"tolerate"`
	Priority    numberText     `yaml:"priority"`
	Groups      *groupsSpec    `yaml:"groups"`
	Unsatisfied string         `yaml:"unsatisfied"`
	By          string         `yaml:"by"`
	Config      yaml.Node      `yaml:"config"`
	Enforce     *bool          `yaml:"enforce"`
	Accept      string         `yaml:"accept"`
	Placement   string         `yaml:"placement"`
	Evaluate    string         `yaml:"evaluate"`
	Partial     string         `yaml:"partial"`
}

type choiceObjectSpec struct {
	Policy locatedText `yaml:"policy" required:"true"`
	choiceSpec
}

// choiceObject is a Choice that is written as an object; the choice is nil if it cannot be read.
type choiceObject struct {
	Object
	policy locatedText
	choice *Choice
}

type spreadSpec struct {
	By            string     `yaml:"by" required:"true"`
	MaxSkew       numberText `yaml:"maxSkew"`
	MinDomains    numberText `yaml:"minDomains"`
	Unsatisfiable string     `yaml:"unsatisfiable"`
}

type preferSpec struct {
	Weight       numberText    `yaml:"weight" required:"true"`
	ClusterTypes *selectorSpec `yaml:"clusterTypes"`
	Most         string        `yaml:"most"`
	Least        string        `yaml:"least"`
	Score        string        `yaml:"score"`
}

type avoidSpec struct {
	Targets selectorSpec `yaml:"targets" required:"true"`
	By      string       `yaml:"by"`
}

type tolerateSpec struct {
	Key      string     `yaml:"key"`
	Operator string     `yaml:"operator"`
	Value    string     `yaml:"value"`
	Effect   string     `yaml:"effect"`
	Seconds  *yaml.Node `yaml:"seconds"`
}

// numberText is a whole number that may be negative, with its place.
type numberText = yaml.Node

// The bounds of a choice: each multiplies the work of deciding.
const (
	maxChoiceItems = 16
	maxPick        = 10_000
	maxPriority    = 1_000_000
	maxWeight      = 100
)

// readChoice returns the choice of a policy; nil if it has none, or one that cannot be read.
func (r *reader) readChoice(o Object, annotations annotations, problems *problem.List) *Choice {
	text, written := annotations[ChooseAnnotation]
	if !written {
		return nil
	}
	var s choiceSpec
	before := len(*problems)
	d, ok := decodeAnnotation(ChooseAnnotation, text, o.Subject(), r.positionAt, problems, &s)
	if !ok {
		return nil
	}
	return d.parseChoice(&s, before)
}

// readChoiceObject reads an object of ChoiceKind. In the base's folder of levers, which is not promoted, it is ignored.
func readChoiceObject(r *reader, n *yaml.Node, h header, d *decoder) {
	if lever := path.Dir(DecisionFolder); r.layer.Kind == Base && strings.HasPrefix(r.file, lever+"/") {
		r.out.countIgnored(h.apiVersion+" "+h.kind, 1)
		r.out.problems.Warnf(d.positionOf(n), d.subject, "move it beside the policy, or to "+DecisionFolder+" of the environment's folder", "a Choice is ignored in %s of the base, which is not promoted", lever)
		return
	}
	before := len(*d.problems)
	o, s, _ := readObject[choiceObjectSpec](r, n, ChoiceKind, d)
	text := *d
	if _, spec := yamldoc.LookUpPair(n, "spec"); spec != nil {
		text.root = yamldoc.ResolveAlias(spec)
	}
	r.out.choices = append(r.out.choices, &choiceObject{o, s.Policy, annotationText{&text, o.Pos, "spec"}.parseChoice(&s.choiceSpec, before)})
}

func (m *Model) applyChoices(objects []*choiceObject, problems *problem.List) {
	given := map[string]*choiceObject{}
	for _, o := range uniqueByName(objects, problems, func(o *choiceObject) *Object { return &o.Object }) {
		name, pos := o.policy.Text, o.Pos
		pos.Line = cmp.Or(o.policy.Line, pos.Line)
		i, known := IndexOf(m.Policies, name)
		switch {
		case name == "":
		case !known:
			names := list.Convert(m.Policies, func(p *Policy) string { return p.Name })
			problems.Addf(pos, o.Subject(), cmp.Or(problem.DidYouMean(name, names), "write the name of a policy of the environment, or remove the Choice"), "there is no SchedulingPolicy %s", name)
		case given[name] != nil:
			problems.Addf(pos, o.Subject(), "remove one of them", "SchedulingPolicy/%s has the %s at %s", name, given[name].Subject(), given[name].Pos)
		case m.Policies[i].Annotations[ChooseAnnotation] != "":
			problems.Addf(pos, o.Subject(), "remove one of them", "SchedulingPolicy/%s has the annotation %s, at %s", name, ChooseAnnotation, m.Policies[i].Pos)
		default:
			given[name] = o
			policy := *m.Policies[i]
			policy.Choice, m.Policies[i] = o.choice, &policy
		}
	}
}

// parseChoice returns a choice; nil if there were problems since the list had the given length.
func (a annotationText) parseChoice(s *choiceSpec, before int) *Choice {
	c := &Choice{Pick: PickAll, Pos: a.pos}
	a.readPick(c, &s.Pick)
	c.Unit = UnitKind(a.oneOf("unit", s.Unit, string(UnitTarget), string(UnitWorkload), string(UnitPolicy)))
	c.Required = a.oneOf("unsatisfied", s.Unsatisfied, "warn", "stop") == "stop"
	c.Priority = a.readNumber(&s.Priority, "priority", 0, -maxPriority, maxPriority)
	c.Decider = a.readDecider(s)
	c.Groups = s.Groups.parse(a)
	for i, n := range []int{len(s.Spread), len(s.Prefer), len(s.Avoid), len(s.Tolerate)} {
		if n > maxChoiceItems {
			field := []string{"spread", "prefer", "avoid", "tolerate"}[i]
			a.addAt(field, "", "%s.%s has %d entries, and %d is the limit", a.path, field, n, maxChoiceItems)
			return nil
		}
	}
	for i := range s.Spread {
		c.Spread = append(c.Spread, a.readSpread(&s.Spread[i]))
	}
	for i := range s.Prefer {
		c.Prefer = append(c.Prefer, a.readPreference(&s.Prefer[i]))
	}
	for i := range s.Avoid {
		c.Avoid = append(c.Avoid, Avoidance{a.selector("avoid", s.Avoid[i].Targets), a.labelKey("avoid", s.Avoid[i].By)})
	}
	for i := range s.Tolerate {
		c.Tolerate = append(c.Tolerate, a.readToleration(&s.Tolerate[i]))
	}
	if len(c.Spread) > 0 && c.Pick == PickAll && c.Decider.Placement == "" {
		a.addAt("spread", "write pick: with the number of cluster types", "spread needs a number of cluster types to pick")
	}
	if stops, _ := (*a.problems)[before:].Count(); stops > 0 {
		return nil
	}
	return c
}

func (a annotationText) readPick(c *Choice, n *yaml.Node) {
	n = yamldoc.ResolveAlias(n)
	switch {
	case n.Kind == 0 || yamldoc.IsNull(n) || n.Kind == yaml.ScalarNode && n.Value == "all":
	case n.Kind == yaml.MappingNode:
		var s struct {
			Names []string `yaml:"names" required:"true"`
		}
		a.decodeValue(n, reflect.ValueOf(&s).Elem(), a.path+".pick")
		slices.Sort(s.Names)
		c.Names = slices.Compact(s.Names)
		c.Pick = len(c.Names)
		if c.Pick > maxPick {
			a.addProblem(n, "", "%s.pick has %d names, and %d is the limit", a.path, c.Pick, maxPick)
		}
	default:
		number, err := strconv.Atoi(n.Value)
		if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" || err != nil || number < 0 || number > maxPick {
			a.addProblem(n, fmt.Sprintf("write all, a whole number from 0 to %d, or {names: [...]}", maxPick), "%s.pick cannot be %s", a.path, showNode(n))
			return
		}
		c.Pick = number
	}
}

func (a annotationText) readSpread(s *spreadSpec) Spread {
	return Spread{
		By:         a.labelKey("spread", s.By),
		MaxSkew:    a.readNumber(&s.MaxSkew, "spread.maxSkew", 1, 1, maxPick),
		MinDomains: a.readNumber(&s.MinDomains, "spread.minDomains", 0, 1, maxPick),
		Preferred:  a.oneOf("spread", s.Unsatisfiable, "refuse", "anyway") == "anyway",
	}
}

func (a annotationText) readPreference(s *preferSpec) Preference {
	p := Preference{Weight: a.readNumber(&s.Weight, "prefer.weight", 0, -maxWeight, maxWeight), Most: s.Most, Least: s.Least, Score: s.Score}
	kinds := 0
	for _, written := range []bool{s.ClusterTypes != nil, s.Most != "", s.Least != "", s.Score != ""} {
		if written {
			kinds++
		}
	}
	if kinds != 1 {
		a.addProblem(&s.Weight, "write one of clusterTypes, most, least and score", "each of %s.prefer has one thing that it prefers, and this one has %d", a.path, kinds)
	}
	if s.ClusterTypes != nil {
		selector := a.selector("prefer", *s.ClusterTypes)
		p.ClusterTypes = &selector
	}
	return p
}

func (a annotationText) readToleration(s *tolerateSpec) Toleration {
	if s.Seconds != nil {
		a.addProblem(s.Seconds, "remove it: a taint is tolerated or not", "tolerate.seconds needs a clock, and what is rendered does not depend on time")
	}
	t := Toleration{Key: s.Key, Value: s.Value, Exists: a.oneOf("tolerate", s.Operator, "Equal", "Exists") == "Exists"}
	if s.Effect != "" {
		t.Effect = TaintEffect(a.oneOf("tolerate", s.Effect, string(NoSelect), string(NoSelectIfNew), string(PreferNoSelect)))
	}
	if s.Key == "" && !t.Exists {
		a.addAt("tolerate", "write a key, or operator: Exists to tolerate all taints", "a toleration without a key tolerates nothing")
	}
	if t.Exists && s.Value != "" {
		a.addAt("tolerate", "remove the value", "a toleration with operator Exists has no value")
	}
	return t
}
