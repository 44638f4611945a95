package provision

import (
	"slices"

	"github.com/fairlead-io/fairlead/internal/controlplane/claudie"
)

// checkControlPlane reports a control plane that loses its last node or may lose
// quorum. During a rollout it compares with the state before: added nodes only replace
// others.
func (g *editCheck) checkControlPlane(path []any, is *claudie.Cluster) {
	settled := g.now
	if before := g.Current.beforeRollout(); before != g.Current {
		settled = newStateIndex(before)
	}
	was := settled.clusters[is.Name]
	if was == nil {
		return
	}
	loss := findLoss(settled, g.want, was.Pools.Control, is.Pools.Control)
	consequence := "shrink-control-plane/" + is.Name
	switch {
	case loss.before == 0 || loss.nodes <= 0:
	case loss.most == 0:
		g.addf(path, "keep one, or add another one in the same commit", "cluster %s loses its last control node", is.Name)
	case loss.nodes*2 >= loss.before && !g.accepts(consequence):
		hint := HintAccept(consequence)
		if loss.before-loss.nodes > 1 { // from two nodes, no step removes fewer than half
			hint = "several commits, each of which removes fewer than half; or " + hint
		}
		verb := "loses"
		if loss.scales {
			verb = "may lose"
		}
		g.addf(path, hint, "cluster %s %s %d of %d control nodes: etcd may lose its quorum", is.Name, verb, loss.nodes, loss.before)
	}
}

type nodeLoss struct {
	before, nodes int  // initial nodes, and lost nodes without a replacement
	most          int  // the maximum after the change
	scales        bool // the autoscaler decides the number
}

// findLoss assumes the worst size of autoscaled pools. A lower maximum removes nodes; a
// lower minimum lets the autoscaler do so.
func findLoss(now, want *stateIndex, before, after []string) nodeLoss {
	var loss nodeLoss
	for _, pool := range before {
		low, high := now.Spec.CountNodes(pool)
		least, most := 0, 0
		if slices.Contains(after, pool) {
			least, most = want.Spec.CountNodes(pool)
		}
		loss.scales = loss.scales || low != high
		worst := nodeLoss{before: low, nodes: low - least}
		for _, n := range []int{high, max(low, min(least, high))} {
			one := nodeLoss{before: n, nodes: n - max(least, min(n, most))}
			if gain := one.excess() - worst.excess(); gain > 0 || gain == 0 && one.nodes > worst.nodes {
				worst = one
			}
		}
		loss.before, loss.nodes = loss.before+worst.before, loss.nodes+worst.nodes
	}
	for _, pool := range after {
		least, most := want.Spec.CountNodes(pool)
		loss.most += most
		if !slices.Contains(before, pool) {
			loss.nodes -= least
		}
	}
	return loss
}

// excess is positive if more nodes are lost than stay.
func (l nodeLoss) excess() int { return 2*l.nodes - l.before }
