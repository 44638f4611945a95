package model

import (
	"reflect"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/kube/yamldoc"
)

// OwnGroup is the group of Fairlead's own kinds.
const (
	OwnGroup      = "fairlead.io"
	OwnAPIVersion = OwnGroup + "/" + Version
)

// OwnKinds are the kinds of fairlead.io/v1alpha1 that people write, sorted.
var OwnKinds = []KindInfo{
	{"Approval", approvalSpec{}},
	{ChoiceKind, choiceObjectSpec{}},
	{"ClusterBinding", ClusterBindingSpec{}},
	{"ClusterKey", clusterKeySpec{}},
	{"ClusterList", clusterListSpec{}},
	{"ClusterModules", ClusterModulesSpec{}},
	{DecisionKind, decisionSpec{}},
	{"Ephemeral", ephemeralSpec{}},
	{"Feed", feedSpec{}},
	{"Freeze", freezeSpec{}},
	{"Hold", holdSpec{}},
	{HoldReleaseKind, holdReleaseSpec{}},
	{lanesKind, laneRecordSpec{}},
	{PinKind, pinSpec{}},
	{"PlanApproval", PlanApprovalSpec{}},
	{"PlanRequest", PlanRequestSpec{}},
	{"Promotion", promotionSpec{}},
	{ReleaseKind, releaseSpec{}},
	{SkipKind, skipSpec{}},
	{"StackSettings", StackSettingsSpec{}},
	{WaveDecisionKind, waveDecisionSpec{}},
}

type promotionSpec struct {
	External     bool        `yaml:"external"`
	Limits       limitsSpec  `yaml:"limits"`
	Lanes        *lanesSpec  `yaml:"lanes"`
	Environments []stageSpec `yaml:"environments"`
}

type stageSpec struct {
	Name   locatedText   `yaml:"name" required:"true"`
	After  []locatedText `yaml:"after"`
	Queue  yaml.Node     `yaml:"queue"`
	Record string        `yaml:"record"`
	Merge  string        `yaml:"merge"`
	Limits limitsSpec    `yaml:"limits"`
	Gates  []yaml.Node   `yaml:"gates"`
	Proof  []yaml.Node   `yaml:"proof"`
	Waves  []waveSpec    `yaml:"waves"`

	Advance advanceSpec `yaml:"advance"`
}

type holdSpec struct {
	Reason string       `yaml:"reason" required:"true"`
	Lane   string       `yaml:"lane"`
	Scope  string       `yaml:"scope"`
	Commit verbatimText `yaml:"commit"`
}

type approvalSpec struct {
	Commit   verbatimText `yaml:"commit"`
	Lane     string       `yaml:"lane"`
	Wave     string       `yaml:"wave"`
	Removals verbatimText `yaml:"removals"`
	Reason   string       `yaml:"reason"`
}

type holdReleaseSpec struct {
	Commit verbatimText `yaml:"commit" required:"true"`
	Reason string       `yaml:"reason"`
}

type clusterKeySpec struct {
	Epoch   int       `yaml:"epoch" required:"true"`
	Renewed time.Time `yaml:"renewed"`
	Retired time.Time `yaml:"retired"`
	Adopted time.Time `yaml:"adopted"`
	// Environments are those that the key is bound to.
	Environments []string `yaml:"environments"`
	Reason       string   `yaml:"reason"`
}

type ephemeralSpec struct {
	From         string       `yaml:"from" required:"true"`
	Expires      time.Time    `yaml:"expires" required:"true"`
	ClusterTypes selectorSpec `yaml:"clusterTypes"`
	Stacks       []string     `yaml:"stacks"`
}

// Promotion is the order in which a commit of the base gets to the environments, and the
// conditions.
type Promotion struct {
	Object
	// External is true if others promote, and Fairlead renders only.
	External bool
	Stages   []Stage
	Limits   Limits // of the environments that are no stages
	Lanes    *Lanes // nil for none
}

