package web

import (
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// verdictView is a verdict and its parts.
type verdictView struct {
	gate.Verdict
	Tone, Word string
	Until      moment
	Parts      []verdictView
}

// Verdict returns a verdict with its words.
func (v view) Verdict(g gate.Verdict) verdictView {
	shown := verdictView{Verdict: g, Tone: "busy", Word: "waits", Until: v.Moment(g.ValidUntil)}
	switch g.Status {
	case gate.Pass:
		shown.Tone, shown.Word = "good", "passes"
	case gate.Fail:
		shown.Tone, shown.Word = "bad", "fails"
	case gate.Wait:
	}
	for _, p := range g.Parts {
		shown.Parts = append(shown.Parts, v.Verdict(p))
	}
	return shown
}

// behindText returns how far a stage with a commit is behind the base, as text; "" for a commit that
// is not on the base's branch.
func behindText(s status.Stage, head string) string {
	switch {
	case s.Behind > 0:
		return text.Count(s.Behind, "commit") + " behind the base"
	case s.Commit == head:
		return "the newest of the base"
	default:
		return ""
	}
}

// stageTone groups the states of commits like those of environments.
func stageTone(s status.Stage) string {
	state := s.KnownState()
	switch {
	case state == status.StageVerified:
		return "good"
	case state == status.StageFailed, state == status.StageProblems, state == status.StageStopped:
		return "bad"
	case state == status.StageDeclined, state == status.StageEdited, state == status.StageForeign, !s.Merged && len(s.Withheld) > 0:
		return "stopped"
	default:
		return "busy"
	}
}

func isHeld(s status.Stage) bool { return s.Next.State == promote.Held }

// targetText returns which commit a stage gets or waits for, as text; "" if there is none.
func targetText(d promote.Decision) string {
	to := text.ShortCommit(d.Candidate)
	switch {
	case to == "":
		return ""
	case d.State == promote.Promotes:
		return "gets " + to + " now"
	case d.State == promote.Waiting, d.State == promote.Held:
		return "next: " + to
	default:
		return ""
	}
}

// NextDecision returns the earliest time at which a decision on a stage may change, but not before
// now; the zero moment if none is known.
func (v view) NextDecision(s status.Stage) moment {
	var first time.Time
	for _, at := range []time.Time{s.Next.Verdict.NextChange(), s.Proof.NextChange()} {
		if !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	if !first.IsZero() && first.Before(v.now) {
		first = v.now
	}
	return v.Moment(first)
}

// countAttention counts the environments that stay as they are until a person acts. One that is held
// does not count: the person who holds it knows.
func countAttention(all status.Snapshot) int {
	var names []string
	for _, e := range all.Environments {
		if t := stateTone(e.State); t == "stopped" || t == "bad" {
			names = append(names, e.Name)
		}
	}
	for _, s := range all.Chain.Stages {
		tone := stageTone(s)
		waits := tone == "bad" || tone == "stopped" && !isHeld(s)
		if waits && !slices.Contains(names, s.Environment) {
			names = append(names, s.Environment)
		}
	}
	return len(names)
}
