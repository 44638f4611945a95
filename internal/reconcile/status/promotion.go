package status

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
)

// Chain is the promotion state of all environments.
type Chain struct {
	// Inferred is the source of an inferred order; "" if the order is written.
	Inferred string `json:"inferred,omitempty"`
	// External is true if another system promotes commits.
	External bool `json:"external,omitempty"`
	// FromGit is true if only Git was read, so that proofs and gates are unknown.
	FromGit bool   `json:"fromGit,omitempty"`
	Head    string `json:"head,omitempty"` // of the base's branch
	// Unconnected is true if an environment waits for reports, and no cluster has reported to any.
	Unconnected bool `json:"unconnected,omitempty"`
	// Problems stop all promotions.
	Problems problem.List `json:"problems"`
	Stages   []Stage      `json:"stages"` // in promotion order
	// Commits are the newest commits of the base that are promoted, newest first, then others that
	// environments have.
	Commits []Commit `json:"-"`
	// Checked is the time of the report.
	Checked time.Time `json:"checked,omitzero"`
}

// Commit describes a commit of the base.
type Commit struct {
	ID      string    `json:"id"`
	Subject string    `json:"subject"` // the first line of its message, without secrets
	Author  string    `json:"author"`  // only the name
	When    time.Time `json:"when,omitzero"`
	// Unrendered is true if no environment gets it, because it changes nothing that is rendered.
	Unrendered bool     `json:"unrendered,omitempty"`
	Lanes      []string `json:"lanes,omitempty"` // that it changes
	// Paths are the changed files, sorted; MorePaths counts those not listed.
	Paths     []string `json:"-"`
	MorePaths int      `json:"-"`
	// Beside is the position of a commit that is not on the promoted line; nil otherwise.
	Beside *Position `json:"-"`
}

// FindCommit returns a commit of the base, with only its id if unknown.
func (c Chain) FindCommit(id string) Commit {
	i := c.IndexCommit(id)
	if i < 0 {
		return Commit{ID: id}
	}
	return c.Commits[i]
}

// ListCommits returns the commits of the base, and then the edits of all environments.
func (c Chain) ListCommits() []Commit {
	all := slices.Clone(c.Commits)
	for _, s := range c.Stages {
		all = append(all, s.Edits...)
	}
	return all
}

// FindEdit returns the first environment that has a commit on its own branch, and its index among the edits; -1 for none.
func (c Chain) FindEdit(id string) (Stage, int) {
	for _, s := range c.Stages {
		if i := slices.IndexFunc(s.Edits, func(one Commit) bool { return one.ID == id }); i >= 0 {
			return s, i
		}
	}
	return Stage{}, -1
}

// IndexCommit returns the index of a commit in Commits, or -1.
func (c Chain) IndexCommit(id string) int {
	return slices.IndexFunc(c.Commits, func(one Commit) bool { return one.ID == id })
}

// Stage is the promotion state of an environment.
type Stage struct {
	Environment string   `json:"environment"`
	After       []string `json:"after,omitempty"`
	// Commit is the promoted commit of the base; "" if there is none.
	Commit string    `json:"commit,omitempty"`
	Since  time.Time `json:"since,omitzero"`
	// Lanes are the lanes that have another commit than Commit, or wait for one, by name.
	Lanes []Lane `json:"lanes,omitempty"`
	// Releases are the versions of applications that lanes promote, by lane.
	Releases []Release `json:"releases,omitempty"`
	// Waves are the waves of its running advance, in their order.
	Waves []Wave `json:"waves,omitempty"`
	// Advance is the id of this advance, also of one whose first wave is not merged.
	Advance string `json:"advance,omitempty"`
	// Behind is the number of newer commits in the base's branch.
	Behind   int       `json:"behind"`
	Merged   bool      `json:"merged"`
	Deployed time.Time `json:"deployed,omitzero"`
	Hold     string    `json:"hold,omitempty"`
	// HeldThen is Hold at an earlier time, without how to end it.
	HeldThen string `json:"-"`
	// ActionOnPage is Action without commands, which the page shows separately.
	ActionOnPage string `json:"-"`
	// Frozen is the current freeze and its end; "" for none. It stops the next commit, even before
	// there is one.
	Frozen string `json:"frozen,omitempty"`
	// Turns are its known promotions and rollbacks, newest first.
	Turns []Turn `json:"-"`
	// Running is the commit whose output is in the output branch; "" if unknown.
	Running string `json:"-"`
	// Edits are the newest commits that people made on its own branch, newest first, and RunningEdit is the newest commit of
	// that branch whose output is in the output branch; "" if unknown.
	Edits       []Commit `json:"-"`
	RunningEdit string   `json:"-"`
	// FirstCommit is set if its branch has no earlier commit, and AsksNobody if its gates and proof
	// need no approvals.
	FirstCommit bool `json:"-"`
	AsksNobody  bool `json:"-"`
	// Groups has the groups of its listed clusters, by name.
	Groups map[string]string `json:"-"`
	// State is the state of its commit.
	State StageState `json:"state,omitempty"`
	// Shown is the most urgent state: State, or that of its output, a hold or a freeze.
	Shown StageState `json:"shown,omitempty"`
	// Withheld has the reasons why only a person may merge its output.
	Withheld []Withheld `json:"withheld,omitempty"`
	// Removals are previous locations whose output must be removed.
	Removals []Removal `json:"removals,omitempty"`
	// Empty is where to look if nothing is assigned; "" otherwise.
	Empty string `json:"empty,omitempty"`
	// Pull is the open or declined pull request of its output, if any.
	Pull *Pull `json:"pull,omitempty"`
	// StalePull is the open pull request from before, if problems stop the environment.
	StalePull *Pull `json:"stalePull,omitempty"`
	// Action is what a person must do, or what the environment waits for, in one sentence.
	Action string `json:"action,omitempty"`
	// Proof is the verdict on the current commit, and Next the decision.
	Proof gate.Verdict     `json:"proof"`
	Next  promote.Decision `json:"next"`
}

