package status

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/base/text"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
)

// NextAction returns what a person must do, or what the environment waits for, without a full stop.
func (s Stage) NextAction() string {
	if s.Action == "" { // reported by an older daemon
		return describeAction(s, Environment{})
	}
	return s.Action
}

func (e Environment) withoutCommands() Environment {
	e.Withheld = slices.Clone(e.Withheld)
	for i := range e.Withheld {
		e.Withheld[i].Acknowledge = ""
	}
	return e
}

// describeAction returns the action of a stage whose output has the report e, or zero. What needs
// attention hides its consequences.
func describeAction(s Stage, e Environment) string {
	switch s.Next.State {
	case promote.Stopped:
		return "fix: " + s.Next.Verdict.Reason
	case promote.Promotes:
		return "gets " + text.ShortCommit(s.Next.Candidate) + " now"
	case promote.Current, promote.Waiting, promote.Held:
	}
	output, restrained := describeOutput(s, e)
	var all []string
	switch {
	case output != "":
		all = append(all, output)
	case s.Next.State == promote.Held:
	default:
		all, restrained = append(all, describeWait(s)), s.Next.State == promote.Waiting && waitsForFreeze(s.Next.Verdict)
	}
	if s.Next.State == promote.Held && !restrained {
		all = append(all, heldText(s)+upstreamFailure(s))
	}
	i := slices.IndexFunc(s.Withheld, func(w Withheld) bool { return w.Cause == freezeName })
	if i >= 0 && s.Merged && !restrained {
		all, restrained = append(all, "only a person may merge its output: "+s.Withheld[i].Reason), true
	}
	if s.Frozen != "" && !restrained {
		all = append(all, s.Frozen)
	}
	all = append(all, e.Teardowns)
	return strings.Join(slices.DeleteFunc(all, func(part string) bool { return part == "" }), "; ")
}

// describeOutput returns what an output needs from a person, or "". restrained reports that it
// names the hold and freezes.
func describeOutput(s Stage, e Environment) (needs string, restrained bool) {
	first, stops := e.Problems.FirstStopping()
	switch {
	case s.HasProblems():
		return "fix: " + s.Proof.Reason, false
	case e.State == Problems && stops:
		return "fix: " + first.String(), false
	case e.State == Failed:
		return "is tried again: " + e.Reason, false
	case e.State == Declined && e.Pull != nil:
		why := ""
		if e.Pull.Closed != "" {
			why = e.Pull.Closed + ": "
		}
		return fmt.Sprintf("declined: %sopen pull request %d again or change something", why, e.Pull.Number), false
	case e.State == Edited, e.State == Foreign:
		return "fix: " + e.Reason, false
	case e.Pull != nil && (e.State == Proposed || e.State == DryRun):
		pull := describePull(s, e)
		switch { // the pull request may be about something else
		case s.Commit != "" && s.Proof.Status == gate.Fail:
			pull += "; fix: " + s.Proof.Reason
		case stops:
			pull += "; fix: " + first.String()
		}
		return pull, true
	case !s.Merged && len(s.Withheld) > 0 && s.Hold == "":
		if first, others := splitRestraints(s, s.Withheld); first != "" {
			return first + "merge its pull request" + others, true
		}
		return "merge its pull request: " + s.Withheld[0].Reason, true
	case s.Commit != "" && s.Proof.Status == gate.Fail:
		return "fix: " + s.Proof.Reason, false
	case stops:
		return "fix: " + first.String(), false
	case s.Commit != "" && !s.Merged && e.State == DryRun:
		return "waits for its pull request, which a daemon with write: true opens", false
	}
	return "", false
}

// describePull returns who merges the open pull request, and why. Holds and freezes come first,
// because they end before the merge. Reasons come last, because they may be long.
func describePull(s Stage, e Environment) string {
	first, reasons := splitRestraints(s, e.Withheld)
	text := fmt.Sprintf("%smerge pull request %d", first, e.Pull.Number)
	if len(e.Withheld) == 0 {
		switch {
		case e.MergeReason == "":
			return text
		case e.LeftToPeople:
			return text + ": " + e.MergeReason
		default: // Fairlead or the forge merges it
			return fmt.Sprintf("%swaits for pull request %d: %s", first, e.Pull.Number, e.MergeReason)
		}
	}
	for _, w := range e.Withheld {
		if w.Acknowledge != "" {
			text += fmt.Sprintf(", or run fairlead approve %s %s --removals", s.Environment, w.Acknowledge)
			break
		}
	}
	return text + reasons
}

