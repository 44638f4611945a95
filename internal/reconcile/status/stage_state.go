package status

import (
	"slices"

	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
)

// StageState is the state of an environment's commit. Until its output is merged it is the [State]
// of the output.
type StageState string

// The states of an environment's commit.
const (
	StageEmpty      StageState = "empty" // no commit yet, or nothing assigned
	StageProposed              = StageState(Proposed)
	StageDeclined              = StageState(Declined)
	StageEdited                = StageState(Edited)
	StageForeign               = StageState(Foreign)
	StageDryRun                = StageState(DryRun)
	StageWaiting               = StageState(Waiting)
	StageRollingOut StageState = "rolling-out" // merged, but not verified
	StageVerified   StageState = "verified"
	StageFailed                = StageState(Failed)   // its verification or an operation failed
	StageProblems              = StageState(Problems) // it cannot be rendered
	StageStopped    StageState = "stopped"            // its record is unreadable

	// States from Git alone.
	StagePromoted StageState = "promoted" // nothing blocks the next commit
	StageHeld     StageState = "held"
	StageFrozen   StageState = "frozen"
)

// AllStageStates returns all states in the order of declaration.
func AllStageStates() []StageState {
	return []StageState{
		StageEmpty, StageProposed, StageDeclined, StageEdited, StageForeign, StageDryRun, StageWaiting, StageRollingOut, StageVerified,
		StageFailed, StageProblems, StageStopped, StagePromoted, StageHeld, StageFrozen,
	}
}

// FindState returns the state of the commit, given that of the output; "" if unknown.
func (s Stage) FindState(output State) StageState {
	switch {
	case s.Commit == "":
		return StageEmpty
	case s.Next.State == promote.Stopped:
		return StageStopped
	case s.HasProblems():
		return StageProblems
	case s.Proof.Status == gate.Fail:
		return StageFailed
	case s.Merged && s.Proof.Status == gate.Pass:
		return StageVerified
	case s.Merged:
		return StageRollingOut
	case output == "" && len(s.Withheld) > 0, // reported by an older daemon
		output == DryRun && s.Pull != nil: // another daemon proposes
		return StageProposed
	case output == "", output == InSync: // the next cycle will tell
		return StageWaiting
	}
	return StageState(output)
}

// FindGitState returns the state according to Git alone.
func (s Stage) FindGitState() StageState {
	switch {
	case s.Next.State == promote.Stopped:
		return StageStopped
	case s.Next.State == promote.Held:
		return StageHeld
	case s.Next.State == promote.Waiting:
		return StageFrozen
	case s.Commit == "":
		return StageEmpty
	}
	return StagePromoted
}

// KnownState returns the state of the commit, derived for an older daemon.
func (s Stage) KnownState() StageState {
	if s.State == "" {
		return s.FindState("")
	}
	return s.State
}

// ShownState returns the shown state; of the commit for an older daemon.
func (s Stage) ShownState() StageState {
	if s.Shown == "" {
		return s.findOwnState()
	}
	return s.Shown
}

// FindShown returns the shown state of a stage whose output has the report e, and its tone: the
// more urgent of the stage's and the output's.
func (s Stage) FindShown(e Environment) (StageState, Tone) {
	state, tone := s.findOwnState(), s.findOwnState().Tone()
	if state == StageProposed && len(s.Withheld) > 0 {
		tone = ToneWaiting
	}
	if e.State == DryRun && e.Pull != nil { // another daemon proposes
		e.State = Proposed
	}
	if output, urgency := e.FindShown(); e.State != "" && CompareUrgency(urgency, tone) > 0 {
		return output, urgency
	}
	return state, tone
}

// FindShown returns the shown state and tone of an environment without promotions.
func (e Environment) FindShown() (StageState, Tone) {
	state := StageState(e.StateWord())
	if e.IsForPerson() {
		return state, ToneWaiting
	}
	return state, state.Tone()
}

// findOwnState ignores the output: a hold or freeze, unless the commit is more urgent, or nothing
// assigned.
func (s Stage) findOwnState() StageState {
	known, shown := s.KnownState(), StageHeld
	switch {
	case s.Next.State == promote.Held:
	case s.Frozen != "", s.WaitsForFreeze():
		shown = StageFrozen
	case s.Empty != "" && known == StageVerified:
		return StageEmpty
	default:
		return known
	}
	switch known {
	case StageFailed, StageProblems, StageStopped, StageDeclined, StageEdited, StageForeign:
		return known
	default:
		return shown
	}
}

const (
	holdName   = "hold"
	freezeName = "freeze"
)

// WaitsForFreeze reports whether a freeze blocks the output or the next commit.
func (s Stage) WaitsForFreeze() bool {
	return slices.ContainsFunc(s.Withheld, func(w Withheld) bool { return w.Cause == freezeName }) || s.Next.State == promote.Waiting && waitsForFreeze(s.Next.Verdict)
}

func waitsForFreeze(v gate.Verdict) bool {
	return v.Kind == gate.KindFreeze && v.Status == gate.Wait || slices.ContainsFunc(v.Parts, waitsForFreeze)
}
