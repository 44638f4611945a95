package ledger

import (
	"slices"
	"strings"
	"time"
)

// Cause is why a cluster is not ready: the first that applies.
type Cause uint8

// The causes. Those of a class are explained there.
const (
	NoCause Cause = iota
	CauseSuspended
	CauseContested
	CauseUnheard
	CauseUnproven
	CauseSilent
	CauseSource
	CauseDependency // another object failed, and the deciding one depends on it
	CauseFailed
	CauseDrift // Terraform found drift, and nothing else failed
	CauseApproval
	CauseWaiting // merged too recently
	CauseUnknown
)

var causeNames = [...]string{"", "suspended", "contested", "unheard", "unproven", "silent", "source", "dependency", "failed", "drift", "approval", "waiting", "unknown"}

// String returns the name of a cause; "" for NoCause.
func (c Cause) String() string { return causeNames[min(int(c), len(causeNames)-1)] }

const reconcileInterval = 10 * time.Minute

// Reason is a Cause with the object that shows it.
type Reason struct {
	Cause   Cause
	Object  Object
	Message string
	Plan    Plan      // the waiting one, for CauseApproval
	Since   time.Time // zero without an object
}

// Situation is a Standing with its reason.
type Situation struct {
	Standing
	Reason   Reason
	Platform State
	Since    time.Time
	Contest  *Contest
}

// FindSituations returns the situation of each expected cluster, by type and name.
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
	case s.Object.Name == "" && j >= 0: // it may be the platform object
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

func (o Object) isSource() bool { return IsSourceKind(o.Kind()) }

// IsSourceKind reports whether objects of a kind fetch what others apply.
func IsSourceKind(kind string) bool {
	switch kind {
	case "GitRepository", "OCIRepository", "HelmRepository", "HelmChart", "Bucket":
		return true
	}
	return false
}
