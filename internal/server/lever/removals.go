package lever

import (
	"fmt"

	"github.com/fairlead-io/fairlead/internal/reconcile/actions"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
	"github.com/fairlead-io/fairlead/internal/server/answer"
)

// Removals approves an output change beyond its environment's limits. It needs the
// permission to approve.
const Removals = "approve-removals"

// findRemovals returns the name of the change that waits for approval of removals, or
// an error for none or another one.
func (o *Operator) findRemovals(q Request) (string, error) {
	e, _ := o.options.Store.Snapshot().FindEnvironment(q.Environment)
	waiting, err := actions.FindRemovals(e.Withheld, q.Environment, q.Commit)
	return waiting.Acknowledge, err
}

// complete adds the waiting change to a request, so that the person confirms that one
// and no later one.
func (o *Operator) complete(q Request) Request {
	if q.Lever == Removals && q.Commit == "" {
		q.Commit, _ = o.findRemovals(q) // reported when it is decided
	}
	return q
}

func describeRemovals(e status.Environment, l *answer.Lever) {
	l.Impact, l.Deletes = answer.CleanText(e.Impact), e.Proposed != nil && e.Proposed.Deletes()
	pull := "The pull request of the output"
	if e.Pull != nil {
		pull = fmt.Sprintf("Pull request %d", e.Pull.Number)
	}
	others := 0
	for _, w := range e.Withheld {
		if w.Acknowledge == "" {
			others++
			l.Effects = append(l.Effects, fmt.Sprintf("It still waits for a person: %s.", w.Reason))
			continue
		}
		l.Effects = append(l.Effects, fmt.Sprintf("%s is approved although %s.", pull, w.Reason))
	}
	if others == 0 {
		l.Effects = append(l.Effects, "It is then merged as any other change of "+e.Name+".")
	}
	l.Effects = append(l.Effects, "Any other change that exceeds the limits still waits.")
}
