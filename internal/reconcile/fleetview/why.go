package fleetview

import (
	"cmp"
	"fmt"
	"time"

	"github.com/fairlead-io/fairlead/internal/ledger"
	"github.com/fairlead-io/fairlead/internal/promotion/rollout"
	"github.com/fairlead-io/fairlead/internal/reconcile/stackview"
)

var causeWords = map[string]string{ledger.CauseApproval.String(): stackview.Waits, ledger.CauseDrift.String(): stackview.Drifted}

// Word returns the standing for people.
func (l Laggard) Word() string { return cmp.Or(causeWords[l.Cause], l.Standing) }

// explainSituation returns a sentence without a full stop, or "" if ready.
func explainSituation(s ledger.Situation, of situations) string {
	if s.Class == ledger.ClassReady {
		return ""
	}
	object := s.Reason.Object.Name
	switch s.Reason.Cause {
	case ledger.CauseSuspended:
		return fmt.Sprintf("%s is suspended", object)
	case ledger.CauseContested:
		return explainContest(s.Cluster, *s.Contest)
	case ledger.CauseUnheard:
		why, moved := of.moved[s.Listed]
		if moved && s.Listed != "" {
			return why
		}
		return "it was never in touch"
	case ledger.CauseUnproven:
		return "it has not used a key of its own"
	case ledger.CauseSilent:
		return "it was last in touch at " + s.Cluster.LastSeen.Format(time.RFC3339)
	case ledger.CauseSource:
		return fmt.Sprintf("%s cannot be fetched: %s", object, s.Reason.Message)
	case ledger.CauseDependency:
		return fmt.Sprintf("%s has failed: %s", object, s.Reason.Message)
	case ledger.CauseFailed:
		failed, why := rollout.ReduceHealth(object, s.Reason.Message)
		return failed + " failed: " + why
	case ledger.CauseDrift:
		return object + " has drifted: " + s.Reason.Message
	case ledger.CauseApproval:
		return object + " waits for approval of " + s.Reason.Plan.ID
	case ledger.CauseWaiting:
		return "the output was merged at " + of.wants.Newest.Merged.Format(time.RFC3339) + ", and the cluster has not applied it yet"
	case ledger.NoCause, ledger.CauseUnknown:
	}
	return explainClass(s, of)
}

func explainContest(c *ledger.Cluster, of ledger.Contest) string {
	switch {
	case of.Object != "":
		return fmt.Sprintf("two clusters report under its name: %s has the uid %s on one, and %s on the other", of.Object, of.UID, of.Rival)
	case of.IsAdoptable:
		return fmt.Sprintf("two clusters report under its name, with the uids %s, which is silent now, and %s: fairlead fleet adopt %s lets that one have it", of.UID, of.Rival, c.Name())
	}
	return fmt.Sprintf("two clusters report under its name, with the uids %s and %s", of.UID, of.Rival)
}

func explainClass(s ledger.Situation, of situations) string {
	switch {
	case of.wants.Newest.Revision == "":
		return "the outputs of its environment are not known yet"
	case s.Class == ledger.ClassBehind:
		return "it has the folder of another output"
	case s.Class == ledger.ClassProgressing:
		return fmt.Sprintf("%s is not ready yet", s.Object.Name)
	case s.Cluster.Platform == "":
		return "it is not known which of its objects pulls the output"
	case s.Platform.Phase == ledger.Unstated:
		return fmt.Sprintf("%s has not reported", s.Object.Name)
	case s.Platform.Target() == "":
		return "its platform object reports no revision"
	case isAbandoned(s, of):
		return fmt.Sprintf("it has %s, which is of before the output branch was rewritten", s.Platform.Target())
	case of.now.Sub(s.Since) < outputLag:
		return fmt.Sprintf("it has %s, which is no output that is known yet", s.Platform.Target())
	}
	return fmt.Sprintf("it has %s, which is not one of ours", s.Platform.Target())
}

// isAbandoned reports whether a cluster has an output from before the branch was rewritten.
func isAbandoned(s ledger.Situation, of situations) bool {
	at, known := of.wants.Outputs.Find(s.Platform.Target())
	return known && at.Abandoned[s.Type]
}

// outputLag is how much earlier than Fairlead a cluster may see an output.
const outputLag = 10 * time.Minute
