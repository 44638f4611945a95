package observe

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/promotion/rollout"
)

// ErrNameProven refuses an unproven report under a proven name.
var ErrNameProven = errors.New("a cluster of this name reports with its own key")

// ErrContested refuses a cluster that does not own the name.
var ErrContested = errors.New("another cluster reports under this name")

// ErrRenamed is the error for a report under an old name.
var ErrRenamed = errors.New("the cluster reports under another name by now")

// ReportSource has the reports of clusters.
type ReportSource interface {
	// Reports returns reports by cluster and object, independent of the order and repetition of events. mine reports
	// whether an event belongs to the query, and whether its revision is current; it may read Git.
	Reports(mine func(Event) (current, ok bool)) []rollout.Report
	// FindLoss returns the last loss that may affect an environment since a time. Shares of clusters are unreliable
	// until they report again.
	FindLoss(environment string, since time.Time) (Loss, bool)
}

// Loss is the last loss of an environment's events.
type Loss struct {
	Environment string    `json:"environment"` // "" for any
	Time        time.Time `json:"time"`
	Reason      string    `json:"reason"` // a clause
	// IsPending is set if the reports may still be read.
	IsPending bool `json:"pending,omitempty"`
}

// SelectReports converts events to reports: see [ReportSource]. Waiting for approval is progress.
// Events do not tell which folder an object applies: with several platform objects for a branch,
// mine gets no cluster type, and the whole output counts.
func SelectReports(events []Event, mine func(Event) (current, ok bool)) []rollout.Report {
	states := make(map[ledger.Object]ledger.State, len(events))
	for _, e := range events {
		states[e.objectKey()] = ledger.State{Phase: ledger.ParsePhase(string(e.Phase)), Message: e.Message}
	}
	find := func(o ledger.Object) (ledger.State, bool) {
		s, ok := states[o]
		return s, ok
	}
	var all []rollout.Report
	several := findSeveral(events)
	for _, e := range events {
		if several[platformKey{e.Cluster, e.Branch}] > 1 && isPlatform(e) {
			e.ClusterType = ""
		}
		if current, ok := mine(e); ok {
			r := rollout.Report{Source: e.Cluster, Object: e.Object, Phase: e.Phase, ClusterType: e.ClusterType, Current: current, Message: e.Message, Time: e.When}
			switch phase := ledger.Explain(e.objectKey(), states[e.objectKey()], find); {
			case phase == ledger.Waiting:
				r.Phase, r.Waits = rollout.Progressing, true
			case phase.IsFailure():
				r.Phase = rollout.Failed
			case phase == ledger.Progressing:
				r.Phase = rollout.Progressing
			}
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b rollout.Report) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Object, b.Object))
	})
	return all
}

type platformKey struct{ cluster, branch string }

func findSeveral(events []Event) map[platformKey]int {
	count := map[platformKey]int{}
	for _, e := range events {
		if isPlatform(e) {
			count[platformKey{e.Cluster, e.Branch}]++
		}
	}
	return count
}

// isPlatform reports whether a platform object at a commit sent an event, on a cluster without a
// key.
func isPlatform(e Event) bool {
	object := ledger.Object{Name: e.Object}
	return !e.Proven && e.Commit != "" && e.Cluster != UnnamedCluster && object.IsPlatform() && !ledger.IsSourceKind(object.Kind())
}
