package promoter

import (
	"fmt"

	"github.com/fairlead-io/fairlead/internal/base/problem"
	"github.com/fairlead-io/fairlead/internal/promotion/gate"
	"github.com/fairlead-io/fairlead/internal/promotion/lane"
	"github.com/fairlead-io/fairlead/internal/promotion/wave"
	"github.com/fairlead-io/fairlead/internal/reconcile/publish"
)

// Environment is what a cycle has found of an environment: the facts that its promotions are decided
// from. The caller makes it where the environment was reconciled.
type Environment struct {
	// BaseCommit is the commit of the base that was rendered; "" if none was.
	BaseCommit string
	// Lanes are the commits of lanes that were rendered at others.
	Lanes map[string]string
	// Workloads are the commits of registrations that were rendered, and Releases the releases, by lane.
	Workloads, Releases map[string]string
	// RenderFailure is why the environment cannot be rendered or published; "" if it can.
	RenderFailure string
	Problems      problem.List
	// Repo, Branch and Folder are where the output goes; Repo is "" if that is not known.
	Repo, Branch, Folder string
	// Head is the commit of the output branch that was compared with the rendered output.
	Head string
	// InSync reports whether the branch holds the rendered output, and JustMerged whether it was
	// merged by us, so that Head is from before.
	InSync, JustMerged bool
	Pull               *gate.Pull // the open pull request of the output
	Declined           int        // the one that a person closed; 0 for none
	// ClusterTypes are those of the environment.
	ClusterTypes []ClusterType
	// ManagementCluster is the cluster that makes those which the output provisions; "" if none is named.
	ManagementCluster string
	// Withheld is why only a person may merge the pull request; nil if nothing requires it.
	Withheld []publish.Withholding
	// Waves are the waves of the running advance; nil for none. NextWave is the index of the wave that is
	// proposed, or waits because of WaveWaits.
	Waves     []wave.Members
	Advance   string // its id
	NextWave  int
	WaveWaits string
	AsksGates bool // the wave waits for its gates alone, or is proposed
	// Rejected is why the output is, or becomes, that of before the commit of the base; "" if it is not.
	Rejected string
}

func (e *Environment) base() lane.Composition {
	return lane.Composition{Platform: e.BaseCommit, Lanes: e.Lanes}
}

// renderVerdict is the verdict on a commit that cannot be rendered, with the location of the first
// problem.
func (e *Environment) renderVerdict() gate.Verdict {
	v := gate.Verdict{Gate: "problems", Kind: gate.KindProblems, Status: gate.Fail, Reason: e.RenderFailure}
	if p, stops := e.Problems.FirstStopping(); stops {
		v.Reason = p.String()
		if n, _ := e.Problems.Count(); n > 1 {
			v.Reason += fmt.Sprintf(", and %d more", n-1)
		}
	}
	return v
}

// ClusterType is what gates need to know of a cluster type.
type ClusterType struct {
	Name   string
	Labels map[string]string
	// WaveLabels are Labels, with one for each group that policies have chosen it for.
	WaveLabels map[string]string
	Clusters   int // how many there are by its annotation; -1 if it has none
	// Of is the type of the one cluster that it is for; "" if it is for many.
	Of string
}
