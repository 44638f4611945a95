package status

import (
	"cmp"
	"slices"
)

// Tone is how much attention a state needs.
type Tone string

// The tones, by rising urgency.
const (
	ToneGood    Tone = "good"
	ToneBusy    Tone = "busy"    // it continues without people
	ToneWaiting Tone = "waiting" // it waits, perhaps for a person
	ToneUnknown Tone = "unknown"
	ToneStopped Tone = "stopped" // a person stopped it
	ToneBad     Tone = "bad"     // a person must fix it
)

// AllTones returns all tones, by rising urgency.
func AllTones() []Tone {
	return []Tone{ToneGood, ToneBusy, ToneWaiting, ToneUnknown, ToneStopped, ToneBad}
}

// CompareUrgency orders tones by rising urgency.
func CompareUrgency(a, b Tone) int {
	return cmp.Compare(slices.Index(AllTones(), a), slices.Index(AllTones(), b))
}

// Tone returns how much attention a state needs, if the program does what it may.
func (s StageState) Tone() Tone {
	switch s {
	case StageVerified, StageState(InSync):
		return ToneGood
	case StageProposed, StageRollingOut:
		return ToneBusy
	case StageDryRun, StageWaiting, StagePromoted:
		return ToneWaiting
	case StageDeclined, StageEdited, StageForeign, StageHeld, StageFrozen:
		return ToneStopped
	case StageFailed, StageProblems, StageStopped:
		return ToneBad
	case StageEmpty:
	}
	return ToneUnknown
}
