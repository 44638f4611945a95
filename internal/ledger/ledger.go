// Package ledger folds what clusters report of their objects into what is known of them: which
// revision an object runs, which one it is at work on, and how far it has got.
//
// What the package keeps true: what is known of an object does not depend on the order in which its
// reports arrive, nor on how often each one does; a report that is not newer changes nothing; an
// object is ready only at a revision that its cluster named; and an object that is known is not
// forgotten to make room for another one. Times of one cluster are never compared with those of
// another. The reports that make up what is known can be read back, so that they can be stored. Spans
// of one object, which are its history, do not overlap, and at most one lasts; those that began while
// nothing was heard of its cluster are late. What is told of such a time when more is known already is put
// between what is known, and the history is the same as if it had been told in its order. Whether a cluster has what is wanted is judged by the
// folder of its cluster type, and not by commits.
package ledger

import (
	"cmp"
	"strings"
	"time"
)

// Phase is how far an object has got with a revision.
type Phase uint8

// The phases. A report without one states only revisions.
const (
	Unstated Phase = iota
	Progressing
	Ready
	Failed
	Suspended
	Unknown
	Waiting  // a plan waits for a person to approve it
	Drifted  // what was applied has been changed since
	Checking // its controller looks again at what it has settled; a state without anything settled is Progressing
)

var phaseNames = [...]string{"", "progressing", "ready", "failed", "suspended", "unknown", "waiting", "drifted", "checking"}

// String returns the name of a phase; "" for Unstated.
func (p Phase) String() string { return phaseNames[min(int(p), len(phaseNames)-1)] }

// ParsePhase returns the phase of a name; Unknown for a name that no phase has.
func ParsePhase(name string) Phase {
	for p, known := range phaseNames {
		if known == name {
			return Phase(p)
		}
	}
	return Unknown
}

// IsFailure reports whether something has to be mended: what waits for a person has not failed.
func (p Phase) IsFailure() bool { return p == Failed || p == Drifted }

// Plan is a plan of Terraform: in the phase Waiting the one that waits; in the phase Ready it is set only after a plan
// of destruction was applied.
type Plan struct {
	ID       string `json:"id,omitempty"`       // as tofu-controller names it
	Destroys bool   `json:"destroys,omitempty"` // it destroys everything
	Drift    bool   `json:"drift,omitempty"`    // it was made because of drift
}

// The kinds of plans in a detail.
const (
	destroyKind = "destroy"
	driftKind   = "drift"
)

// JoinDetail returns what is stored of a phase next to its revisions: the plan, or else the message.
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

// Object identifies what a report is about.
type Object struct {
	Cluster string
	Name    string // "Kustomization/flux-system/apps"
}

// Group is the part of the fleet that a cluster says it belongs to.
type Group struct {
	Environment string // "" if the report names none
	ClusterType string // "" if the report names none
}

// compare orders groups by their text.
func (g Group) compare(other Group) int {
	return cmp.Or(cmp.Compare(g.Environment, other.Environment), cmp.Compare(g.ClusterType, other.ClusterType))
}

// Report is what a cluster says of one object at one time.
type Report struct {
	Object Object
	Group  Group
	Phase  Phase
	// Runs is the revision that the object runs; "" if the report does not say. A Ready object
	// runs its Target.
	Runs string
	// Target is the revision that Phase is about; "" if the report does not say. A Ready report
	// without one states nothing.
	Target string
	// App is the version of the application in the chart that the object runs; "" if the report does not
	// say, or if it runs no chart.
	App string
	// Level is set for the state of an object at a time, as an agent reads it. It outweighs events
	// of the same second.
	Level bool
	// UID is that of the object, in an event; "" if it does not say.
	UID     string
	Message string    // of a failure; others are not kept
	Plan    Plan      // see there; others are not kept
	Said    time.Time // by the clock of the cluster, in whole seconds
	// Until is when the object began to say something else, by the same clock; zero if that is not known.
	Until time.Time
}

// isEmpty reports whether a report states nothing, or not when.
func (r Report) isEmpty() bool {
	return unixSeconds(r.Said) == 0 || r.Target == "" && (r.Phase == Ready || r.Phase == Unstated && r.Runs == "")
}

// State is what is known of an object.
type State struct {
	Group Group
	Phase Phase
	// Revision is the last one that the object was ready at, or was said to run; "" if there was
	// none yet.
	Revision string
	// Attempted is the revision that Phase is about, if that is not Revision.
	Attempted string
	App       string    // the version of the application in Revision, if that is a chart; "" if it is not known
	Message   string    // of a failure
	Plan      Plan      // that waits, or that was applied: see there
	Said      time.Time // when the cluster last said so, by its own clock
}

// IsDestroyed reports whether everything that the object made is destroyed.
func (s State) IsDestroyed() bool { return s.Phase == Ready && s.Plan.Destroys }

// Target returns the revision that Phase is about; "" if none was ever named.
func (s State) Target() string { return cmp.Or(s.Attempted, s.Revision) }

// Report returns a state as one report of an object.
func (s State) Report(o Object, g Group) Report {
	r := Report{Object: o, Group: g, Phase: s.Phase, Target: s.Target(), Message: s.Message, Plan: s.Plan, Said: s.Said}
	if s.Attempted != "" {
		r.Runs = s.Revision
	}
	return r
}

// isSame reports whether two states differ only in what each report brings anew, and in what a revision is
// called.
func (s State) isSame(other State) bool {
	s.Message, s.Said, s.App = other.Message, other.Said, other.App
	return s == other
}
