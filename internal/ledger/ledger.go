// Package ledger folds the reports of clusters into the state of their objects: the running
// revision, the attempted one, and the phase.
//
// The order and repetition of reports do not matter. An object is ready only at a revision that its
// cluster named. Known objects are never dropped for others. Clocks of different clusters are never
// compared. State is stored as the reports that make it up. Spans of an object, its history, do not
// overlap, and at most one lasts. Spans that began without contact are late, and are inserted as if
// reported in order. A cluster is judged by the folder of its cluster type, not by commits.
package ledger

import (
	"cmp"
	"strings"
	"time"
)

// Phase is the progress of an object with a revision.
type Phase uint8

// The phases. A report without one states only revisions.
const (
	Unstated Phase = iota
	Progressing
	Ready
	Failed
	Suspended
	Unknown
	Waiting  // a plan waits for approval
	Drifted  // the applied state was changed since
	Checking // its controller re-checks a settled state; otherwise Progressing
)

var phaseNames = [...]string{"", "progressing", "ready", "failed", "suspended", "unknown", "waiting", "drifted", "checking"}

// String returns the name of a phase; "" for Unstated.
func (p Phase) String() string { return phaseNames[min(int(p), len(phaseNames)-1)] }

// ParsePhase returns the phase with a name, or Unknown.
func ParsePhase(name string) Phase {
	for p, known := range phaseNames {
		if known == name {
			return Phase(p)
		}
	}
	return Unknown
}

// IsFailure reports whether something must be fixed. Waiting is not a failure.
func (p Phase) IsFailure() bool { return p == Failed || p == Drifted }

// Plan is the Terraform plan that waits, in phase Waiting. In phase Ready it is set only after a
// destroy plan was applied.
type Plan struct {
	ID       string `json:"id,omitempty"`       // the name in tofu-controller
	Destroys bool   `json:"destroys,omitempty"` // it destroys everything
	Drift    bool   `json:"drift,omitempty"`    // it was made because of drift
}

const (
	destroyKind = "destroy"
	driftKind   = "drift"
)

// JoinDetail returns what is stored of a plan or message.
func JoinDetail(phase Phase, message string, plan Plan) string {
	switch {
	case phase.IsFailure():
		return message
	case phase != Waiting && phase != Ready || plan == (Plan{}):
		return ""
	case plan.Destroys:
		return plan.ID + " " + destroyKind
	case plan.Drift:
		return plan.ID + " " + driftKind
	}
	return plan.ID
}

// SplitDetail is the inverse of JoinDetail.
func SplitDetail(phase Phase, detail string) (message string, plan Plan) {
	if phase != Waiting && phase != Ready {
		return detail, Plan{}
	}
	id, kind, _ := strings.Cut(detail, " ")
	return "", Plan{ID: id, Destroys: kind == destroyKind, Drift: kind == driftKind}
}

// Object identifies the subject of a report.
type Object struct {
	Cluster string
	Name    string // "Kustomization/flux-system/apps"
}

// Group is the part of the fleet that a cluster belongs to.
type Group struct {
	Environment string
	ClusterType string
}

func (g Group) compare(other Group) int {
	return cmp.Or(cmp.Compare(g.Environment, other.Environment), cmp.Compare(g.ClusterType, other.ClusterType))
}

// Report is the state of an object that its cluster reports.
type Report struct {
	Object Object
	Group  Group
	Phase  Phase
	// Runs is the running revision; "" if not reported. A Ready object runs its Target.
	Runs string
	// Target is the revision of Phase; "" if not reported. A Ready report without one states
	// nothing.
	Target string
	// App is the application version in the running chart; "" if unknown.
	App string
	// Level marks a state that an agent read. It outweighs events of the same second.
	Level bool
	// UID is that of the object, in an event; "" if not reported.
	UID     string
	Message string    // of failures only
	Plan    Plan      // see Plan
	Said    time.Time // by the cluster's clock, in whole seconds
	// Until is the end of the state, by the same clock; zero if unknown.
	Until time.Time
}

func (r Report) isEmpty() bool {
	return unixSeconds(r.Said) == 0 || r.Target == "" && (r.Phase == Ready || r.Phase == Unstated && r.Runs == "")
}

// State is the known state of an object.
type State struct {
	Group Group
	Phase Phase
	// Revision is the last one that was ready or reported to run; "" for none.
	Revision string
	// Attempted is the revision of Phase, if it differs from Revision.
	Attempted string
	App       string // application version in a chart; "" if unknown
	Message   string
	Plan      Plan      // see Plan
	Said      time.Time // last report, by the cluster's clock
}

// IsDestroyed reports whether everything the object made is destroyed.
func (s State) IsDestroyed() bool { return s.Phase == Ready && s.Plan.Destroys }

// Target returns the revision of Phase; "" if unknown.
func (s State) Target() string { return cmp.Or(s.Attempted, s.Revision) }

// Report returns a state as one report.
func (s State) Report(o Object, g Group) Report {
	r := Report{Object: o, Group: g, Phase: s.Phase, Target: s.Target(), Message: s.Message, Plan: s.Plan, Said: s.Said}
	if s.Attempted != "" {
		r.Runs = s.Revision
	}
	return r
}

// isSame ignores what every report changes, and the version's name.
func (s State) isSame(other State) bool {
	s.Message, s.Said, s.App = other.Message, other.Said, other.App
	return s == other
}
