package fleetview

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/reconcile/stackview"
)

// ClusterObject is what an object of a cluster has reported last.
type ClusterObject struct {
	Object    string `json:"object"`
	Phase     string `json:"phase"`
	Revision  string `json:"revision,omitempty"`
	Attempted string `json:"attempted,omitempty"` // what it is at work on, if that is another one
	Message   string `json:"message,omitempty"`
	rank      int
}

// FindObjects returns what the objects of a cluster of an environment have reported, those that failed first, and then
// those that wait for a person to approve plans.
func (v *View) FindObjects(environment, cluster string) []ClusterObject {
	all := []ClusterObject{}
	v.Ledger.VisitObjects(environment, func(c *ledger.Cluster, object string, s ledger.State, _ time.Time) {
		if c.Name() == cluster {
			all = append(all, ClusterObject{object, stackview.PhaseWord(s.Phase), s.Revision, s.Attempted, s.Message, rankPhase(s.Phase)})
		}
	})
	slices.SortFunc(all, func(a, b ClusterObject) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), strings.Compare(a.Object, b.Object))
	})
	return all
}

// rankPhase returns how soon a phase is shown.
func rankPhase(p ledger.Phase) int {
	return slices.Index([]ledger.Phase{ledger.Failed, ledger.Drifted, ledger.Waiting, ledger.Progressing, ledger.Suspended, ledger.Unknown, ledger.Unstated, ledger.Ready}, p)
}

// ClusterNames returns the names of all clusters that have reported, sorted.
func (v *View) ClusterNames() []string {
	var names []string
	for _, c := range v.Ledger.Clusters() {
		names = append(names, c.Name())
	}
	slices.Sort(names)
	return slices.Compact(names)
}
