package model

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/base/kubename"
	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
)

// RestWave is the name of the last wave, which has the cluster types that no written wave takes.
const RestWave = "rest"

// Wave is a set of cluster types that change together.
type Wave struct {
	Name string
	// ClusterTypes selects the cluster types of the wave, or those that Pick takes from.
	ClusterTypes Selector
	Pick         *Pick // nil for none
	// Batch is the most cluster types of one proposal; 0 for no limit.
	Batch int
	// Gates must be satisfied before the wave is proposed, and Proof before the next one is; Proof is nil if
	// none is written.
	Gates, Proof []GateSpec
	Merge        string  // as of the environment; "" for the environment's
	Budget       *Budget // nil for none
	Pos          problem.Pos
}

// Pick takes some of the cluster types that earlier waves left.
type Pick struct {
	Count, Percent int    // one is set; a percentage is rounded up
	By             string // a label; that many are taken for each of its values. "" for none
	// Order is one of the orders below, and OrderLabel the label of OrderLabelled.
	Order, OrderLabel string
}

// The orders in which a wave picks.
const (
	OrderHash     = "hash"   // of the names; the default
	OrderName     = "name"   // alphabetical
	OrderRotate   = "rotate" // another one for each advance
	OrderLabelled = "label"  // by a label: integers, then other values, then cluster types without it
)

// The inputs of an environment that may change by waves.
const (
	InputBase        = "base"
	InputEnvironment = "environment"
	InputWorkloads   = "workloads"
)

// Advance says how a change goes through waves. The zero value is the default.
type Advance struct {
	// Restarts means that new inputs begin with the first wave, and do not wait for the last one.
	Restarts bool
	// From is the number of changed cluster types from which a change goes by waves.
	From int
	// GoesBack means that a failure brings back what was there before the first wave.
	GoesBack bool
	// Away is how long before the merge of a wave a cluster must have been silent to be left out; 0 leaves out none.
	Away time.Duration
	// Of are the inputs whose changes go by waves; nil for all.
	Of []string
	// RemovesFirst means that the folders of removed cluster types go with the first wave, and not the last one.
	RemovesFirst bool
}

// Budget is what may fail in a wave without stopping later ones.
type Budget struct {
	ClusterTypes, Clusters Share // in all waves so far
}

// Share is a number, or a part of all. The zero value is all.
type Share struct {
	IsLimit        bool
	Count, Percent int
}

// IsExceeded reports whether n of all are more than the share, rounded down.
func (s Share) IsExceeded(n, all int) bool { return s.IsLimit && n > s.Count+all*s.Percent/100 }

// WaveDecision is a decision of a person, or after a failure, about an advance.
type WaveDecision struct {
	Object
	Action  string // one of the actions below
	Advance string // its id
	Wave    string // that is skipped; "" for other actions
	Reason  string
}

// WaveDecisionKind is its kind.
const WaveDecisionKind = "WaveDecision"

// The actions.
const (
	SkipWave       = "skip"    // the proof of the wave counts as passed
	RejectAdvance  = "reject"  // its target is not wanted: what was there before the first wave comes back
	ReplaceAdvance = "replace" // the newest inputs begin with the first wave
	RetryWorkflows = "retry"   // the workflows of gates run again
)

type waveDecisionSpec struct {
	Action  string       `yaml:"action" required:"true"`
	Advance verbatimText `yaml:"advance" required:"true"`
	Wave    string       `yaml:"wave"`
	Reason  string       `yaml:"reason"`
}

func readWaveDecision(r *reader, n *yaml.Node, d *decoder) *WaveDecision {
	o, s, _ := readObject[waveDecisionSpec](r, n, WaveDecisionKind, d)
	d.checkOneOf(o.Pos, "spec.action", s.Action, SkipWave, RejectAdvance, ReplaceAdvance, RetryWorkflows)
	if (s.Action == SkipWave) != (s.Wave != "") {
		d.addProblem(n, "write spec.wave for the action skip, and for no other", "a WaveDecision with action %s cannot have wave %q", s.Action, s.Wave)
	}
	return &WaveDecision{o, s.Action, string(s.Advance), s.Wave, s.Reason}
}

// EncodeWaveDecision encodes a decision.
func EncodeWaveDecision(w WaveDecision) ([]byte, error) {
	spec := struct {
		Action  string `yaml:"action"`
		Advance string `yaml:"advance"`
		Wave    string `yaml:"wave,omitempty"`
		Reason  string `yaml:"reason,omitempty"`
	}{w.Action, w.Advance, w.Wave, w.Reason}
	return EncodeObject(WaveDecisionKind, w.Name, spec)
}

type advanceSpec struct {
	OnChange  string        `yaml:"onChange"`
	OnFailure string        `yaml:"onFailure"`
	From      int           `yaml:"from"`
	Budget    *budgetSpec   `yaml:"budget"`
	Away      time.Duration `yaml:"away"`
	Of        []string      `yaml:"of"`
	Removals  string        `yaml:"removals"`
}

