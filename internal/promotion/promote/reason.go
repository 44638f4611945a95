package promote

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/controlplane/model"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
)

// decideWithoutCandidate completes the decision for a stage that has no candidate, with the reason.
// The stage waits for the newest commit of the stages directly before it.
func (c snapshot) decideWithoutCandidate(s Stage, d Decision) Decision {
	for _, name := range s.After {
		if u := c.findStage(name); u != nil && c.line.IsNewer(u.Commit, s.Commit) && (d.Candidate == "" || c.line.IsNewer(u.Commit, d.Candidate)) {
			d.Candidate = u.Commit
		}
	}
	if d.Candidate != "" {
		d.State, d.Verdict = Waiting, gate.CombineVerdicts(s.Name, c.upstreamVerdicts(s, d.Candidate))
	} else {
		d.State, d.Verdict = Current, c.noCandidateVerdict(s)
	}
	if s.HoldReason != "" {
		d.State, d.Verdict.Status = Held, gate.Wait
		d.Verdict.Reason, d.Verdict.WaitsFor, d.Verdict.NamesTime = heldReason(s), "", false
	}
	return d
}

func (c snapshot) noCandidateVerdict(s Stage) gate.Verdict {
	v := gate.Verdict{Gate: s.Name, Status: gate.Pass}
	switch {
	case c.line.Head() == "":
		v.Reason = cmp.Or(c.line.origin, "the base") + " has no commit"
		return v
	case s.Commit == c.line.Head():
		v.Reason = "up to date"
		return v
	}
	var reasons []string
	wait := func(what string) {
		switch {
		case reasons == nil:
			v.WaitsFor = what
		case v.WaitsFor != "":
			v.WaitsFor += ", and for " + what
		}
		reasons = append(reasons, "waiting for "+what)
	}
	say := func(reason string) {
		if v.WaitsFor != "" {
			v.WaitsFor += ", and " + reason
		}
		reasons = append(reasons, reason)
	}
	for _, name := range s.After {
		switch u := c.findStage(name); {
		case u == nil:
			say(unknownStageReason(name))
		case c.stoppedReason(*u) != "":
			say(name + " is stopped")
		case u.Commit == "":
			wait(name + " to get its first commit")
		case u.Commit == s.Commit:
			wait(name + " to move first")
		default:
			say(fmt.Sprintf("%s has an older commit, %s", name, c.line.describe(u.Commit)))
		}
	}
	v.Reason = strings.Join(reasons, ", and ")
	return v
}

// upstreamVerdicts returns for every environment before a stage whether a commit is proven there,
// and if not, why.
func (c snapshot) upstreamVerdicts(s Stage, commit string) []gate.Verdict {
	var parts []gate.Verdict
	for _, u := range c.upstreamStages(s) {
		if slices.Contains(s.After, u.Name) || c.line.IsNewer(commit, u.Commit) {
			parts = append(parts, c.upstreamVerdict(*u, commit))
		}
	}
	for _, name := range s.After {
		if c.findStage(name) == nil {
			parts = append(parts, gate.Verdict{Gate: "after " + name, Kind: gate.KindAfter, Status: gate.Wait, Reason: unknownStageReason(name)})
		}
	}
	return parts
}

func unknownStageReason(name string) string {
	return fmt.Sprintf("there is no environment %s", name)
}

func (c snapshot) upstreamVerdict(u Stage, commit string) gate.Verdict {
	v := gate.Verdict{Gate: "after " + u.Name, Kind: gate.KindAfter, Status: gate.Wait, NamesCommit: true}
	what := c.line.describe(commit)
	switch {
	case c.isProven(u, commit):
		v.Status, v.Reason = gate.Pass, fmt.Sprintf("%s was verified in %s", what, u.Name)
	case c.stoppedReason(u) != "":
		v.NamesCommit = false
		v.Reason = fmt.Sprintf("%s is stopped: %s", u.Name, c.stoppedReason(u))
	case u.Commit == "":
		v.NamesCommit = false
		v.WaitsFor = u.Name + " to get its first commit"
		v.Reason = "waiting for " + v.WaitsFor
	case u.Commit != commit && c.line.IsNewer(commit, u.Commit):
		v.NamesCommit = false
		v.Reason = fmt.Sprintf("%s has an older commit, %s", u.Name, c.line.describe(u.Commit))
	case u.Commit != commit:
		v.Reason = fmt.Sprintf("%s was not verified in %s, which has a newer commit", what, u.Name)
	case u.Floor != "":
		v.Reason = fmt.Sprintf("%s has newer commits of some lanes, up to %s, and not all of them", u.Name, c.line.describe(u.Floor))
	case u.Incomplete != "":
		v.Reason = fmt.Sprintf("%s was not verified in %s: %s", what, u.Name, u.Incomplete)
	case u.hasProblems():
		v.Reason = fmt.Sprintf("%s has problems in %s, which have to be fixed: %s", what, u.Name, verdictReason(u.Proof))
	case !u.Merged && !u.HasFormer:
		v.Reason = fmt.Sprintf("%s is not merged in %s", what, u.Name)
	case u.Proof.Status == gate.Fail:
		v.Reason, v.Parts = fmt.Sprintf("%s failed in %s: %s", what, u.Name, verdictReason(u.Proof)), u.Proof.Parts
	default:
		v.Reason = fmt.Sprintf("%s is not verified in %s yet: %s", what, u.Name, verdictReason(u.Proof))
		v.ValidUntil, v.NamesTime, v.Parts = u.Proof.ValidUntil, u.Proof.NamesTime, u.Proof.Parts
	}
	return v
}