// Stage is one environment of a promotion.
type Stage struct {
	Name  string
	After []string
	Queue Queue
	// Record is how the promoted commit is written: "direct", or "pull-request".
	Record string
	// Merge is who merges the pull request of the output: "manual", "when-green",
	// "direct", or "" for the choice of the settings.
	Merge string
	// Limits bound what is merged without a person.
	Limits Limits
	// Gates must be satisfied before the environment gets a commit, Proof before the
	// commit counts as verified in it. Proof is nil if none is written.
	Gates, Proof []GateSpec
	// Waves are the parts of the environment that change one after the other; nil for none.
	Waves   []Wave
	Advance Advance
	// RestBudget is the budget of the cluster types that no wave takes; nil for none.
	RestBudget *Budget
	Pos        problem.Pos
}

// Queue selects which of several waiting commits an environment gets.
type Queue struct {
	Policy string        // one of the policies below
	Every  time.Duration // of Batch
}

// The policies of a queue.
const (
	QueueLatest = "latest" // the newest; those between are dropped
	QueueEvery  = "every"  // one after the other
	QueueBatch  = "batch"  // the newest, at most once in a time
	QueuePinned = "pinned" // none, but by hand
)

// The scopes of holds and freezes.
const (
	ScopeOutput    = "output"    // promotions, and every other change of the output; the default
	ScopePromotion = "promotion" // promotions only
	ScopeWaves     = "waves"     // of holds: no other wave is proposed
)

// Hold stops changes of an environment until it is released.
type Hold struct {
	Object
	Reason string
	Lane   string // "" for the whole environment; a lane keeps its commit
	Scope  string // one of the scopes
	Commit string // "" for the one that it has
}

// Approval is a person's approval of a commit, or of a change of the output that exceeds the
// limits of the environment. The person is the author of the commit that added it.
type Approval struct {
	Object
	Commit   string // "" if it is of removals
	Lane     string // the only lane that may get the commit; "" for the whole commit
	Wave     string // that is approved: Commit is the id of its advance. "" for none
	Removals string // the change, as the pull request of the output names it; "" if it is of a commit
	Reason   string
}

// HoldRelease ends the hold of an environment whose record was reverted by a commit of its
// branch.
type HoldRelease struct {
	Object
	Commit, Reason string
}

// HoldReleaseKind is the kind of a [HoldRelease], and earlierHoldRelease its earlier name.
const (
	HoldReleaseKind    = "HoldRelease"
	earlierHoldRelease = "Release"
)

// ClusterKey says which key a cluster has: the cluster is the one of the object's name.
type ClusterKey struct {
	Object
	Epoch   int       // how often it was renewed
	Renewed time.Time // for the last time; zero if it never was
	// Retired is when the cluster was retired: it is not expected until its key is renewed or another one
	// is adopted. Zero if it was not.
	Retired time.Time
	// Adopted is when people have last said that another cluster, built in the place of this one, has
	// its name. Zero if they never did.
	Adopted time.Time
	// Environments are those that the cluster may belong to; nil for any.
	Environments []string
	Reason       string
}

// Ephemeral makes the branch that it is in an environment that expires.
type Ephemeral struct {
	Object
	From         string // the environment that it was cloned from
	Expires      time.Time
	ClusterTypes Selector
	Stacks       []string // that it has copies of, as "team/environment"
}

