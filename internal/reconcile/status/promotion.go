package status

import (
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
)

// Chain is how far commits of the base have got.
type Chain struct {
	// Inferred says what the chain was made of; "" if somebody has written it.
	Inferred string `json:"inferred,omitempty"`
	// External says that others move commits.
	External bool   `json:"external,omitempty"`
	Head     string `json:"head,omitempty"` // of the base's branch
	// Problems keep everything where it is.
	Problems problem.List `json:"problems"`
	Stages   []Stage      `json:"stages"` // in the order of promotion
	// Checked is when this was found.
	Checked time.Time `json:"checked,omitzero"`
}

// Stage is how far an environment has got.
type Stage struct {
	Environment string   `json:"environment"`
	After       []string `json:"after,omitempty"`
	// Commit is the one of the base that it was given; "" if it was given none.
	Commit string    `json:"commit,omitempty"`
	Since  time.Time `json:"since,omitzero"`
	// Behind is how many commits the base's branch has had since.
	Behind   int       `json:"behind"`
	Merged   bool      `json:"merged"`
	Deployed time.Time `json:"deployed,omitzero"`
	Hold     string    `json:"hold,omitempty"`
	// Withheld says why only a person may merge the output of the commit.
	Withheld []Withheld `json:"withheld,omitempty"`
	// Removals are the places that the environment has left, and whose output is still to be
	// removed. Store.Snapshot fills them in.
	Removals []Removal `json:"removals,omitempty"`
	// Proof is the verdict on the commit that it has, Next what it should do.
	Proof gate.Verdict     `json:"proof"`
	Next  promote.Decision `json:"next"`
}

// BrokenGate is the part of a proof that fails if the environment cannot be rendered.
const BrokenGate = "problems"

// Broken reports whether problems keep the commit of an environment from being rendered
// there.
func (s Stage) Broken() bool {
	return s.Proof.Status == gate.Fail && slices.ContainsFunc(s.Proof.Parts, func(v gate.Verdict) bool { return v.Gate == BrokenGate })
}

// SetChain replaces what is known of promotions.
func (s *Store) SetChain(c Chain) {
	c = c.clone()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.chain = c
}

// Stage gives what is known of an environment's promotions.
func (c Chain) Stage(environment string) (Stage, bool) {
	i := slices.IndexFunc(c.Stages, func(s Stage) bool { return s.Environment == environment })
	if i < 0 {
		return Stage{}, false
	}
	return c.Stages[i], true
}

// clone gives a copy that shares nothing that can be written, and has no nil list
// that JSON would show.
func (c Chain) clone() Chain {
	c.Problems = append(problem.List{}, c.Problems...)
	stages := make([]Stage, len(c.Stages))
	for i, s := range c.Stages {
		s.After = slices.Clone(s.After)
		s.Withheld = slices.Clone(s.Withheld)
		s.Removals = cloneRemovals(s.Removals)
		s.Proof = cloneVerdict(s.Proof)
		s.Next.Skipped = slices.Clone(s.Next.Skipped)
		s.Next.Verdict = cloneVerdict(s.Next.Verdict)
		stages[i] = s
	}
	c.Stages = stages
	return c
}

func cloneVerdict(v gate.Verdict) gate.Verdict {
	v.Parts = slices.Clone(v.Parts)
	for i, p := range v.Parts {
		v.Parts[i] = cloneVerdict(p)
	}
	return v
}
