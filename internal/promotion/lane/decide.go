package lane

import (
	"cmp"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
)

// State is one word for what a lane could do in an environment.
type State string

// The states of a lane.
const (
	// Moves: it could get the candidate now, if its gates allow it.
	Moves State = "moves"
	// Independent: it would get the candidate without waiting for others, once its own objects are verified.
	Independent State = "independent"
	Waits       State = "waits"
)

// Decision is what a lane could do in an environment, and why.
type Decision struct {
	Lane  string `json:"lane"`
	State State  `json:"state"`
	// Current is the version that the environment has, and Candidate the one that it could get, or else waits for.
	Current   string `json:"from"`
	Candidate string `json:"to,omitempty"`
	// Waiting is the number of its versions that are newer than Current and not newer than Candidate.
	Waiting int `json:"waiting"`
	// With are the lanes that have to get theirs in the same step, because a commit changes both.
	With   []string `json:"with,omitempty"`
	Reason Reason   `json:"reason,omitzero"`
}

// Reason is why a lane waits.
type Reason struct {
	Kind ReasonKind `json:"kind"`
	// Commit is the commit that a reason is about, Lane another lane, and Environment another environment.
	Commit      string `json:"commit,omitempty"`
	Lane        string `json:"lane,omitempty"`
	Environment string `json:"environment,omitempty"`
	// Folder holds objects, as "cluster-type/target".
	Folder string `json:"folder,omitempty"`
	// Text is the reason of a verdict, or a problem.
	Text string `json:"text,omitempty"`
}

// ReasonKind is one word for a reason.
type ReasonKind string

// The kinds of reasons.
const (
	NotProven  ReasonKind = "not-proven"   // Text says why the candidate may not move on
	Joint      ReasonKind = "joint"        // Commit changes Lane too, which has to wait
	Shared     ReasonKind = "shared"       // the candidate changes Folder, which belongs to Lane
	Context    ReasonKind = "context"      // Environment verified it as a part of Commit, where Folder is different, probably because of Lane
	Unrendered ReasonKind = "unrendered"   // the environment cannot be rendered so: Text
	Unreported ReasonKind = "not-reported" // whether its own objects are ready in Environment is not reported
	Held       ReasonKind = "held"         // a person keeps it where it is: Text
)

// Commit is a commit that an environment waits for.
type Commit struct {
	ID    string   `json:"commit"`
	Lanes []string `json:"lanes"` // that it changes
	// Moves reports that all its lanes could get it now, and Independent that they could once it is verified.
	Moves       bool `json:"moves"`
	Independent bool `json:"independent"`
}

// Report is what lanes could do in an environment.
type Report struct {
	Environment string     `json:"environment"`
	Commits     []Commit   `json:"commits"` // that the environment waits for, newest first
	Decisions   []Decision `json:"lanes"`   // of lanes that have newer versions, sorted by name
	// Next is the base of the environment when the lanes have moved that may.
	Next Composition `json:"-"`
}

// Moving returns the decisions about the lanes that move.
func (r Report) Moving() []Decision {
	return slices.DeleteFunc(slices.Clone(r.Decisions), func(d Decision) bool { return d.State != Moves })
}

// RenderFunc renders the environment with a composed base.
type RenderFunc func(Composition) (Output, error)

// ProofFunc returns the verdict on the objects of a lane in an environment, as clusters have reported it: with its current
// base. known is false if they do not report these objects.
type ProofFunc func(environment, lane string) (v gate.Verdict, known bool)

// Stage is the observed state of an environment: the position is that of the platform.
type Stage struct {
	promote.Stage
	// Lanes are the commits of lanes that are not at that of the platform.
	Lanes map[string]string
	// Held are the reasons why lanes are held.
	Held map[string]string
}

// Has returns the commit that a stage has of a lane.
func (s Stage) Has(lane string) string { return cmp.Or(s.Lanes[lane], s.Commit) }

// Composition returns the base of a stage.
func (s Stage) Composition() Composition { return Composition{s.Commit, s.Lanes} }

// Input is what is known of the environments.
type Input struct {
	History     History
	Stages      []Stage
	Environment string // that is decided about
	Proof       ProofFunc
	Render      RenderFunc
	// Enter returns the verdict of the environment's gates on a version of a lane; nil lets all pass.
	Enter func(lane, version string) gate.Verdict
	Now   time.Time
	// VerifiedOnly leaves out whether lanes could move that are not verified, which takes renderings too.
	VerifiedOnly bool
}

// Decide returns what lanes could do in an environment. It renders the environment once for each lane that could
// move, and once for each base that one was verified with; not at all if none could.
func Decide(in Input) (Report, error) {
	i := slices.IndexFunc(in.Stages, func(s Stage) bool { return s.Name == in.Environment })
	d := decider{Input: in, stage: in.Stages[i], rendered: map[string]Output{}}
	if in.Enter == nil {
		d.Enter = func(string, string) gate.Verdict { return gate.Verdict{Gate: "gates", Status: gate.Pass} }
	}
	d.findCandidates()
	d.joinLanes()
	if err := d.checkGroups(); err != nil {
		return Report{}, err
	}
	return d.report(), nil
}

