package page

import (
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/reconcile/fleetview"
	"github.com/fairlead-io/fairlead/internal/server/answer"
)

// clusterGroupView is a group, with the parts of its bar, in percent.
type clusterGroupView struct {
	fleetview.Group
	ReadyWidth, RollingWidth, FailedWidth, FailedX int
}

// GroupParts returns the groups with their bars.
func (v environmentView) GroupParts() (all []clusterGroupView) {
	for _, g := range v.Groups {
		part := func(n int) int { return 100 * n / max(1, g.Expected) }
		one := clusterGroupView{Group: g, ReadyWidth: part(g.Ready), RollingWidth: part(g.Progressing), FailedWidth: part(g.Failed)}
		one.FailedX = one.ReadyWidth + one.RollingWidth
		all = append(all, one)
	}
	return all
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