type budgetSpec struct {
	ClusterTypes verbatimText `yaml:"clusterTypes"`
	Clusters     verbatimText `yaml:"clusters"`
}

func (s *budgetSpec) parse(pos problem.Pos, d *decoder) *Budget {
	if s == nil {
		return nil
	}
	if s.ClusterTypes == "" && s.Clusters == "" {
		d.problems.Addf(pos, d.subject, "write clusterTypes: 2, or clusters: 5%", "a budget needs clusterTypes or clusters")
	}
	return &Budget{parseShare(s.ClusterTypes, pos, d), parseShare(s.Clusters, pos, d)}
}

func parseShare(text verbatimText, pos problem.Pos, d *decoder) Share {
	digits, isPercent := strings.CutSuffix(string(text), "%")
	n, err := strconv.Atoi(digits)
	switch {
	case text == "":
		return Share{}
	case err != nil || n < 0 || isPercent && n > 100 || n > maxShare:
		d.problems.Addf(pos, d.subject, "write a number such as 2, or a part such as 5%", "a budget cannot be %q", text)
		return Share{}
	case isPercent:
		return Share{IsLimit: true, Percent: n}
	}
	return Share{IsLimit: true, Count: n}
}

const maxShare = 1_000_000

func (s advanceSpec) parse(pos problem.Pos, d *decoder) (Advance, *Budget) {
	d.checkOneOf(pos, "onChange", s.OnChange, "finish", "restart")
	d.checkOneOf(pos, "onFailure", s.OnFailure, "halt", "back")
	d.checkOneOf(pos, "removals", s.Removals, "last", "first")
	for _, input := range s.Of {
		d.checkOneOf(pos, "of", input, InputBase, InputEnvironment, InputWorkloads)
	}
	if s.Of != nil && len(s.Of) == 0 || slices.Contains(s.Of, "") {
		d.problems.Addf(pos, d.subject, "write of: [base, environment, workloads], or remove it for these", "of cannot be empty")
	}
	if s.From < 0 || s.Away < 0 {
		d.problems.Addf(pos, d.subject, "remove it for the default", "from and away of advance cannot be negative")
	}
	return Advance{Restarts: s.OnChange == "restart", From: s.From, GoesBack: s.OnFailure == "back", Away: s.Away, Of: s.Of, RemovesFirst: s.Removals == "first"}, s.Budget.parse(pos, d)
}

type waveSpec struct {
	Name         locatedText   `yaml:"name" required:"true"`
	ClusterTypes *waveTypes    `yaml:"clusterTypes"`
	Clusters     *selectorSpec `yaml:"clusters"`
	Pick         *pickSpec     `yaml:"pick"`
	Batch        *int          `yaml:"batch"`
	Gates        []yaml.Node   `yaml:"gates"`
	Proof        []yaml.Node   `yaml:"proof"`
	Merge        string        `yaml:"merge"`
	Budget       *budgetSpec   `yaml:"budget"`
}

// waveTypes is a selector, or the name of a group that policies have chosen.
type waveTypes struct {
	Group            string            `yaml:"group"`
	MatchLabels      map[string]string `yaml:"matchLabels"`
	MatchExpressions []expressionSpec  `yaml:"matchExpressions"`
}

func (s waveTypes) parse() (Selector, []error) {
	selector, errs := selectorSpec{s.MatchLabels, s.MatchExpressions}.parseSelector()
	if s.Group == "" {
		return selector, errs
	}
	if err := kubename.CheckLabelValue(groupPrefix + s.Group); err != nil {
		return selector, append(errs, fmt.Errorf("there cannot be a group %q", s.Group))
	}
	selector.require(Requirement{Key: groupLabel(s.Group), Operator: Exists})
	return selector, errs
}

func (s *Selector) require(r Requirement) {
	s.Requirements = append(s.Requirements, r)
	slices.SortFunc(s.Requirements, func(a, b Requirement) int { return cmp.Compare(a.Key, b.Key) })
}

type pickSpec struct {
	Count   *int      `yaml:"count"`
	Percent *int      `yaml:"percent"`
	By      string    `yaml:"by"`
	Order   yaml.Node `yaml:"order"`
}

const maxWaves = 50

