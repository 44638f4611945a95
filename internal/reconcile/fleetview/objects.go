package fleetview

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/reconcile/stackview"
)

// ClusterObject is the last reported state of an object.
type ClusterObject struct {
	Object    string `json:"object"`
	Phase     string `json:"phase"`
	Revision  string `json:"revision,omitempty"`
	Attempted string `json:"attempted,omitempty"` // what it works on, if it differs
	Message   string `json:"message,omitempty"`
	rank      int
}

// FindObjects returns a cluster's objects: failed ones first, then those that wait for approval.
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

func rankPhase(p ledger.Phase) int {
	return slices.Index([]ledger.Phase{ledger.Failed, ledger.Drifted, ledger.Waiting, ledger.Progressing, ledger.Suspended, ledger.Unknown, ledger.Unstated, ledger.Ready}, p)
}

// ClusterNames returns the sorted names of all clusters.
func (v *View) ClusterNames() []string {
	var names []string
	for _, c := range v.Ledger.Clusters() {
		names = append(names, c.Name())
	}
	slices.Sort(names)
	return slices.Compact(names)
}
