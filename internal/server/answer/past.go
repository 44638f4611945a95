package answer

import (
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/internal/controlplane/schedule"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/reconcile/history"
	"github.com/fairlead-io/fairlead/internal/reconcile/status"
)

// PastOutput is what an environment's branch held at a moment that was asked about.
type PastOutput struct {
	Environment string    `json:"environment"`
	At          string    `json:"at"`     // as it was asked
	Output      string    `json:"output"` // the commit
	When        time.Time `json:"when"`
	// Base is the commit of the base that it was rendered from.
	Base *Commit `json:"base"`
}

// PastOutputs returns outputs as an answer has them.
func (s Source) PastOutputs(all []history.Output) (shown []PastOutput) {
	for _, o := range all {
		shown = append(shown, PastOutput{o.Environment, o.At.Text, o.Commit, o.When, s.describeCommit(o.Base)})
	}
	return shown
}

// WithPast returns the source with the assignments that were wanted in the past, of which nothing else is known, and
// with the commits that outputs were rendered from then.
func (s Source) WithPast(plans map[string]*schedule.Plan, outputs []history.Output) Source {
	s.Snapshot.Plans, s.Ledger, s.Clusters, s.Assigned, s.Reported, s.Objects, s.Releases = plans, false, nil, nil, nil, nil, nil
	s.Snapshot.Environments = slices.Clone(s.Snapshot.Environments)
	for i := range s.Snapshot.Environments {
		e := &s.Snapshot.Environments[i]
		e.Proposed, e.Pull = nil, nil // what is proposed now was not proposed then
		for _, o := range outputs {
			if o.Environment == e.Name {
				e.Inputs = nil
				for _, in := range o.Inputs {
					e.Inputs = append(e.Inputs, status.Input{Layer: in.Layer, Repo: giturl.Redact(in.Repo), Commit: in.Commit, Folder: in.Folder})
				}
			}
		}
	}
	return s
}