// readOwn reads an object of one of the OwnKinds. Its problems stop promotions, and not
// what is rendered; those of kinds that are about stacks do the opposite.
func (r *reader) readOwn(n *yaml.Node, h header, d *decoder) {
	p := &r.out.progress
	if !isStackKind(h.kind) && h.kind != "ClusterBinding" && h.kind != clusterModulesKind && h.kind != ChoiceKind && h.kind != DecisionKind {
		d.problems = &p.Problems
	}
	switch {
	case h.apiVersion != OwnAPIVersion:
		d.addProblem(n, "", "unknown apiVersion %s; write %s", h.apiVersion, OwnAPIVersion)
		return
	case r.layer.Kind == Workloads:
		r.ignoreObject(h, d, n, "is ignored: the repository of a workload may contain Workloads and DeploymentTargets only")
		return
	}
	switch h.kind {
	case "Promotion":
		o, s, _ := readObject[promotionSpec](r, n, h.kind, d)
		p.Promotions = append(p.Promotions, r.newPromotion(o, s, d))
	case "Freeze":
		o, s, _ := readObject[freezeSpec](r, n, h.kind, d)
		p.Freezes = append(p.Freezes, r.newFreeze(o, s, d, n))
	case "Hold":
		o, s, _ := readObject[holdSpec](r, n, h.kind, d)
		hold := &Hold{o, s.Reason, s.Lane, d.parseHoldScope(n, s.Scope), string(s.Commit)}
		if s.Lane == "" {
			p.Holds = append(p.Holds, hold)
			break
		}
		p.LaneHolds = append(p.LaneHolds, hold)
		if s.Scope == ScopeOutput || s.Scope == ScopeWaves {
			d.addProblem(n, "remove spec.scope, or spec.lane to hold every change of the output", "the hold of a lane cannot have scope %s: it keeps the commit of the lane", s.Scope)
		}
	case "Approval":
		o, s, _ := readObject[approvalSpec](r, n, h.kind, d)
		if (s.Commit == "") == (s.Removals == "") {
			d.addProblem(n, "set spec.commit to a commit of the base, or spec.removals to the name that the pull request of the output shows",
				"an Approval names either a commit or removals")
		}
		if (s.Lane != "" || s.Wave != "") && s.Commit == "" {
			d.addProblem(n, "remove spec.lane and spec.wave", "removals are approved for the whole environment")
		}
		if s.Lane != "" && s.Wave != "" {
			d.addProblem(n, "write two objects", "an Approval is of a lane or of a wave")
		}
		p.Approvals = append(p.Approvals, &Approval{o, string(s.Commit), s.Lane, s.Wave, string(s.Removals), s.Reason})
	case HoldReleaseKind, earlierHoldRelease:
		readHoldRelease(r, n, h.kind, d)
	case "StackSettings", "PlanApproval", "PlanRequest":
		r.readOwnStackKind(n, h.kind, d)
	case "ClusterBinding":
		r.out.clusters.bindings = append(r.out.clusters.bindings, readPart[ClusterBindingSpec](r, n, h.kind, d))
	case clusterModulesKind:
		r.out.clusters.modules = append(r.out.clusters.modules, readPart[ClusterModulesSpec](r, n, h.kind, d))
	case ChoiceKind:
		readChoiceObject(r, n, h, d)
	case DecisionKind:
		r.readDecision(n, h, d)
	case "ClusterKey":
		o, s, _ := readObject[clusterKeySpec](r, n, h.kind, d)
		p.Keys = append(p.Keys, &ClusterKey{o, s.Epoch, s.Renewed, s.Retired, s.Adopted, s.Environments, s.Reason})
	case lanesKind:
		p.Lanes = append(p.Lanes, r.readLaneRecord(n, d))
	case WaveDecisionKind:
		p.Waves = append(p.Waves, readWaveDecision(r, n, d))
	case "ClusterList":
		p.Clusters = append(p.Clusters, r.readClusterList(n, h.kind, d)...)
	case "Feed", PinKind, SkipKind:
		readVersionKind(r, n, h.kind, d)
	case "Ephemeral":
		o, s, _ := readObject[ephemeralSpec](r, n, h.kind, d)
		p.Ephemerals = append(p.Ephemerals, &Ephemeral{o, s.From, s.Expires, d.readSelector(n, s.ClusterTypes), s.Stacks})
	default:
		if problem.FindNearest(h.kind, []string{ChoiceKind}) != "" { // without it, its policy puts everything everywhere
			d.problems = &r.out.problems
		}
		d.addProblem(n, kindHint(h.kind, OwnKinds), "unknown kind %s in %s", h.kind, OwnGroup)
	}
}