func newWaves(r *reader, specs []waveSpec, budget *Budget, d *decoder) []Wave {
	var waves []Wave
	var names []string
	for i, s := range specs {
		w := Wave{Name: s.Name.Text, Pos: r.positionAt(s.Name.Line), Gates: d.decodeGates(s.Gates), Proof: d.decodeGates(s.Proof), Merge: s.Merge}
		d.checkOneOf(w.Pos, "merge", w.Merge, mergeChoices...)
		w.Budget = s.Budget.parse(w.Pos, d)
		if w.Budget == nil && i > 0 {
			w.Budget = budget
		}
		if s.Proof != nil && w.Proof == nil {
			w.Proof = []GateSpec{}
		}
		refuse := func(hint, format string, args ...any) {
			d.problems.Addf(w.Pos, d.subject, hint, format, args...)
		}
		err := kubename.CheckLabelValue(w.Name)
		switch {
		case i == maxWaves:
			refuse("use fewer waves", "an environment has %d waves, and %d is the limit", len(specs), maxWaves)
			return waves
		case w.Name == "" || err != nil:
			refuse("write a name such as canary", "a wave cannot be named %q", w.Name)
		case w.Name == RestWave:
			refuse("rename it; the wave rest always exists, and has what no other wave takes", "a wave cannot be named %s", RestWave)
		case slices.Contains(names, w.Name):
			refuse("rename one of them", "there are two waves named %s", w.Name)
		case s.ClusterTypes == nil && s.Clusters == nil && s.Pick == nil || s.ClusterTypes != nil && (s.Clusters != nil || s.Pick != nil):
			refuse("write clusterTypes: {matchLabels: {ring: canary}}, or pick: {percent: 10}", "wave %s needs either clusterTypes, or clusters, pick or both", w.Name)
		}
		names = append(names, w.Name)
		if s.Batch != nil {
			w.Batch = *s.Batch
			if w.Batch < 1 {
				refuse("write 1 or more", "the batch of wave %s has %d cluster types", w.Name, w.Batch)
			}
		}
		if s.Pick != nil {
			w.Pick = s.Pick.parse(w.Name, refuse)
			w.Pick.Order, w.Pick.OrderLabel = parseOrder(&s.Pick.Order, w.Name, refuse, d)
		}
		var errs []error
		if s.ClusterTypes != nil {
			w.ClusterTypes, errs = s.ClusterTypes.parse()
			if len(errs) == 0 && len(w.ClusterTypes.Requirements) == 0 {
				refuse("select some, as in clusterTypes: {matchLabels: {ring: canary}}", "wave %s selects all cluster types, so that no other wave has any", w.Name)
			}
		}
		if s.Clusters != nil {
			w.ClusterTypes, errs = s.Clusters.parseSelector()
			w.ClusterTypes.require(Requirement{Key: ClusterTypeLabel, Operator: Exists})
		}
		for _, err := range errs {
			refuse(fmt.Sprintf("the operators are %q, %q, %q, %q", In, NotIn, Exists, DoesNotExist), "wave %s: %v", w.Name, err)
		}
		waves = append(waves, w)
	}
	return waves
}

func (s pickSpec) parse(wave string, refuse func(hint, format string, args ...any)) *Pick {
	p := &Pick{By: s.By}
	switch {
	case (s.Count == nil) == (s.Percent == nil):
		refuse("write pick: {count: 1} or pick: {percent: 10}", "wave %s picks either a count or a percentage", wave)
		return p
	case s.Count != nil:
		p.Count = *s.Count
	default:
		p.Percent = *s.Percent
	}
	if s.Count != nil && p.Count < 1 {
		refuse("write 1 or more", "wave %s picks %d cluster types", wave, p.Count)
	}
	if s.Percent != nil && (p.Percent < 1 || p.Percent > 100) {
		refuse("write a number from 1 to 100", "wave %s picks %d percent", wave, p.Percent)
	}
	if s.By != "" {
		if err := kubename.CheckLabelKey(s.By); err != nil {
			refuse("write the key of a label, as in by: region", "wave %s: %v", wave, err)
		}
	}
	return p
}

func parseOrder(n *yaml.Node, wave string, refuse func(hint, format string, args ...any), d *decoder) (order, label string) {
	n = yamldoc.ResolveAlias(n)
	switch {
	case n.Kind == 0 || yamldoc.IsNull(n):
		return OrderHash, ""
	case n.Kind == yaml.MappingNode:
		var by struct {
			Label string `yaml:"label" required:"true"`
		}
		d.decodeValue(n, reflect.ValueOf(&by).Elem(), "order")
		if err := kubename.CheckLabelKey(by.Label); err != nil {
			refuse("write the key of a label, as in order: {label: n}", "wave %s: %v", wave, err)
		}
		return OrderLabelled, by.Label
	}
	order = d.decodeText(n, "order", false)
	if !slices.Contains([]string{OrderHash, OrderName, OrderRotate}, order) {
		refuse("write hash, name, rotate or {label: n}", "the order of wave %s cannot be %q", wave, order)
	}
	return order, ""
}

var mergeChoices = []string{"manual", "when-green", "direct"}

func (d *decoder) parseHoldScope(n *yaml.Node, text string) string {
	if text == ScopeWaves {
		return text
	}
	return d.parseScope(n, text)
}
