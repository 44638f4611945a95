package promote

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/rollout"
)

// decideWithoutCandidate completes the decision for a stage that has no candidate, with the reason.
// The stage waits for the newest commit of the stages directly before it.
func (c chain) nothing(s Stage, d Decision) Decision {
	for _, name := range s.After {
		if u := c.stage(name); u != nil && c.history.Newer(u.Commit, s.Commit) && (d.To == "" || c.history.Newer(u.Commit, d.To)) {
			d.To = u.Commit
		}
	}
	if d.To != "" {
		d.State, d.Verdict = Waiting, gate.All(s.Name, c.missing(s, d.To))
	} else {
		d.State, d.Verdict = Current, gate.Verdict{Gate: s.Name, Status: gate.Pass, Reason: c.noneNewer(s)}
	}
	if s.Hold != "" {
		d.State, d.Verdict.Status, d.Verdict.Reason = Held, gate.Wait, held(s)
	}
	return d
}

// noCandidateReason returns why there is no commit to wait for.
func (c chain) noneNewer(s Stage) string {
	switch {
	case c.history.Head() == "":
		return "the base has no commit"
	case s.Commit == c.history.Head():
		return "it has the newest commit of the base"
	}
	var reasons []string
	for _, name := range s.After {
		switch u := c.stage(name); {
		case u == nil:
			reasons = append(reasons, unknown(name))
		case c.stopped(*u) != "":
			reasons = append(reasons, fmt.Sprintf("%s is stopped", name))
		case u.Commit == "":
			reasons = append(reasons, fmt.Sprintf("%s has no commit yet", name))
		case u.Commit == s.Commit:
			reasons = append(reasons, fmt.Sprintf("%s has the same commit", name))
		default:
			reasons = append(reasons, fmt.Sprintf("%s has an older commit, %s", name, Short(u.Commit)))
		}
	}
	return strings.Join(reasons, ", and ")
}

// upstreamVerdicts returns for every environment before a stage whether a commit is proven there,
// and if not, why.
func (c chain) missing(s Stage, commit string) []gate.Verdict {
	var parts []gate.Verdict
	for _, u := range c.before(s) {
		if slices.Contains(s.After, u.Name) || c.history.Newer(commit, u.Commit) {
			parts = append(parts, c.unproven(*u, commit))
		}
	}
	for _, name := range s.After {
		if c.stage(name) == nil {
			parts = append(parts, gate.Verdict{Gate: "after " + name, Status: gate.Wait, Reason: unknown(name)})
		}
	}
	return parts
}

func unknown(name string) string {
	return fmt.Sprintf("%s is not among the environments", name)
}

// upstreamVerdict returns whether a commit is proven in a stage, and if not, why.
func (c chain) unproven(u Stage, commit string) gate.Verdict {
	v := gate.Verdict{Gate: "after " + u.Name, Status: gate.Wait}
	what := Short(commit)
	switch {
	case c.isProven(u, commit):
		v.Status, v.Reason = gate.Pass, fmt.Sprintf("%s was proven in %s", what, u.Name)
	case c.stopped(u) != "":
		v.Reason = fmt.Sprintf("%s is stopped: %s", u.Name, c.stopped(u))
	case u.Commit == "":
		v.Reason = fmt.Sprintf("%s has no commit yet", u.Name)
	case u.Commit != commit && c.history.Newer(commit, u.Commit):
		v.Reason = fmt.Sprintf("%s has an older commit, %s", u.Name, Short(u.Commit))
	case u.Commit != commit:
		v.Reason = fmt.Sprintf("%s was not proven in %s, which has a newer one", what, u.Name)
	case !u.Merged:
		v.Reason = fmt.Sprintf("%s is not merged in %s", what, u.Name)
	case u.Proof.Status == gate.Fail:
		v.Reason, v.Parts = fmt.Sprintf("%s failed in %s: %s", what, u.Name, why(u.Proof)), u.Proof.Parts
	default:
		v.Reason = fmt.Sprintf("%s is not proven in %s yet: %s", what, u.Name, why(u.Proof))
		v.Until, v.Parts = u.Proof.Until, u.Proof.Parts
	}
	return v
}

// provenVerdict returns where a candidate was proven. A queue that skips none waits until it is
// known of all commits whether they are proven.
func (c chain) provenBefore(s Stage, commit string) gate.Verdict {
	v := gate.Verdict{Gate: "after", Status: gate.Pass, Reason: fmt.Sprintf("%s is on the base's branch", Short(commit))}
	if len(s.After) > 0 {
		v.Reason = fmt.Sprintf("%s was proven in %s", Short(commit), strings.Join(s.After, ", "))
	}
	for _, name := range s.After {
		u := c.stage(name)
		if u.Commit == commit {
			v.Parts = append(v.Parts, u.Proof)
		}
		if u.Partial && s.Queue.Policy == model.Each && s.Commit != "" {
			v.Status, v.Reason = gate.Wait, fmt.Sprintf("not all that was proven in %s could be read, and none may be left out", name)
		}
	}
	return v
}

// queueVerdict returns whether the queue lets a commit through now.
func queueVerdict(s Stage, now time.Time) gate.Verdict {
	v := gate.Verdict{Gate: "queue", Status: gate.Pass, Reason: "the newest counts"}
	switch s.Queue.Policy {
	case model.Each:
		v.Reason = "every commit, one after the other"
	case model.Pinned:
		v.Status, v.Reason = gate.Wait, "it is pinned: it gets commits by hand only"
	case model.Batch:
		next := s.Since.Add(s.Queue.Every)
		v.Reason = fmt.Sprintf("at most one commit in %s", rollout.Span(s.Queue.Every))
		if s.Commit != "" && now.Before(next) {
			v.Status, v.Until = gate.Wait, next
		}
	}
	return v
}

// settledVerdict returns whether a stage is done with its current commit. One that was never merged
// may be superseded by a newer one, unless the queue takes every commit.
func settled(s Stage) gate.Verdict {
	v := gate.Verdict{Gate: "settled", Status: gate.Pass}
	what := Short(s.Commit)
	switch {
	case s.Commit == "":
		v.Reason = "it has no commit yet"
	case s.Partial: // it may have gone back behind one of those that were not read
		v.Status, v.Reason = gate.Wait, "not all that was proven here could be read"
	case s.Proof.Status == gate.Fail:
		v.Reason = fmt.Sprintf("%s failed, so a newer one may come", what)
	case !s.Merged && s.Queue.Policy != model.Each:
		v.Reason = fmt.Sprintf("%s is not merged, and a newer one may take its place", what)
	case !s.Merged:
		v.Status, v.Reason = gate.Wait, fmt.Sprintf("%s is not merged, and its turn is not over", what)
	case s.Proof.Status == gate.Pass:
		v.Reason = fmt.Sprintf("%s is proven", what)
	default:
		v.Status, v.Until, v.Parts = gate.Wait, s.Proof.Until, s.Proof.Parts
		v.Reason = fmt.Sprintf("%s is not proven yet: %s", what, why(s.Proof))
	}
	return v
}

// orPending returns the verdict, or one that waits if it is empty.
func answered(v gate.Verdict) gate.Verdict {
	if v.Status == "" {
		return gate.Verdict{Gate: "gates", Status: gate.Wait, Reason: why(v)}
	}
	return v
}

// verdictReason returns the reason of a verdict, which may be empty.
func why(v gate.Verdict) string {
	if v.Reason == "" {
		return "nothing is known of it yet"
	}
	return v.Reason
}

func held(s Stage) string { return "it is held: " + s.Hold }