type decider struct {
	Input
	stage    Stage
	moves    []*move // by lane
	groups   [][]*move
	rendered map[string]Output // by the key of the composition
	// moved are the versions of the lanes that may move, and now is what the environment is with them.
	moved map[string]string
	now   Output
}

// move is what a lane may do.
type move struct {
	Decision
	alone    Decision            // before what others do was looked at
	eligible []string            // versions that it may get, newest first
	proven   []map[string]proofs // by environment before and version
}

// proofs are bases that a version was verified with: that of the environment, and the newest and the oldest one before it.
type proofs struct {
	present        *Composition
	newest, oldest string
}

func (p proofs) list() []Composition {
	var all []Composition
	if p.present != nil {
		all = append(all, *p.present)
	}
	for _, commit := range slices.Compact([]string{p.newest, p.oldest}) {
		if commit != "" {
			all = append(all, Composition{Platform: commit})
		}
	}
	return all
}

func (d *decider) findCandidates() {
	for _, lane := range d.History.Lanes() {
		line, current := d.History.Line(lane), d.History.Version(lane, d.stage.Has(lane))
		if d.stage.Commit == "" || current != "" && line.CountNewer(current) == 0 {
			continue
		}
		m := &move{Decision: Decision{Lane: lane, State: Waits, Current: current}}
		certain := d.decideLane(lane, line, false, m)
		if certain.State == promote.Current { // no environment before has a newer version
			continue
		}
		d.moves = append(d.moves, m)
		decision := certain
		if certain.State != promote.Promotes {
			decision = d.decideLane(lane, line, true, m)
		}
		m.Candidate = cmp.Or(decision.Candidate, certain.Candidate)
		switch {
		case d.stage.Held[lane] != "" && m.Candidate != "":
			m.Reason = Reason{Kind: Held, Text: d.stage.Held[lane]}
			continue
		case certain.State == promote.Promotes:
			m.State = Moves
		case decision.State == promote.Promotes:
			m.State, m.Reason = Independent, Reason{Kind: Unreported, Commit: m.Candidate, Environment: d.findUnreported(lane)}
		default:
			m.Reason = Reason{Kind: NotProven, Text: certain.Verdict.Reason}
			continue
		}
		m.eligible = append([]string{decision.Candidate}, decision.Skipped...)
	}
}

// decideLane returns the decision about a lane for the environment. hopeful takes objects on which nothing is reported for
// ready.
func (d *decider) decideLane(lane string, line promote.Line, hopeful bool, m *move) promote.Decision {
	stages := make([]promote.Stage, len(d.Stages))
	m.proven = nil
	at := 0
	for i, s := range d.Stages {
		var with map[string]proofs
		stages[i], with = d.laneStage(lane, s, hopeful)
		if s.Name == d.stage.Name {
			at = i
		}
		if slices.Contains(d.stage.After, s.Name) {
			m.proven = append(m.proven, with)
		}
	}
	enter := func(environment, version string) gate.Verdict {
		if environment != d.stage.Name { // nobody asks
			return gate.Verdict{}
		}
		return d.Enter(lane, version)
	}
	return promote.DecideStages(line, stages, enter, d.Now)[at]
}

// SimulateArrivals returns when a version of a lane would get to each environment, if it may move alone there.
func SimulateArrivals(in Input, lane, version string, enter, proof promote.ForecastFunc) []promote.Arrival {
	d := decider{Input: in}
	stages := make([]promote.Stage, len(in.Stages))
	for i, s := range in.Stages {
		stages[i], _ = d.laneStage(lane, s, false)
		if s.Held[lane] != "" {
			stages[i].HoldReason = s.Held[lane]
		}
	}
	return promote.SimulateArrivals(in.History.Line(lane), stages, version, enter, proof, in.Now)
}

// laneStage returns the state of a stage on the line of a lane, and the commits of the base that its versions were verified
// with.
func (d *decider) laneStage(lane string, of Stage, hopeful bool) (promote.Stage, map[string]proofs) {
	s, with := of.Stage, map[string]proofs{}
	note := func(commit string) {
		version := d.History.Version(lane, commit)
		p := with[version]
		if p.newest == "" || d.History.line.IsNewer(commit, p.newest) {
			p.newest = commit
		}
		if p.oldest == "" || d.History.line.IsNewer(p.oldest, commit) {
			p.oldest = commit
		}
		with[version] = p
	}
	whole := s.Position
	s.Floor, s.Ceiling = "", "" // the lane has one commit
	s.Commit = cmp.Or(d.History.Version(lane, of.Has(lane)), of.Has(lane))
	s.Proven = map[string]bool{}
	for commit, proven := range whole.Proven {
		if proven && d.History.line.IsNewer(whole.Commit, commit) {
			note(commit)
			s.Proven[d.History.Version(lane, commit)] = true
		}
	}
	if v, known := d.Proof(s.Name, lane); whole.Proof.Status != gate.Pass && known {
		s.Proof = v
	} else if whole.Proof.Status != gate.Pass && hopeful && whole.Merged {
		s.Proof = gate.Verdict{Gate: "proof", Status: gate.Pass}
	}
	switch {
	case s.Merged && s.Proof.Status == gate.Pass:
		p, present := with[s.Commit], of.Composition()
		p.present = &present
		with[s.Commit] = p
	case s.StoppedReason == "" && s.Proven[s.Commit]: // as a part of an earlier commit of the base
		s.Merged, s.Proof = true, gate.Verdict{Gate: "proof", Status: gate.Pass}
	}
	return s, with
}