// Lane is the promotion state of a part of the base in an environment.
type Lane struct {
	Name string `json:"name"`
	// Commit is the commit of the base that the environment has of the lane; "" if it is that of the environment.
	Commit string `json:"commit,omitempty"`
	// State is how far Commit is there, if the environment has failed as a whole, and Failure why it failed itself.
	State   StageState `json:"state,omitempty"`
	Failure string     `json:"failure,omitempty"`
	// Next is the commit that the lane gets or waits for, Waiting the number of its versions up to that, and Reason why.
	Next    string `json:"next,omitempty"`
	Waiting int    `json:"waiting,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Hold    string `json:"hold,omitempty"`
}

// Release is the promotion state of a lane's versions of applications in an environment.
type Release struct {
	Lane string `json:"lane"`
	// Name is that of the release that the environment has; "" for none, so that it follows the branches of its workloads.
	Name   string `json:"name,omitempty"`
	Commit string `json:"commit,omitempty"`
	// Versions are those of the release, as "checkout 1a2b3c4".
	Versions []string   `json:"versions"`
	Since    time.Time  `json:"since,omitzero"`
	State    StageState `json:"state"`
	Failure  string     `json:"failure,omitempty"` // why it failed
	// Next is the release that the environment gets or waits for, and Change how it differs, as "checkout 1a2b3c4 -> 4d5e6f7".
	Next       string   `json:"next,omitempty"`
	NextCommit string   `json:"nextCommit,omitempty"`
	Change     []string `json:"change,omitempty"`
	// Verdict is why it waits.
	Verdict gate.Verdict `json:"verdict"`
	Hold    string       `json:"hold,omitempty"`
}

// FindRelease returns the release of a lane; false if none is known.
func (s Stage) FindRelease(lane string) (Release, bool) {
	i := slices.IndexFunc(s.Releases, func(r Release) bool { return r.Lane == lane })
	if i < 0 {
		return Release{}, false
	}
	return s.Releases[i], true
}

// LaneNames returns the reported lanes, sorted.
func LaneNames(c Chain) []string {
	names := map[string]bool{}
	for _, s := range c.Stages {
		for _, l := range s.Lanes {
			names[l.Name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// FindMissingLane returns the first lane of which a stage does not have what the i-th commit changes.
func FindMissingLane(c Chain, s Stage, i int) (Lane, bool) {
	for _, name := range c.Commits[i].Lanes {
		l := s.FindLane(name)
		has := c.IndexCommit(cmp.Or(l.Commit, s.Commit))
		if has != i && (has < 0 || !c.Contains(has, i)) {
			return l, true
		}
	}
	return Lane{}, false
}

// Wave is the progress of a part of an environment that changes before or after others.
type Wave struct {
	Name         string   `json:"name"`
	ClusterTypes []string `json:"clusterTypes"` // that change
	// State is waiting, proposed, rolling-out, verified or failed.
	State  StageState `json:"state"`
	Merged time.Time  `json:"merged,omitzero"`
	Reason string     `json:"reason,omitempty"` // why it waits, failed or was skipped
	// LacksApproval is set if its gates or its proof wait for the approval of a person.
	LacksApproval bool `json:"lacksApproval,omitempty"`
	// Clusters is the number of its clusters: those that cluster types announce, or that report, if these
	// are more. Ready and Failed count reports.
	Clusters int `json:"clusters"`
	Ready    int `json:"ready"`
	Failed   int `json:"failed"`
}

// FindLane returns a lane, with only its name if it is where the environment is.
func (s Stage) FindLane(name string) Lane {
	for _, l := range s.Lanes {
		if l.Name == name {
			return l
		}
	}
	return Lane{Name: name}
}

// HasProblems reports whether problems prevent rendering of its commit.
func (s Stage) HasProblems() bool {
	return s.Proof.Status == gate.Fail && slices.ContainsFunc(s.Proof.Parts, func(v gate.Verdict) bool { return v.Kind == gate.KindProblems })
}

// SetPromotions replaces the report of promotions. Snapshot sets State, Shown, Removals, Empty,
// Pull, StalePull and Action.
func (s *Store) SetPromotions(c Chain) {
	c = c.clone()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.chain = c
	for _, stage := range c.Stages {
		if _, reported := s.environments[stage.Environment]; reported {
			s.followState(stage.Environment, c.Checked)
		}
	}
	head := c.FindCommit(c.Head)
	if head.When.IsZero() { // unknown
		head = Commit{}
	}
	s.followProblems("", c.Problems, []Input{{Layer: "base", Commit: c.Head, About: head}}, c.Checked)
	s.announceChange()
}

// ConnectHint returns how to connect clusters if the chain is unconnected, or "".
func (c Chain) ConnectHint() string {
	if !c.Unconnected {
		return ""
	}
	return "No cluster has reported yet, so nothing goes on to the next environment. https://github.com/fairlead-io/fairlead/blob/main/docs/how-to/bootstrap-a-cluster.md says how to connect one. To promote without clusters, write proof: [merged] in each environment of .fairlead/promotion.yaml."
}

// EarlyHint names environments that propose a commit before earlier ones verified it, or "": in a
// new control plane, or without a record.
func (c Chain) EarlyHint() string {
	var early, unverified []string
	for _, s := range c.Stages {
		if s.Commit == "" || s.State != StageProposed {
			continue
		}
		for _, name := range s.After {
			u, known := c.FindStage(name)
			if !known || u.Commit != s.Commit || u.State == StageVerified {
				continue
			}
			if !slices.Contains(early, s.Environment) {
				early = append(early, s.Environment)
			}
			if !slices.Contains(unverified, name) {
				unverified = append(unverified, name)
			}
		}
	}
	unverified = slices.DeleteFunc(unverified, func(name string) bool { return slices.Contains(early, name) })
	switch {
	case len(unverified) == 0:
		return ""
	case len(early) == 1:
		return fmt.Sprintf("The pull request of %s is open, but its commit is not verified in %s. Merge it once it is.", early[0], text.Join(unverified, " and "))
	}
	return fmt.Sprintf("The pull requests of %s are open, but their commit is not verified in %s. Merge them once it is, in this order.", text.Join(early, " and "), text.Join(unverified, " and "))
}

// Hints returns hints about the chain, one per paragraph.
func (c Chain) Hints() []string {
	return slices.DeleteFunc([]string{c.ConnectHint(), c.EarlyHint()}, func(s string) bool { return s == "" })
}

// FindStage returns the stage of an environment, and false if unknown.
func (c Chain) FindStage(environment string) (Stage, bool) {
	i := c.rank(environment)
	if i == len(c.Stages) {
		return Stage{}, false
	}
	return c.Stages[i], true
}

func (c Chain) rank(environment string) int {
	i := slices.IndexFunc(c.Stages, func(s Stage) bool { return s.Environment == environment })
	if i < 0 {
		return len(c.Stages)
	}
	return i
}

// clone returns an independent copy without nil lists that JSON would show.
func (c Chain) clone() Chain {
	c.Problems = append(problem.List{}, c.Problems...)
	c.Commits = slices.Clone(c.Commits)
	stages := make([]Stage, len(c.Stages))
	for i, s := range c.Stages {
		s.After = slices.Clone(s.After)
		s.Turns = slices.Clone(s.Turns)
		s.Waves = slices.Clone(s.Waves)
		s.Releases = slices.Clone(s.Releases)
		s.Groups = maps.Clone(s.Groups)
		s.Withheld = slices.Clone(s.Withheld)
		s.Removals = cloneRemovals(s.Removals)
		s.Pull, s.StalePull = s.Pull.clone(), s.StalePull.clone()
		s.Proof = copyVerdict(s.Proof)
		s.Next.Skipped = slices.Clone(s.Next.Skipped)
		s.Next.Verdict = copyVerdict(s.Next.Verdict)
		stages[i] = s
	}
	c.Stages = stages
	return c
}

func copyVerdict(v gate.Verdict) gate.Verdict {
	v.Parts = slices.Clone(v.Parts)
	for i, p := range v.Parts {
		v.Parts[i] = copyVerdict(p)
	}
	return v
}
