package answer

import (
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// PullImpact is the answer of /api/v1/environments/{name}/pulls/{number}: what a pull request changes.
type PullImpact struct {
	Environment string            `json:"environment"`
	State       State             `json:"state"` // of the environment
	Pull        status.Pull       `json:"pull"`
	Withheld    []status.Withheld `json:"withheld,omitempty"`
	// Text is what fairlead diff prints of it: deletions first.
	Text string `json:"text"`
}

// Pull returns what the open pull request of an environment changes, and whether there is one of that number.
func (s Source) Pull(name string, number int) (PullImpact, bool) {
	e, known := s.Snapshot.FindEnvironment(name)
	if !known || e.Pull == nil || e.Pull.Number != number || e.State == status.InSync {
		return PullImpact{}, false
	}
	one, _ := s.Environment(name)
	return PullImpact{name, one.Situation.State, *e.Pull, e.Withheld, CleanText(e.Impact)}, true
}