// provenVerdict returns where a candidate was proven. A queue that skips none waits until it is
// known of all commits whether they are proven.
func (c snapshot) provenVerdict(s Stage, commit string) gate.Verdict {
	v := gate.Verdict{Gate: "after", Kind: gate.KindAfter, Status: gate.Pass, Reason: fmt.Sprintf("%s is on %s", c.line.describe(commit), c.line.describeOrigin())}
	if len(s.After) > 0 {
		v.Reason = fmt.Sprintf("%s was verified in %s", c.line.describe(commit), strings.Join(s.After, ", "))
	}
	for _, name := range s.After {
		u := c.findStage(name)
		if u.Commit == commit {
			v.Parts = append(v.Parts, u.Proof)
		}
		if u.PartialProven && s.Queue.Policy == model.QueueEvery && s.Commit != "" {
			v.Status, v.Reason = gate.Wait, fmt.Sprintf("not all commits that were verified in %s could be read, and the queue skips none", name)
		}
	}
	return v
}

func queueVerdict(s Stage, now time.Time) gate.Verdict {
	v := gate.Verdict{Gate: "queue", Status: gate.Pass, Reason: "the newest commit goes first"}
	switch s.Queue.Policy {
	case model.QueueEvery:
		v.Reason = "every commit, in order"
	case model.QueuePinned:
		v.Status, v.Reason = gate.Wait, "pinned: commits are promoted by hand only"
	case model.QueueBatch:
		next := s.PromotedAt.Add(s.Queue.Every)
		v.Reason = fmt.Sprintf("at most one commit in %s", text.FormatDuration(s.Queue.Every))
		if s.Commit != "" && now.Before(next) {
			v.Status, v.ValidUntil = gate.Wait, next
		}
	}
	return v
}

// settledVerdict returns whether a stage is done with its current commit. Unless the queue takes every
// commit, a newer one may supersede a commit that was never merged and, in a stage that comes after
// none, one that is not proven: such a stage follows the base, so that a commit on which no cluster
// reports keeps nothing back. Stages after it still need the proof.
func (c snapshot) settledVerdict(s Stage) gate.Verdict {
	v := gate.Verdict{Gate: "settled", Status: gate.Pass}
	what := c.line.describe(s.Commit)
	switch {
	case s.Commit == "":
		v.Reason = "it has no commit yet"
	case s.PartialProven: // it may have gone back behind one of those that were not read
		v.Status, v.Reason = gate.Wait, "not all commits that were verified here could be read"
	case s.supersedesUnmerged():
		v.Reason = fmt.Sprintf("%s is not merged; a newer commit may supersede it", what)
	case s.Proof.Status == gate.Fail:
		v.Reason = fmt.Sprintf("%s failed; a newer commit may supersede it", what)
	case s.HasFormer && s.Queue.Policy != model.QueueEvery:
		v.Reason = fmt.Sprintf("%s is merged, but not what has changed there since; a newer commit may supersede it", what)
	case s.HasFormer:
		v.Status, v.Reason = gate.Wait, fmt.Sprintf("%s is merged, but not what has changed there since", what)
	case !s.Merged:
		v.Status, v.Reason = gate.Wait, fmt.Sprintf("%s is not merged yet", what)
	case s.Proof.Status == gate.Pass:
		v.Reason = fmt.Sprintf("%s is verified", what)
	case len(s.After) == 0 && !s.InWaves && s.Queue.Policy != model.QueueEvery:
		v.Reason = fmt.Sprintf("%s is merged; the first environment follows the base without waiting for verification", what)
	default:
		v.Status, v.ValidUntil, v.NamesTime, v.Parts = gate.Wait, s.Proof.ValidUntil, s.Proof.NamesTime, s.Proof.Parts
		v.Reason = fmt.Sprintf("%s is not verified yet: %s", what, verdictReason(s.Proof))
	}
	return v
}

func verdictReason(v gate.Verdict) string { return cmp.Or(v.Reason, "nothing has been reported yet") }

func (s Stage) hasProblems() bool {
	return s.Proof.Status == gate.Fail && slices.ContainsFunc(s.Proof.Parts, func(v gate.Verdict) bool { return v.Kind == gate.KindProblems })
}

func heldReason(s Stage) string { return "it is held: " + s.HoldReason }

// supersedesUnmerged reports whether a newer commit may supersede that of a stage although its output is not merged: a
// mistake stopped it, or the queue does not take every commit.
func (s Stage) supersedesUnmerged() bool {
	return s.Commit != "" && !s.PartialProven && !s.Merged && !s.HasFormer && (s.Proof.Status == gate.Fail || s.Queue.Policy != model.QueueEvery)
}