func (d *decider) findUnreported(lane string) string {
	for _, s := range d.Stages {
		if !slices.Contains(d.stage.After, s.Name) || s.Proof.Status == gate.Pass {
			continue
		}
		if _, known := d.Proof(s.Name, lane); !known {
			return s.Name
		}
	}
	return d.stage.Name
}

// joinLanes lets no lane get a commit that changes another lane too, unless both get it in one step; and puts lanes that
// have to move in one step into one group.
func (d *decider) joinLanes() {
	find := func(lane string) *move {
		i := slices.IndexFunc(d.moves, func(m *move) bool { return m.Lane == lane })
		if i < 0 {
			return nil
		}
		return d.moves[i]
	}
	for changed := true; changed; {
		changed = false
		for _, m := range d.moves {
			for len(m.eligible) > 0 {
				commit, other := d.findObstacle(m, find)
				if other == "" {
					break
				}
				changed = true
				m.eligible = slices.DeleteFunc(m.eligible, func(v string) bool { return d.History.includes(v, commit) })
				if len(m.eligible) == 0 {
					m.State, m.Reason = Waits, Reason{Kind: Joint, Commit: commit, Lane: other}
					break
				}
				m.Candidate = m.eligible[0]
				if v := d.Enter(m.Lane, m.Candidate); v.Status != gate.Pass {
					m.eligible, m.State, m.Reason = nil, Waits, Reason{Kind: NotProven, Text: v.Reason}
				}
			}
		}
	}
	joined := map[*move]bool{}
	for _, m := range d.moves {
		if len(m.eligible) == 0 || joined[m] {
			continue
		}
		group := []*move{m}
		joined[m] = true
		for i := 0; i < len(group); i++ {
			for _, s := range d.History.stepsBetween(group[i].Lane, group[i].Current, group[i].Candidate) {
				for _, lane := range s.Lanes {
					if other := find(lane); other != nil && !joined[other] && !d.hasOf(lane, s.Commit) {
						group, joined[other] = append(group, other), true
					}
				}
			}
		}
		d.groups = append(d.groups, group)
	}
}

func (d *decider) findObstacle(m *move, find func(string) *move) (commit, lane string) {
	for _, s := range d.History.stepsBetween(m.Lane, m.Current, m.Candidate) {
		for _, name := range s.Lanes {
			if d.hasOf(name, s.Commit) { // the first lane was rolled back
				continue
			}
			if other := find(name); other == nil || len(other.eligible) == 0 || !d.History.includes(other.Candidate, s.Commit) {
				return s.Commit, name
			}
		}
	}
	return "", ""
}

func (d *decider) hasOf(lane, commit string) bool {
	return d.History.contains(d.stage.Has(lane), commit)
}

func (d *decider) report() Report {
	r := Report{Environment: d.stage.Name, Commits: []Commit{}, Decisions: []Decision{}}
	moves := map[string]*move{}
	for _, m := range d.moves {
		moves[m.Lane] = m
		line := d.History.Line(m.Lane)
		m.Waiting = max(0, line.CountNewer(m.Current)-line.CountNewer(m.Candidate))
		r.Decisions = append(r.Decisions, m.Decision)
	}
	versions := map[string]string{}
	for _, moving := range r.Moving() {
		versions[moving.Lane] = moving.Candidate
	}
	r.Next = d.History.Settle(d.stage.Composition().move(versions, d.History.Lanes()))
	for _, s := range d.waitingSteps() {
		c := Commit{ID: s.Commit, Lanes: s.Lanes, Moves: true, Independent: true}
		for _, lane := range s.Lanes {
			m := moves[lane]
			gets := m != nil && m.State != Waits && d.History.includes(m.Candidate, s.Commit)
			c.Moves, c.Independent = c.Moves && gets && m.State == Moves, c.Independent && gets
		}
		r.Commits = append(r.Commits, c)
	}
	return r
}

// waitingSteps returns the commits of which the environment has no lane, and of which all environments before it have one, newest
// first.
func (d *decider) waitingSteps() []Step {
	if d.stage.Commit == "" {
		return nil
	}
	lacks := func(s Stage) func(Step) bool {
		return func(step Step) bool {
			return !slices.ContainsFunc(step.Lanes, func(lane string) bool { return d.History.contains(s.Has(lane), step.Commit) })
		}
	}
	waiting := slices.DeleteFunc(slices.Clone(d.History.steps[:d.History.line.CountNewer(d.stage.Commit)]), func(s Step) bool { return !lacks(d.stage)(s) })
	for _, s := range d.Stages {
		if slices.Contains(d.stage.After, s.Name) {
			waiting = slices.DeleteFunc(waiting, lacks(s))
		}
	}
	return waiting
}
