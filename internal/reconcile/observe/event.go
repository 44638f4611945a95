package observe

import (
	"regexp"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/promotion/rollout"
)

// Event is what a cluster has reported of one object. It is text from outside.
type Event struct {
	Cluster string `json:"cluster"`
	// Proven is set if the cluster has proven its name with its own key.
	Proven bool `json:"proven,omitempty"`
	// Environment and ClusterType are what the Alert names; "" if it names none.
	Environment string `json:"environment,omitempty"`
	ClusterType string `json:"clusterType,omitempty"`
	// Object is "Kustomization/flux-system/apps". Of an unnamed cluster it ends with "@"
	// and its uid, so that it is not taken for that of another one.
	Object string `json:"object"`
	// UID is that of the object, in the report of a cluster that has proven its name; "" if it does not
	// say.
	UID string `json:"-"`
	// Commit, of 40 digits, or else Version is the revision that Phase is about. That of a
	// failure may not be known.
	Branch  string `json:"branch,omitempty"` // of Commit, if it is known
	Commit  string `json:"commit,omitempty"`
	Version string `json:"version,omitempty"` // a chart version, or a digest
	// Runs is the revision that the object runs, if the event says so and it is another one.
	Runs string `json:"runs,omitempty"`
	// App is the version of the application in the chart that runs; "" if the event does not say.
	App   string        `json:"app,omitempty"`
	Phase rollout.Phase `json:"phase,omitempty"`
	// Plan is the plan that waits for a person, or a plan of destruction that was applied.
	Plan ledger.Plan `json:"plan,omitzero"`
	// Message is one line.
	Message string    `json:"message,omitempty"`
	When    time.Time `json:"when"`
	// Membership has the environments that the cluster may count in.
	Membership ledger.Membership `json:"-"`
}

// readRevision is the inverse of [ledger.Revision.String].
func readRevision(text string) ledger.Revision {
	if commit, ok := strings.CutPrefix(text, "sha1:"); ok {
		return ledger.Revision{Commit: commit}
	}
	if at := strings.LastIndex(text, "@sha1:"); at >= 0 {
		return ledger.Revision{Branch: text[:at], Commit: text[at+len("@sha1:"):]}
	}
	return ledger.Revision{Version: text}
}

// objectKey returns what an event is about.
func (e Event) objectKey() ledger.Object { return ledger.Object{Cluster: e.Cluster, Name: e.Object} }

// Report returns an event as the ledger has it.
func (e Event) Report() ledger.Report {
	return ledger.Report{
		Object: e.objectKey(), Group: ledger.Group{Environment: e.Environment, ClusterType: e.ClusterType},
		Phase: ledger.ParsePhase(string(e.Phase)), Target: ledger.Revision{Branch: e.Branch, Commit: e.Commit, Version: e.Version}.String(), Runs: e.Runs, App: e.App,
		Message: e.Message, Plan: e.Plan, Said: e.When, UID: e.UID,
	}
}

// NewEvent returns a report of the ledger as an event.
func NewEvent(r ledger.Report) Event {
	about := readRevision(r.Target)
	return Event{
		Cluster: r.Object.Cluster, Object: r.Object.Name, Environment: r.Group.Environment, ClusterType: r.Group.ClusterType,
		Branch: about.Branch, Commit: about.Commit, Version: about.Version, Runs: r.Runs, App: r.App,
		Phase: rollout.Phase(r.Phase.String()), Message: r.Message, Plan: r.Plan, When: r.Said,
	}
}

// nextRun matches the end of what Flux says after each reconciliation.
var nextRun = regexp.MustCompile(`, next run in ([0-9hms.]+)$`)

// FindInterval returns after how long the object reports again, by its own words; 0 if it does not say.
func (e Event) FindInterval() time.Duration {
	m := nextRun.FindStringSubmatch(e.Message)
	if m == nil {
		return 0
	}
	interval, err := time.ParseDuration(m[1])
	if err != nil {
		return 0
	}
	return interval
}
