package ledger

import (
	"slices"
	"strings"
	"time"
)

// Cause is why a cluster is not ready: the first that fits.
type Cause uint8

// The causes.
const (
	NoCause         Cause = iota // it is ready
	CauseSuspended               // a person has suspended what decides
	CauseContested               // two clusters report under the name
	CauseUnheard                 // expected, and never in touch
	CauseUnproven                // without a credential of its own
	CauseSilent                  // not in touch lately
	CauseSource                  // a source cannot be fetched
	CauseDependency              // another object has failed, and this one waits
	CauseFailed                  // what is wanted failed
	CauseDrift                   // what Terraform has applied was changed since, and nothing else failed
	CauseApproval                // a plan waits for a person to approve it
	CauseWaiting                 // there was little time for it yet
	CauseUnknown
)

var causeNames = [...]string{"", "suspended", "contested", "unheard", "unproven", "silent", "source", "dependency", "failed", "drift", "approval", "waiting", "unknown"}

// String returns the name of a cause; "" for NoCause.
func (c Cause) String() string { return causeNames[min(int(c), len(causeNames)-1)] }

// reconcileInterval is how often objects are reconciled by the least, unless their cluster reports
// less often.
const reconcileInterval = 10 * time.Minute

// Reason is why a cluster is not ready, with the object that shows it.
type Reason struct {
	Cause   Cause
	Object  Object
	Message string    // of a failure
	Plan    Plan      // that waits, for CauseApproval
	Since   time.Time // when the object began to say so; zero if no object does
}

// Situation is how a cluster stands to what is wanted, and why.
type Situation struct {
	Standing
	Reason Reason
	// Platform is the state of the platform object, and Since when it became so.
	Platform State
	Since    time.Time
	// Contest is set if two clusters report under the name.
	Contest *Contest
}

// FindSituations returns how each expected cluster stands to what is wanted, and why, by type and name.
func (l *Ledger) FindSituations(w Wanted, outputs *Outputs, now time.Time) []Situation {
	all := l.judgeAll(w, outputs, now)
	for i, s := range all {
		if s.Cluster != nil {
			all[i].Contest = l.findContest(s.Cluster, now)
		}
		all[i].Reason = l.findReason(s, w.Output.Merged, now)
	}
	return all
}

// findReason returns why a cluster is not ready.
func (l *Ledger) findReason(s Situation, merged, now time.Time) Reason {
	if s.Class == ClassReady {
		return Reason{}
	}
	if s.Cluster == nil {
		return Reason{Cause: CauseUnheard}
	}
	deciding, _ := l.book.Find(s.Object)
	deciding.Phase = Explain(s.Object, deciding, l.book.Find)
	if deciding.Phase == Suspended {
		return l.reasonOf(CauseSuspended, s.Object)
	}
	switch s.Class {
	case ClassContested:
		return Reason{Cause: CauseContested}
	case ClassUnproven:
		return Reason{Cause: CauseUnproven}
	case ClassSilent:
		return Reason{Cause: CauseSilent}
	}
	failed, awaited := l.listFailed(s.Cluster.ID)
	i := slices.IndexFunc(failed, Object.isSource)
	drifted, hasDrift := l.findDrift(failed)
	j := slices.IndexFunc(failed, func(o Object) bool { return o != s.Object && !o.isSource() })
	switch {
	case i >= 0:
		return l.reasonOf(CauseSource, failed[i])
	case hasDrift && s.Class == ClassFailed:
		return l.reasonOf(CauseDrift, drifted)
	case s.Object.Name == "" && j >= 0: // it may be the platform object itself, of which nothing is known
		return l.reasonOf(CauseFailed, failed[j])
	case !deciding.Phase.IsFailure() && j >= 0:
		return l.reasonOf(CauseDependency, failed[j])
	case len(awaited) > 0 && s.Class == ClassProgressing: // the Terraform object names the plan
		return l.reasonOf(CauseApproval, findTerraform(awaited))
	case deciding.Phase.IsFailure():
		return l.reasonOf(CauseFailed, s.Object)
	case s.Class != ClassUnknown && now.Sub(merged) < 2*max(s.Cluster.Every, reconcileInterval):
		return Reason{Cause: CauseWaiting}
	}
	return Reason{Cause: CauseUnknown}
}

// reasonOf returns a reason that an object shows.
func (l *Ledger) reasonOf(c Cause, o Object) Reason {
	state, known := l.book.Find(o)
	if !known {
		return Reason{Cause: c}
	}
	return Reason{Cause: c, Object: o, Message: state.Message, Plan: state.Plan, Since: l.book.findSince(o)}
}

// Kind returns the kind in the name of an object.
func (o Object) Kind() string {
	kind, _, _ := strings.Cut(o.Name, "/")
	return kind
}

// isSource reports whether an object fetches what others apply.
func (o Object) isSource() bool { return IsSourceKind(o.Kind()) }

// IsSourceKind reports whether objects of a kind fetch what others apply.
func IsSourceKind(kind string) bool {
	switch kind {
	case "GitRepository", "OCIRepository", "HelmRepository", "HelmChart", "Bucket":
		return true
	}
	return false
}
