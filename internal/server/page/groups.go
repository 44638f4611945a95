package page

import (
	"slices"

	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/reconcile/fleetview"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/answer"
)

func percentOf(n, all int) int { return 100 * n / max(1, all) }

// clusterGroupView is a group, with the parts of its bar, in percent.
type clusterGroupView struct {
	fleetview.Group
	ReadyWidth, RollingWidth, FailedWidth, FailedX int
}

// GroupParts returns the groups with their bars.
func (v environmentView) GroupParts() (all []clusterGroupView) {
	for _, g := range v.Groups {
		one := clusterGroupView{Group: g, ReadyWidth: percentOf(g.Ready, g.Expected), RollingWidth: percentOf(g.Progressing, g.Expected), FailedWidth: percentOf(g.Failed, g.Expected)}
		one.FailedX = one.ReadyWidth + one.RollingWidth
		all = append(all, one)
	}
	return all
}

// waveView is a wave, with the parts of its bar, in percent.
type waveView struct {
	status.Wave
	ReadyWidth, FailedWidth int
	// Approve is the path of the action that approves it; "" for none.
	Approve string
}

// WaveParts returns the waves of the running advance with their bars.
func (v environmentView) WaveParts() (all []waveView) {
	if v.Stage == nil {
		return nil
	}
	mayApprove := slices.ContainsFunc(v.Levers, func(l LeverLink) bool { return l.Lever == "approve" && (l.Allowed || l.Idle) })
	for _, w := range v.Stage.Waves {
		one := waveView{Wave: w, ReadyWidth: percentOf(w.Ready, w.Clusters), FailedWidth: percentOf(w.Failed, w.Clusters)}
		if w.LacksApproval && mayApprove {
			one.Approve = leverPath("approve", answer.Need{Environment: v.Stage.Environment, Wave: w.Name, Advance: v.Stage.Advance})
		}
		all = append(all, one)
	}
	return all
}

// Mark returns how far a wave is.
func (w waveView) Mark() answer.State {
	return answer.State{Tone: w.State.Tone(), Word: string(w.State)}
}

// State returns how far a group is.
func (g clusterGroupView) State() answer.State {
	switch {
	case g.Failed > 0:
		return answer.State{Tone: answer.Bad, Word: "failed"}
	case g.Ready == g.Expected:
		return answer.State{Tone: answer.Good, Word: "ready"}
	case g.Behind == g.Expected:
		return answer.State{Tone: answer.Unknown, Word: "not begun"}
	case g.Ready+g.Progressing == 0:
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
