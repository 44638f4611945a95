package page

import (
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/reconcile/fleetview"
	"github.com/fairlead-io/fairlead/internal/server/answer"
)

// waveView is a wave, with the parts of its bar, in percent.
type waveView struct {
	fleetview.Wave
	ReadyWidth, RollingWidth, FailedWidth, FailedX int
}

// WaveParts returns the waves with their bars.
func (v environmentView) WaveParts() (all []waveView) {
	for _, w := range v.Waves {
		part := func(n int) int { return 100 * n / max(1, w.Expected) }
		one := waveView{Wave: w, ReadyWidth: part(w.Ready), RollingWidth: part(w.Progressing), FailedWidth: part(w.Failed)}
		one.FailedX = one.ReadyWidth + one.RollingWidth
		all = append(all, one)
	}
	return all
}

// State returns how far a wave is.
func (w waveView) State() answer.State {
	switch {
	case w.Failed > 0:
		return answer.State{Tone: answer.Bad, Word: "failed"}
	case w.Ready == w.Expected:
		return answer.State{Tone: answer.Good, Word: "ready"}
	case w.Behind == w.Expected:
		return answer.State{Tone: answer.Unknown, Word: "not begun"}
	case w.Ready+w.Progressing == 0:
		return answer.State{Tone: answer.Unknown, Word: "no report"}
	}
	return answer.State{Tone: answer.Busy, Word: "rolling out"}
}

// RolloutGate returns the verdict of the gate that waits for clusters, if it does not pass; nil if none does not.
func (v environmentView) RolloutGate() *gate.Verdict {
	if v.Stage == nil {
		return nil
	}
	return findUnpassed(v.Stage.Proof, "rollout")
}

// findUnpassed returns the first part of a verdict that is of a gate and does not pass.
func findUnpassed(v gate.Verdict, name string) *gate.Verdict {
	if v.Gate == name && v.Status != gate.Pass {
		return &v
	}
	for _, p := range v.Parts {
		if found := findUnpassed(p, name); found != nil {
			return found
		}
	}
	return nil
}