// readHoldRelease reads a HoldRelease, or a Release, whose kind is its earlier name.
func readHoldRelease(r *reader, n *yaml.Node, kind string, d *decoder) {
	p := &r.out.progress
	if kind == ReleaseKind && yamldoc.FindValue(n, "spec", "lane") != nil {
		p.Releases = append(p.Releases, readRelease(r, n, d))
		return
	}
	o, s, _ := readObject[holdReleaseSpec](r, n, kind, d)
	if kind == earlierHoldRelease {
		d.problems.Warnf(d.positionOf(n), d.subject, "write kind: "+HoldReleaseKind, "kind "+earlierHoldRelease+" is the earlier name of "+HoldReleaseKind)
	}
	p.HoldReleases = append(p.HoldReleases, &HoldRelease{o, string(s.Commit), s.Reason})
}

// parseScope returns the scope that is written, or the default. One that is not known counts
// as the default, and is a problem.
func (d *decoder) parseScope(n *yaml.Node, text string) string {
	switch text {
	case "", ScopeOutput:
	case ScopePromotion:
		return ScopePromotion
	default:
		d.addProblem(n, "write output or promotion", "scope cannot be %q", text)
	}
	return ScopeOutput
}

func (r *reader) newPromotion(o Object, s promotionSpec, d *decoder) *Promotion {
	p := &Promotion{Object: o, External: s.External}
	p.Limits = s.Limits.overrideLimits(DefaultLimits(), o.Pos, d)
	p.Lanes = r.newLanes(s.Lanes, o, d)
	for _, e := range s.Environments {
		stage := Stage{Name: e.Name.Text, Pos: r.positionAt(e.Name.Line), Record: e.Record, Merge: e.Merge, Queue: queueOf(&e.Queue, d)}
		for _, name := range e.After {
			stage.After = append(stage.After, name.Text)
		}
		d.checkOneOf(stage.Pos, "record", e.Record, "direct", "pull-request")
		d.checkOneOf(stage.Pos, "merge", e.Merge, mergeChoices...)
		stage.Limits = e.Limits.overrideLimits(p.Limits, stage.Pos, d)
		stage.Gates, stage.Proof = d.decodeGates(e.Gates), d.decodeGates(e.Proof)
		if e.Proof != nil && stage.Proof == nil {
			stage.Proof = []GateSpec{}
		}
		stage.Advance, stage.RestBudget = e.Advance.parse(stage.Pos, d)
		stage.Waves = newWaves(r, e.Waves, stage.RestBudget, d)
		if p.External && len(stage.Waves) > 0 {
			d.problems.Addf(stage.Waves[0].Pos, d.subject, "remove external, or the waves", "%s cannot have waves while others promote (external: true)", stage.Name)
		}
		p.Stages = append(p.Stages, stage)
	}
	return p
}

func (d *decoder) checkOneOf(pos problem.Pos, field, value string, known ...string) {
	if value != "" && !slices.Contains(known, value) {
		d.problems.Addf(pos, d.subject, "it is "+strings.Join(known, " or "), "%s cannot be %q", field, value)
	}
}

func queueOf(n *yaml.Node, d *decoder) Queue {
	n = yamldoc.ResolveAlias(n)
	switch {
	case n.Kind == 0 || yamldoc.IsNull(n):
		return Queue{Policy: QueueLatest}
	case n.Kind == yaml.MappingNode:
		var b struct {
			Batch time.Duration `yaml:"batch" required:"true"`
		}
		d.decodeValue(n, reflect.ValueOf(&b).Elem(), "queue")
		return Queue{QueueBatch, b.Batch}
	}
	q := Queue{Policy: d.decodeText(n, "queue", false)}
	switch {
	case q.Policy == QueueBatch:
		d.addProblem(n, "write it as queue: {batch: 4h}", "a batch needs a duration")
	case !slices.Contains([]string{QueueLatest, QueueEvery, QueuePinned}, q.Policy):
		d.addProblem(n, "write latest, every, pinned or {batch: 4h}", "queue cannot be %q", q.Policy)
	}
	return q
}