// splitRestraints returns holds and freezes, as text before a merge, and other reasons after a
// colon. A hold or freeze that does not block the output need not end first.
func splitRestraints(s Stage, withheld []Withheld) (first, others string) {
	var restraints, reasons, free []string
	held, frozen := false, false
	for _, w := range withheld {
		held, frozen = held || w.Cause == holdName, frozen || w.Cause == freezeName
		if w.Cause == holdName || w.Cause == freezeName {
			restraints = append(restraints, w.Reason)
		} else {
			reasons = append(reasons, w.Reason)
		}
	}
	if s.Next.State == promote.Held && !held {
		free = append(free, heldText(s)+upstreamFailure(s))
	}
	if s.Frozen != "" && !frozen {
		free = append(free, s.Frozen)
	}
	if len(reasons) > 0 {
		others = ": " + strings.Join(reasons, "; ")
	}
	switch {
	case len(restraints) > 0:
		return strings.Join(append(free, restraints...), "; ") + "; then ", others
	case len(free) > 0:
		return strings.Join(free, "; ") + "; ", others
	}
	return "", others
}

func heldText(s Stage) string { return "held: " + s.Hold }

// upstreamFailure returns an earlier environment's failure, after a semicolon, or "". It would
// outlast the hold.
func upstreamFailure(s Stage) string {
	for _, v := range s.Next.Verdict.Parts {
		failed := func(p gate.Verdict) bool { return p.Status == gate.Fail }
		if v.Kind == gate.KindAfter && v.Status != gate.Pass && slices.ContainsFunc(v.Parts, failed) {
			return "; " + v.Reason
		}
	}
	return ""
}

// CandidateReason returns what the next commit waits for, whatever the output needs.
func (s Stage) CandidateReason() string { return waitText(s.Next.Verdict) }

func describeWait(s Stage) string {
	d := s.Next
	switch {
	case d.State == promote.Waiting && d.Candidate != "":
		if d.Verdict.NamesCommit {
			return waitText(d.Verdict)
		}
		return text.ShortCommit(d.Candidate) + " " + waitText(d.Verdict)
	case d.State == promote.Waiting:
		return waitText(d.Verdict)
	case s.Commit != "" && s.Proof.Status == gate.Wait && s.Proof.Reason != "":
		return waitText(s.Proof)
	case s.Commit != "" && s.Behind == 0:
		return "up to date"
	case d.Verdict.Reason == "":
		return ""
	}
	return startWithWaits(d.Verdict)
}

func startWithWaits(v gate.Verdict) string {
	if v.WaitsFor != "" {
		return "waits for " + v.WaitsFor
	}
	return "waits: " + v.Reason
}

// waitText names the deciding gate with its reason, and other gates that wait.
func waitText(v gate.Verdict) string {
	of, others := "", ""
	decides := func(p gate.Verdict) bool { return p.Status == v.Status && p.Reason == v.Reason }
	for i := slices.IndexFunc(v.Parts, decides); i >= 0; i = slices.IndexFunc(v.Parts, decides) {
		if v.Gate == "gates" {
			others = describeOtherGates(v)
		}
		of, v = v.Gate, v.Parts[i]
	}
	if of == "gates" || of == "proof" { // their parts are gates that people know by name
		return fmt.Sprintf("waits for gate %s: %s%s", v.Gate, v.Reason, others)
	}
	return startWithWaits(v) + others
}

// describeOtherGates omits gates that only wait for the deciding one.
func describeOtherGates(gates gate.Verdict) string {
	var all strings.Builder
	for _, p := range gates.Parts {
		if p.Status == gate.Wait && gates.Status == gate.Wait && !p.Follows && p.Reason != gates.Reason {
			fmt.Fprintf(&all, "; and for gate %s: %s", p.Gate, p.Reason)
		}
	}
	return all.String()
}
