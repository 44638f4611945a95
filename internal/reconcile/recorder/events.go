package recorder

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/promotion/rollout"
	"github.com/fairlead-io/fairlead/internal/reconcile/observe"
)

// longestInterval bounds how long the next event of a cluster may be away, by its own words.
const longestInterval = 24 * time.Hour

// Add takes in an event of a cluster, and reports whether it is news: see [observe.Inbox.Add]. That an
// event is not stored yet is no error.
func (r *Recorder) Add(e observe.Event) (news bool, err error) {
	return r.addEvent(e, r.options.Now())
}

func (r *Recorder) addEvent(e observe.Event, received time.Time) (news bool, err error) {
	receipt, news := r.Receive(ledger.Contact{
		Name: e.Cluster, Group: ledger.Group{Environment: e.Environment, ClusterType: e.ClusterType}, Unproven: !e.Proven,
		Every: min(e.FindInterval(), longestInterval), Received: received,
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

// Import takes in what an Inbox has, as if it had just been reported, if the store has nothing.
func (r *Recorder) Import(from *observe.Inbox) {
	r.mu.Lock()
	isKnown := r.unread != nil || len(r.ledger.Clusters()) > 0
	r.mu.Unlock()
	if isKnown {
		return
	}
	events := from.Events()
	slices.SortFunc(events, func(a, b observe.Event) int { return a.When.Compare(b.When) })
	for _, e := range events {
		_, _ = r.addEvent(e, e.When) // the Inbox has admitted it
	}
}

// Reports returns what clusters report: see [observe.Inbox.Reports].
func (r *Recorder) Reports(mine func(observe.Event) (current, ok bool)) []rollout.Report {
	return observe.SelectReports(r.events(), mine)
}

// events returns an event for each object: that of its state.
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

// FindLoss returns the last loss of reports: see [observe.Inbox.FindLoss].
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

// addLoss remembers that reports of an environment were lost; of any, if it is "". r.mu is held, or
// nobody else has r yet.
func (r *Recorder) addLoss(environment, reason string) {
	r.losses[environment] = observe.Loss{Environment: environment, Time: r.options.Now(), Reason: reason}
}

const (
	asideInfix  = ".damaged-"
	asideLayout = "20060102-150405"
	lostReason  = "the ledger was damaged, and a new one has begun"
)

// nameAside returns the name that a damaged store gets.
func (r *Recorder) nameAside() string {
	return r.options.Path + asideInfix + r.options.Now().UTC().Format(asideLayout)
}

// findLostStores remembers the last time that a damaged store was moved aside, by this process or one
// before.
func (r *Recorder) findLostStores() {
	if r.options.Path == "" {
		return
	}
	entries, _ := os.ReadDir(filepath.Dir(r.options.Path)) // without any, there is none
	for _, e := range entries {
		stamp, ours := strings.CutPrefix(e.Name(), filepath.Base(r.options.Path)+asideInfix)
		at, err := time.Parse(asideLayout, stamp)
		if ours && err == nil && at.After(r.losses[""].Time) {
			r.losses[""] = observe.Loss{Time: at, Reason: lostReason}
		}
	}
}

// refuse remembers that there was no room for what a cluster has reported. r.mu is held.
func (r *Recorder) refuse(environment string) {
	r.addLoss(environment, fmt.Sprintf("%d objects report, and there is no room for more", r.ledger.CountObjects()))
}
