package web

import (
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// chainView is the part of the page about promotions.
type chainView struct {
	status.Chain
	Head    string
	Stopped bool // problems keep everything where it is
	Rows    []stageView
	Checked moment
}

type stageView struct {
	status.Stage
	Place    string // in the order: "first", "after dev, test"
	Short    string
	Behind   string // "2 commits behind the base"; "" if that is not known
	Since    moment
	Deployed moment
	Tone     string
	Target   string // what it gets or waits for
	Reason   string
	Drops    string
	Next     verdictView
	Proof    verdictView
	ProofSay string // "proven"; "" if there is no commit
	Failed   bool   // the commit that it has did
	Look     moment // the earliest time at which a verdict may be another
}

// verdictView is a verdict and its parts.
type verdictView struct {
	gate.Verdict
	Tone, Word string
	Until      moment
	Parts      []verdictView
}

// newChainView returns the view of a chain; nil if there is none.
func newChainView(c status.Chain, now time.Time) *chainView {
	if !c.External && len(c.Problems) == 0 && len(c.Stages) == 0 {
		return nil
	}
	v := &chainView{Chain: c, Head: promote.ShortID(c.Head), Stopped: c.Problems.Stops(), Checked: newMoment(c.Checked, now)}
	for _, s := range c.Stages {
		v.Rows = append(v.Rows, newStageView(s, c.Head, now))
	}
	return v
}

func newStageView(s status.Stage, head string, now time.Time) stageView {
	v := stageView{
		Stage:    s,
		Place:    "first",
		Short:    promote.ShortID(s.Commit),
		Behind:   behindText(s, head),
		Since:    newMoment(s.Since, now),
		Deployed: newMoment(s.Deployed, now),
		Tone:     stageTone(s),
		Target:   targetText(s.Next),
		Reason:   s.Next.Verdict.Reason,
		Next:     newVerdictView(s.Next.Verdict, now),
		Proof:    newVerdictView(s.Proof, now),
		Look:     newMoment(nextDecisionTime(s, now), now),
	}
	if len(s.After) > 0 {
		v.Place = "after " + strings.Join(s.After, ", ")
	}
	if s.Commit != "" {
		v.ProofSay = proofWord(s.Proof.Status)
		v.Failed = s.Proof.Status == gate.Fail
	}
	var drops []string
	for _, commit := range s.Next.Skipped {
		drops = append(drops, promote.ShortID(commit))
	}
	v.Drops = strings.Join(drops, ", ")
	return v
}

func newVerdictView(g gate.Verdict, now time.Time) verdictView {
	v := verdictView{Verdict: g, Tone: "busy", Word: "waits", Until: newMoment(g.ValidUntil, now)}
	switch g.Status {
	case gate.Pass:
		v.Tone, v.Word = "good", "passes"
	case gate.Fail:
		v.Tone, v.Word = "bad", "fails"
	case gate.Wait:
	}
	for _, p := range g.Parts {
		v.Parts = append(v.Parts, newVerdictView(p, now))
	}
	return v
}

// behindText returns how far a stage is behind the base, as text; "" for a commit that is not
// on the base's branch.
func behindText(s status.Stage, head string) string {
	switch {
	case s.Commit == "":
		return ""
	case s.Behind > 0:
		return text.Count(s.Behind, "commit") + " behind the base"
	case s.Commit == head:
		return "the newest of the base"
	default:
		return ""
	}
}

// stageTone groups the states like those of environments.
func stageTone(s status.Stage) string {
	switch s.Next.State {
	case promote.Current:
		if s.Commit == "" {
			return "busy" // nothing is wrong, and nothing is there yet
		}
		return "good"
	case promote.Held:
		return "stopped"
	case promote.Stopped:
		return "bad"
	default:
		return "busy"
	}
}

// targetText returns which commit a stage gets or waits for, as text; "" if there is none.
func targetText(d promote.Decision) string {
	to := promote.ShortID(d.Candidate)
	switch {
	case to == "":
		return ""
	case d.State == promote.Promotes:
		return "gets " + to + " now"
	case d.State == promote.Waiting:
		return "for " + to
	case d.State == promote.Held:
		return to + " would come"
	default:
		return ""
	}
}

func proofWord(s gate.Status) string {
	switch s {
	case gate.Pass:
		return "proven"
	case gate.Fail:
		return "failed"
	default:
		return "not proven yet"
	}
}

// nextDecisionTime returns the earliest time at which a decision on a stage may change, but not before
// now; the zero time if none is known.
func nextDecisionTime(s status.Stage, now time.Time) time.Time {
	var first time.Time
	for _, at := range []time.Time{s.Next.Verdict.NextChange(), s.Proof.NextChange()} {
		if !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	if !first.IsZero() && first.Before(now) {
		return now
	}
	return first
}

// needsPerson reports whether a stage stays as it is until a person acts. A held stage
// does not count: the person who holds it knows.
func needsPerson(s status.Stage) bool {
	return s.Next.State == promote.Stopped || s.Commit != "" && s.Proof.Status == gate.Fail
}

// countAttention counts the environments that wait for a person, for whatever reason.
func countAttention(all status.Snapshot) int {
	var names []string
	for _, e := range all.Environments {
		if t := stateTone(e.State); t == "stopped" || t == "bad" {
			names = append(names, e.Name)
		}
	}
	for _, s := range all.Chain.Stages {
		if needsPerson(s) && !slices.Contains(names, s.Environment) {
			names = append(names, s.Environment)
		}
	}
	return len(names)
}
