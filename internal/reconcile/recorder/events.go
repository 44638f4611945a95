package recorder

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/promotion/rollout"
	"github.com/fairlead-io/fairlead/internal/reconcile/observe"
)

// longestInterval limits the interval that an event announces.
const longestInterval = 24 * time.Hour

// Add applies an event without waiting for the store, and reports whether it is news: the state changed, or the object
// was silent for long. With [observe.ErrNameProven] and the like it does not count.
func (r *Recorder) Add(e observe.Event) (news bool, err error) {
	receipt, news := r.Receive(ledger.Contact{
		Name: e.Cluster, Group: ledger.Group{Environment: e.Environment, ClusterType: e.ClusterType}, Unproven: !e.Proven,
		Every: min(e.FindInterval(), longestInterval), Received: r.options.Now(),
	}, []ledger.Report{e.Report()})
	switch receipt.Admission {
	case ledger.Unproven:
		return false, observe.ErrNameProven
	case ledger.Contested, ledger.SecondName:
		return false, observe.ErrContested
	case ledger.Renamed:
		return false, observe.ErrRenamed
	case ledger.Admitted, ledger.Replayed:
	}
	return news, nil
}

// Reports returns the reports of clusters: see [observe.ReportSource].
func (r *Recorder) Reports(mine func(observe.Event) (current, ok bool)) []rollout.Report {
	return observe.SelectReports(r.events(), mine)
}

func (r *Recorder) events() []observe.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []observe.Event
	for o, s := range r.ledger.All() {
		if s.Phase == ledger.Unstated {
			continue
		}
		cluster := r.ledger.FindCluster(o.Cluster)
		if r.ledger.IsRetiredByName(cluster) {
			continue
		}
		e := observe.NewEvent(s.Report(o, cluster.Group))
		e.Cluster, e.Proven, e.Membership = cluster.Name(), !cluster.Unproven, r.membership
		if len(cluster.Others) > 0 {
			e.ClusterType = cluster.FolderOf(o.Name)
		}
		all = append(all, e)
	}
	return all
}

// FindLoss returns the last loss of reports: see [observe.ReportSource].
func (r *Recorder) FindLoss(environment string, since time.Time) (observe.Loss, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.unread != nil {
		return observe.Loss{Time: r.options.Now(), Reason: r.unread.Error(), IsPending: true}, true
	}
	found, ok := r.losses[environment]
	any, known := r.losses[""]
	if known && any.Time.After(found.Time) {
		found, ok = any, true
	}
	return found, ok && !found.Time.Before(since)
}

// addLoss notes a loss in an environment; "" means any. It requires r.mu or exclusive access.
func (r *Recorder) addLoss(environment, reason string) {
	r.losses[environment] = observe.Loss{Environment: environment, Time: r.options.Now(), Reason: reason}
}

const (
	asideInfix  = ".damaged-"
	asideLayout = "20060102-150405"
	lostReason  = "the ledger was damaged, and a new one has begun"
)

func (r *Recorder) nameAside() string {
	return r.options.Path + asideInfix + r.options.Now().UTC().Format(asideLayout)
}

// findLostStores notes when a damaged store was last moved aside, by any process.
func (r *Recorder) findLostStores() {
	if r.options.Path == "" {
		return
	}
	entries, _ := os.ReadDir(filepath.Dir(r.options.Path)) // no folder, no stores
	for _, e := range entries {
		stamp, ours := strings.CutPrefix(e.Name(), filepath.Base(r.options.Path)+asideInfix)
		at, err := time.Parse(asideLayout, stamp)
		if ours && err == nil && at.After(r.losses[""].Time) {
			r.losses[""] = observe.Loss{Time: at, Reason: lostReason}
		}
	}
}

// refuse requires r.mu.
func (r *Recorder) refuse(environment string) {
	r.addLoss(environment, fmt.Sprintf("%d objects report, and there is no room for more", r.ledger.CountObjects()))
}
