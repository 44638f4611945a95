package observe

import (
	"regexp"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/promotion/rollout"
)

// Event is a report about one object. It is untrusted text.
type Event struct {
	Cluster string `json:"cluster"`
	// Proven is set if the cluster used its own key.
	Proven bool `json:"proven,omitempty"`
	// Environment and ClusterType are from the Alert; "" if missing.
	Environment string `json:"environment,omitempty"`
	ClusterType string `json:"clusterType,omitempty"`
	// Object is "Kustomization/flux-system/apps". For an unnamed cluster it ends with "@" and the
	// uid, to distinguish clusters.
	Object string `json:"object"`
	// UID is the object's uid, from a cluster with a proven name; "" if missing.
	UID string `json:"-"`
	// Commit, with 40 digits, or Version is the revision of Phase. For a failure it may be unknown.
	Branch  string `json:"branch,omitempty"` // of Commit, if known
	Commit  string `json:"commit,omitempty"`
	Version string `json:"version,omitempty"` // chart version or digest
	// Runs is the running revision, if reported and different.
	Runs string `json:"runs,omitempty"`
	// App is the application version in the running chart; "" if not reported.
	App   string        `json:"app,omitempty"`
	Phase rollout.Phase `json:"phase,omitempty"`
	// Plan is the waiting plan, or an applied destroy plan.
	Plan ledger.Plan `json:"plan,omitzero"`
	// Message is one line.
	Message    string            `json:"message,omitempty"`
	When       time.Time         `json:"when"`
	Membership ledger.Membership `json:"-"`
}

func readRevision(text string) ledger.Revision {
	if commit, ok := strings.CutPrefix(text, "sha1:"); ok {
		return ledger.Revision{Commit: commit}
	}
	if at := strings.LastIndex(text, "@sha1:"); at >= 0 {
		return ledger.Revision{Branch: text[:at], Commit: text[at+len("@sha1:"):]}
	}
	return ledger.Revision{Version: text}
}

func (e Event) objectKey() ledger.Object { return ledger.Object{Cluster: e.Cluster, Name: e.Object} }

// Report converts an event for the ledger.
func (e Event) Report() ledger.Report {
	return ledger.Report{
		Object: e.objectKey(), Group: ledger.Group{Environment: e.Environment, ClusterType: e.ClusterType},
		Phase: ledger.ParsePhase(string(e.Phase)), Target: ledger.Revision{Branch: e.Branch, Commit: e.Commit, Version: e.Version}.String(), Runs: e.Runs, App: e.App,
		Message: e.Message, Plan: e.Plan, Said: e.When, UID: e.UID,
	}
}

// NewEvent converts a report of the ledger.
func NewEvent(r ledger.Report) Event {
	about := readRevision(r.Target)
	return Event{
		Cluster: r.Object.Cluster, Object: r.Object.Name, Environment: r.Group.Environment, ClusterType: r.Group.ClusterType,
		Branch: about.Branch, Commit: about.Commit, Version: about.Version, Runs: r.Runs, App: r.App,
		Phase: rollout.Phase(r.Phase.String()), Message: r.Message, Plan: r.Plan, When: r.Said,
	}
}

// nextRun matches the end of Flux's message after a reconciliation.
var nextRun = regexp.MustCompile(`, next run in ([0-9hms.]+)$`)

// FindInterval returns the time until the next report; 0 if unknown.
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
