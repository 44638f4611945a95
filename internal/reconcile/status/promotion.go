package status

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
)

// Chain is how far commits of the base have been promoted.
type Chain struct {
	// Inferred is what the order was inferred from; "" if it is written.
	Inferred string `json:"inferred,omitempty"`
	// External reports that another system promotes commits.
	External bool `json:"external,omitempty"`
	// FromGit reports that only Git was read: proofs and gates are not known.
	FromGit bool   `json:"fromGit,omitempty"`
	Head    string `json:"head,omitempty"` // of the base's branch
	// Unconnected reports that an environment waits for the reports of clusters, and that no
	// cluster has reported to any.
	Unconnected bool `json:"unconnected,omitempty"`
	// Problems stop all promotions.
	Problems problem.List `json:"problems"`
	Stages   []Stage      `json:"stages"` // in the order of promotion
	// Commits are the newest of the base's branch that are promoted, newest first, and then those that
	// environments have besides. They have an answer of their own in the API.
	Commits []Commit `json:"-"`
	// Checked is when the report was made.
	Checked time.Time `json:"checked,omitzero"`
}

// Commit is what people know a commit of the base by.
type Commit struct {
	ID      string    `json:"id"`
	Subject string    `json:"subject"` // the first line of its message, without what looks like a secret
	Author  string    `json:"author"`  // the name alone
	When    time.Time `json:"when,omitzero"`
	// Unrendered reports that it changes nothing that is rendered, so that no environment gets it.
	Unrendered bool `json:"unrendered,omitempty"`
	// Paths are the files that it changes, sorted, and MorePaths counts those that are not listed.
	Paths     []string `json:"-"`
	MorePaths int      `json:"-"`
	// Beside is where it is, if it is not on the line of commits that are promoted; nil if it is.
	Beside *Position `json:"-"`
}

// FindCommit returns a commit of the base; with its id alone if nothing else is known of it.
func (c Chain) FindCommit(id string) Commit {
	i := c.IndexCommit(id)
	if i < 0 {
		return Commit{ID: id}
	}
	return c.Commits[i]
}

// IndexCommit returns the index of a commit in Commits; -1 if it is not among them.
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
	// Behind is how many commits the base's branch has had since.
	Behind   int       `json:"behind"`
	Merged   bool      `json:"merged"`
	Deployed time.Time `json:"deployed,omitzero"`
	Hold     string    `json:"hold,omitempty"`
	// HeldThen is Hold of a stage at an earlier time, without how a person ends it.
	HeldThen string `json:"-"`
	// ActionOnPage is Action for the page, which has commands apart from sentences; "" if it was not made for the page.
	ActionOnPage string `json:"-"`
	// Frozen is which freeze covers it now, and until when; "" for none. It stops the next commit, which there may not
	// be yet.
	Frozen string `json:"frozen,omitempty"`
	// Turns are the commits that it got, as far as they are known, newest first.
	Turns []Turn `json:"-"`
	// Running is the commit that the output branch holds the output of; "" if it holds none, or that is not known.
	Running string `json:"-"`
	// FirstCommit reports that its branch names no other commit that it had, and AsksNobody that neither its gates nor
	// those of its proof ask for approvals.
	FirstCommit bool `json:"-"`
	AsksNobody  bool `json:"-"`
	// Groups are those of its listed clusters, by their names; nil if it lists none with a group.
	Groups map[string]string `json:"-"`
	// State is one word for the state of the commit. Store.Snapshot fills it in.
	State StageState `json:"state,omitempty"`
	// Shown is the one state that people are shown: State, unless its output, a hold or a freeze is more urgent.
	// Store.Snapshot fills it in.
	Shown StageState `json:"shown,omitempty"`
	// Withheld is why only a person may merge the output of the commit.
	Withheld []Withheld `json:"withheld,omitempty"`
	// Removals are the locations that the environment has left, and whose output is still to be
	// removed. Store.Snapshot fills them in.
	Removals []Removal `json:"removals,omitempty"`
	// Empty is where to look if nothing is assigned in the environment; "" otherwise.
	// Store.Snapshot fills it in.
	Empty string `json:"empty,omitempty"`
	// Pull is the pull request of the output that is open or was declined; nil without one.
	// Store.Snapshot fills it in.
	Pull *Pull `json:"pull,omitempty"`
	// StalePull is the open pull request of before, if problems stop the environment. Store.Snapshot fills it in.
	StalePull *Pull `json:"stalePull,omitempty"`
	// Action is what a person has to do, or what the environment waits for, in one sentence.
	// Store.Snapshot fills it in.
	Action string `json:"action,omitempty"`
	// Proof is the verdict on the current commit, and Next the decision.
	Proof gate.Verdict     `json:"proof"`
	Next  promote.Decision `json:"next"`
}

// HasProblems reports whether problems keep the commit of an environment from being rendered there.
func (s Stage) HasProblems() bool {
	return s.Proof.Status == gate.Fail && slices.ContainsFunc(s.Proof.Parts, func(v gate.Verdict) bool { return v.Kind == gate.KindProblems })
}

// SetPromotions replaces the report of promotions.
func (s *Store) SetPromotions(c Chain) {
	c = c.clone()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.chain = c
	head := c.FindCommit(c.Head)
	if head.When.IsZero() { // nothing is known of it
		head = Commit{}
	}
	s.followProblems("", c.Problems, []Input{{Layer: "base", Commit: c.Head, About: head}}, c.Checked)
	s.announceChange()
}

// ConnectHint returns what to do about a chain that is unconnected, as sentences; "" for another one.
func (c Chain) ConnectHint() string {
	if !c.Unconnected {
		return ""
	}
	return "No cluster has reported yet, so nothing goes on to the next environment. https://github.com/fairlead-io/fairlead/blob/main/docs/how-to/bootstrap-a-cluster.md says how to connect one. To promote without clusters, write proof: [merged] in each environment of .fairlead/promotion.yaml."
}

// EarlyHint names the environments whose output is proposed before the environments that they come after have verified
// its commit, as sentences; "" for none. A new control plane begins so, and so does an environment without a record.
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

// Hints returns what is unusual about the chain, and what to do about it: a paragraph for each.
func (c Chain) Hints() []string {
	return slices.DeleteFunc([]string{c.ConnectHint(), c.EarlyHint()}, func(s string) bool { return s == "" })
}

// FindStage returns the promotion state of an environment.
func (c Chain) FindStage(environment string) (Stage, bool) {
	i := c.rank(environment)
	if i == len(c.Stages) {
		return Stage{}, false
	}
	return c.Stages[i], true
}

// rank returns the place of an environment in the order of promotion; others come last.
func (c Chain) rank(environment string) int {
	i := slices.IndexFunc(c.Stages, func(s Stage) bool { return s.Environment == environment })
	if i < 0 {
		return len(c.Stages)
	}
	return i
}

// clone returns a copy that shares nothing that can be written, and has no nil list that JSON would
// show.
func (c Chain) clone() Chain {
	c.Problems = append(problem.List{}, c.Problems...)
	c.Commits = slices.Clone(c.Commits)
	stages := make([]Stage, len(c.Stages))
	for i, s := range c.Stages {
		s.After = slices.Clone(s.After)
		s.Turns = slices.Clone(s.Turns)
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
