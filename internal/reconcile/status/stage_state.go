package status

import (
	"slices"

	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/promote"
)

// StageState is one word for the state of an environment's commit, which the command status, the page
// and the API show. Until its output is merged it is the [State] of the output.
type StageState string

// The states of an environment's commit.
const (
	StageEmpty      StageState = "empty" // it has no commit yet, or nothing is assigned in it
	StageProposed              = StageState(Proposed)
	StageDeclined              = StageState(Declined)
	StageEdited                = StageState(Edited)
	StageForeign               = StageState(Foreign)
	StageDryRun                = StageState(DryRun)
	StageWaiting               = StageState(Waiting)
	StageRollingOut StageState = "rolling-out" // its output is merged, and it is not verified yet
	StageVerified   StageState = "verified"
	StageFailed                = StageState(Failed)   // its verification, or an operation
	StageProblems              = StageState(Problems) // it cannot be rendered
	StageStopped    StageState = "stopped"            // its record cannot be read

	// What Git alone says.
	StagePromoted StageState = "promoted" // and nothing keeps the next commit out
	StageHeld     StageState = "held"
	StageFrozen   StageState = "frozen"
)

// AllStageStates returns all states, in the order in which they are declared.
func AllStageStates() []StageState {
	return []StageState{
		StageEmpty, StageProposed, StageDeclined, StageEdited, StageForeign, StageDryRun, StageWaiting, StageRollingOut, StageVerified,
		StageFailed, StageProblems, StageStopped, StagePromoted, StageHeld, StageFrozen,
	}
}

// FindState returns the state of the stage's commit, where the output has a state; "" if that is not
// known.
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
	case output == "" && len(s.Withheld) > 0, // of a daemon that does not report it
		output == DryRun && s.Pull != nil: // what looks writes nothing, and another daemon proposes
		return StageProposed
	case output == "", output == InSync: // the next cycle finds it
		return StageWaiting
	}
	return StageState(output)
}

// FindGitState returns the state of the stage's commit where Git alone was read.
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

// KnownState returns the state of the stage's commit; of a daemon that does not report it, what the rest
// of its report says.
func (s Stage) KnownState() StageState {
	if s.State == "" {
		return s.FindState("")
	}
	return s.State
}

// ShownState returns the one state that people are shown of the stage. Of a daemon that does not report it, it is that
// of its commit.
func (s Stage) ShownState() StageState {
	if s.Shown == "" {
		return s.findOwnState()
	}
	return s.Shown
}

// FindShown returns the one state that people are shown of a stage whose output has the report e, and how much it asks
// of them: the stage's own, or that of the output where this is more urgent.
func (s Stage) FindShown(e Environment) (StageState, Tone) {
	state, tone := s.findOwnState(), s.findOwnState().Tone()
	if state == StageProposed && len(s.Withheld) > 0 {
		tone = ToneWaiting
	}
	if e.State == DryRun && e.Pull != nil { // what looks writes nothing, and another daemon proposes
		e.State = Proposed
	}
	if output, urgency := e.FindShown(); e.State != "" && CompareUrgency(urgency, tone) > 0 {
		return output, urgency
	}
	return state, tone
}

// FindShown returns the one state that people are shown of an environment that nothing is promoted to, and how much it
// asks of them.
func (e Environment) FindShown() (StageState, Tone) {
	state := StageState(e.StateWord())
	if e.IsForPerson() {
		return state, ToneWaiting
	}
	return state, state.Tone()
}

// findOwnState returns the state that people are shown of a stage, whatever its output needs: that it is held or
// frozen, unless its commit needs more of them, or that nothing is assigned in it.
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

// holdName and freezeName are the causes of a merge that a hold or a freeze withholds.
const (
	holdName   = "hold"
	freezeName = "freeze"
)

// WaitsForFreeze reports whether a freeze keeps the output of a stage from being merged, or its next commit out.
func (s Stage) WaitsForFreeze() bool {
	return slices.ContainsFunc(s.Withheld, func(w Withheld) bool { return w.Cause == freezeName }) || s.Next.State == promote.Waiting && waitsForFreeze(s.Next.Verdict)
}

func waitsForFreeze(v gate.Verdict) bool {
	return v.Kind == gate.KindFreeze && v.Status == gate.Wait || slices.ContainsFunc(v.Parts, waitsForFreeze)
}
