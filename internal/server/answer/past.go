package answer

import (
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/internal/change/impact"
	"github.com/fairlead-io/fairlead/internal/controlplane/schedule"
	"github.com/fairlead-io/fairlead/internal/git/giturl"
	"github.com/fairlead-io/fairlead/internal/reconcile/fleetview"
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

// Since returns the moment that was asked about, or else that of the output, as a filter of what was done has it.
func (o PastOutput) Since() string {
	at, ok := history.ParseMoment(o.At)
	if !ok || at.Time.IsZero() {
		at.Time = o.When
	}
	return at.Time.UTC().Format(time.RFC3339)
}

// IsUnchanged reports whether the base's commit did not change the output, which was merged before that commit was made.
func (o PastOutput) IsUnchanged() bool { return o.Base != nil && o.Base.When.After(o.When) }

// PastEnvironment is the answer of /api/v1/environments/{name} about a moment in the past: what the environment had,
// and what its clusters had reported.
type PastEnvironment struct {
	PastOutput
	Inputs []status.Input `json:"inputs"`
	// Assignments and ClusterTypes count what was wanted.
	Assignments  int `json:"assignments"`
	ClusterTypes int `json:"clusterTypes"`
	// Ledger reports whether clusters can report, and LedgerFails whether they cannot be asked about now.
	Ledger      bool `json:"ledger"`
	LedgerFails bool `json:"ledgerFails,omitempty"`
	// Runs are what clusters had reported, as far as it was kept: nothing of a moment that is a commit.
	Runs []fleetview.PastRun `json:"runs,omitempty"`
}

// PastEnvironments is the answer of /api/v1/environments about a moment in the past.
type PastEnvironments struct {
	At    string            `json:"at"` // as it was asked
	Items []PastEnvironment `json:"items"`
	// Unknown are the environments of now of which nothing is known then: they may not have been there.
	Unknown []string `json:"unknown,omitempty"`
}

// NoRuns reports whether what clusters ran is known of no environment.
func (p PastEnvironments) NoRuns() bool {
	return len(p.Items) > 0 && !slices.ContainsFunc(p.Items, func(e PastEnvironment) bool { return len(e.Runs) > 0 })
}

// PastEnvironments returns what environments had at a moment, of those whose names have a text in them.
func (s Source) PastEnvironments(at, text string, outputs []history.Output, plans map[string]*schedule.Plan) PastEnvironments {
	past := PastEnvironments{At: at, Items: []PastEnvironment{}}
	for _, name := range s.Names() {
		i := slices.IndexFunc(outputs, func(o history.Output) bool { return o.Environment == name })
		switch {
		case !hasWords(name, text):
		case i < 0:
			past.Unknown = append(past.Unknown, name)
		default:
			past.Items = append(past.Items, s.PastEnvironment(outputs[i], plans[name]))
		}
	}
	return past
}

// PastEnvironment returns what an environment had at a moment, and what its clusters had reported.
func (s Source) PastEnvironment(o history.Output, plan *schedule.Plan) PastEnvironment {
	past := PastEnvironment{PastOutput: s.PastOutputs([]history.Output{o})[0], Inputs: listInputs(o), Ledger: s.Ledger, LedgerFails: s.LedgerFails}
	past.Runs = fleetview.CountPastRuns(s.Then, o.Environment, "")
	if plan != nil {
		past.Assignments, past.ClusterTypes = plan.Len(), len(plan.Model().ClusterTypes)
	}
	return past
}

func listInputs(o history.Output) []status.Input {
	all := []status.Input{}
	for _, in := range o.Inputs {
		all = append(all, status.Input{Layer: in.Layer, Repo: giturl.Redact(in.Repo), Commit: in.Commit, Folder: in.Folder})
	}
	return all
}

// OutputChanges is the answer of /api/v1/environments/{name}/changes/{moments}: what changed in the output of an
// environment between two moments.
type OutputChanges struct {
	Environment string       `json:"environment"`
	From        PastOutput   `json:"from"`
	To          PastOutput   `json:"to"`
	Changes     *PullChanges `json:"changes"`
	// Text is what fairlead diff prints of it: deletions first.
	Text string `json:"text"`
}

// OutputChanges returns what changed between two outputs of an environment.
func (s Source) OutputChanges(r impact.Report, from, to history.Output) OutputChanges {
	past := s.PastOutputs([]history.Output{from, to})
	return OutputChanges{Environment: from.Environment, From: past[0], To: past[1], Changes: s.newPullChanges(r), Text: CleanText(r.Text())}
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
				e.Inputs = listInputs(o)
			}
		}
	}
	return s
}
