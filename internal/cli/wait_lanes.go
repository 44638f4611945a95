package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

func readLanes(s status.Stage, commit string) (state, reason string) {
	state, reason = hasDeployed, "Deployed"
	for _, l := range s.Lanes {
		switch {
		case !strings.HasPrefix(l.Commit, commit):
		case l.State == "": // lanes are not told apart
			return hasFailed, s.Proof.Reason
		case l.State == status.StageFailed:
			return hasFailed, l.Failure
		case l.State != status.StageVerified:
			state, reason = isWaiting, fmt.Sprintf("lane %s: %s", l.Name, l.State)
		}
	}
	return state, reason
}

func hasCommit(s status.Stage, commit string) bool {
	return s.Commit != "" && strings.HasPrefix(s.Commit, commit) || slices.ContainsFunc(s.Lanes, func(l status.Lane) bool { return l.Commit != "" && strings.HasPrefix(l.Commit, commit) })
}

func findWaitingLane(s status.Stage, commit string) status.Lane {
	i := slices.IndexFunc(s.Lanes, func(l status.Lane) bool { return l.Next != "" && strings.HasPrefix(l.Next, commit) })
	if i < 0 {
		return status.Lane{}
	}
	return s.Lanes[i]
}
