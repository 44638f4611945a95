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
			all = append(all, ClusterObject{object, s.Phase.String(), s.Revision, s.Attempted, s.Message, rankPhase(s.Phase)})
		}
	})
	markAwaited(all)
	slices.SortFunc(all, func(a, b ClusterObject) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), strings.Compare(a.Object, b.Object))
	})
	return all
}

// markAwaited has objects of a cluster that failed only because plans wait for a person say that they wait, and those
// that failed only because resources have drifted, too.
func markAwaited(all []ClusterObject) {
	awaited, drifted := ledger.StallCauses{}, ledger.StallCauses{}
	for _, o := range all {
		if name := (ledger.Object{Name: o.Object}); o.Phase == ledger.Failed.String() {
			awaited.AddAwaited(name, o.Message)
			if ledger.IsDrift(name, o.Message) {
				drifted[name] = true
			}
		}
	}
	for i, o := range all {
		switch name := (ledger.Object{Name: o.Object}); {
		case o.Phase != ledger.Failed.String():
		case awaited.Explain(name, o.Message):
			all[i].Phase, all[i].rank = stackview.Waits, rankPhase(ledger.Progressing)
		case drifted.Explain(name, o.Message):
			all[i].Phase = stackview.Drifted
		}
	}
}

// rankPhase returns how soon a phase is shown.
func rankPhase(p ledger.Phase) int {
	return slices.Index([]ledger.Phase{ledger.Failed, ledger.Progressing, ledger.Suspended, ledger.Unknown, ledger.Unstated, ledger.Ready}, p)
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
